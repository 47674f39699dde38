import type { OrgScope } from '#platform/auth';
import type { Tx } from '#platform/db';
import type { Versioned } from '#platform/http';
import { Problem, problem } from '#platform/problem';
import { holdsAny } from '../access/any-of';
import type { AuditChange } from '../audit-log/audit-entry.entity';
import type { Deletion } from '../resource.service';
import { LABELS_MAX } from './labelled.dto';
import type { LabelledEntity } from './labelled.entity';
import { OwnedService } from './owned.service';
import { type Labels, ordinalOf, type VersionName } from './version-name';

/** Base for resources whose versions can have labels. A label points to one version, and can be moved to another. */
export abstract class LabelledService<
  Row extends LabelledEntity,
  View,
  VersionRow extends { version_ordinal: number },
  VersionView,
> extends OwnedService<Row, View, VersionRow, VersionView> {
  /**
   * Points a label to a version. Throws 404, 403, 400 for an unknown version, 412, 409 for an archived resource, and 422 for too
   * many labels.
   */
  async setLabel(
    scope: OrgScope,
    id: string,
    label: string,
    version: VersionName,
    ifMatch?: string,
  ): Promise<Versioned<View>> {
    const changed = await this.transaction(scope, async (tx) => {
      const row = await this.lockToLabel(tx, scope, id, label);
      const ordinal = ordinalOf(row, version);
      if (ordinal === null || !(await this.owned.versions.find(scope.orgKey, id, ordinal, tx))) {
        const detail =
          ordinal === null
            ? `names no label of the ${this.kind.noun}. Send a number, a label from \`labels\`, or \`latest\``
            : `is not a version of the ${this.kind.noun}. The newest version is ${row.version_ordinal}`;
        throw problem.invalidField('/version_ordinal', detail);
      }
      await this.checkChange(tx, scope, row, {}, ifMatch);
      return this.writeLabels(tx, scope, row, { ...row.labels, [label]: ordinal });
    });
    return this.shown(scope, changed);
  }

  /** Removes a label. Throws 404 for the resource or the label, 403, 412, and 409 for an archived resource. */
  deleteLabel(scope: OrgScope, id: string, label: string, ifMatch?: string): Promise<void> {
    return this.transaction(scope, async (tx) => {
      const row = await this.lockToLabel(tx, scope, id, label);
      if (ordinalOf(row, label) === null) throw problem.notFound('label', label);
      await this.checkChange(tx, scope, row, {}, ifMatch);
      await this.writeLabels(tx, scope, row, without(row.labels, [label]));
    });
  }

  protected override ordinalOf(row: Row, version: VersionName): number | null {
    return ordinalOf(row, version);
  }

  /** Also throws 409 for a version with labels, or removes the labels if `force` is set. */
  protected override async releaseVersion(
    tx: Tx,
    scope: OrgScope,
    row: Row,
    ordinal: number,
    how: Deletion,
  ): Promise<void> {
    const labels = Object.keys(row.labels).filter((label) => row.labels[label] === ordinal);
    const named = `The version has labels: ${labels.sort().join(', ')}.`;
    try {
      await super.releaseVersion(tx, scope, row, ordinal, how);
    } catch (error) {
      throw error instanceof Problem && labels.length > 0
        ? problem.conflict(`${named} ${error.message}`)
        : error;
    }
    if (labels.length > 0 && !how.force) {
      throw problem.conflict(`${named} Move or delete them first, or send \`force=true\`.`);
    }
    await this.writeLabels(tx, scope, row, without(row.labels, labels));
  }

  /** Returns one entry for each label, such as `labels.production`, because a change of labels changes nothing else. */
  protected override auditedChanges(row: Row, changed: Partial<Row>): AuditChange[] {
    const { labels } = changed;
    if (!labels) return super.auditedChanges(row, changed);
    const names = [...new Set([...Object.keys(row.labels), ...Object.keys(labels)])];
    return names.flatMap((label) => {
      const [before, after] = [ordinalOf(row, label), ordinalOf({ ...row, labels }, label)];
      return before === after ? [] : { member: `labels.${label}`, before, after };
    });
  }

  /** Locks a resource to change a label. Throws 404, and 403 for a protected label. */
  private async lockToLabel(tx: Tx, scope: OrgScope, id: string, label: string): Promise<Row> {
    const row = await this.lock(tx, scope, id, 'update');
    if (holdsAny(scope, row.workspace_id, ['admin'])) return row;
    if (!(await this.kit.protectedLabels.includes(tx, scope, label))) return row;
    throw problem.accessDenied(
      `The label \`${label}\` is in \`protected_labels\` of the organization. It requires the role admin in the workspace.`,
    );
  }

  private writeLabels(tx: Tx, scope: OrgScope, row: Row, labels: Labels): Promise<Row> {
    if (Object.keys(labels).length > LABELS_MAX) {
      const detail = `The ${this.kind.noun} already has ${LABELS_MAX} labels, which is the limit. Delete one first.`;
      throw problem.validationFailed(detail);
    }
    return this.write(tx, scope, row, { labels } as Partial<Row>, 'update');
  }
}

const without = (labels: Labels, removed: readonly string[]): Labels =>
  Object.fromEntries(Object.entries(labels).filter(([label]) => !removed.includes(label)));
