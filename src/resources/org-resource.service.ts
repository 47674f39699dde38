import type { OrgScope, Scope } from '#platform/auth';
import type { OrgScopedRepository, OrgRow, Tx } from '#platform/db';
import type { Versioned } from '#platform/http';
import type { AnyOf } from './access/any-of';
import { readable } from './access/workspace-access';
import type { ResourceAction, ResourceKind, ResourceRow, ResourceRows } from './resource-kind';
import { type CreateBody, type ResourceKit, ResourceService } from './resource.service';

/** Base for resources of routes without the workspace header. The caller's roles in the resource's workspace apply. */
export abstract class OrgResourceService<
  Row extends ResourceRow & OrgRow & { workspace_id: string },
  View,
> extends ResourceService<OrgScope, Row, View> {
  protected constructor(kit: ResourceKit, rows: OrgScopedRepository<Row>, kind: ResourceKind<Row, View>) {
    super(kit, rows as unknown as ResourceRows<OrgScope, Row>, kind);
  }

  /**
   * Creates a resource.
   *
   * @throws 400 for a workspace that the caller cannot access, 403, 409 for an archived workspace; the errors of `newRow`
   */
  protected createIn(
    scope: OrgScope,
    workspaceId: string,
    newRow: (workspace: Scope, tx: Tx) => Row | Promise<Row>,
    anyOf: AnyOf = ['editor'],
  ): Promise<Versioned<View>> {
    return this.transaction(scope, async (tx) => {
      const workspace = await this.kit.access.enter(tx, scope, workspaceId, anyOf);
      return this.versioned(await this.insert(tx, scope, await newRow(workspace, tx)));
    });
  }

  /** Also throws the errors of `createIn` that do not depend on the rest of the body. */
  protected override findForCreate(scope: OrgScope, body: CreateBody<Row>): Promise<Row | null> {
    return this.transaction(scope, async (tx) => {
      await this.kit.access.enter(tx, scope, body.workspace_id, this.rolesFor('update', null));
      return this.findNamed(scope, body as unknown as Row, tx);
    });
  }

  protected override admit(
    _tx: Tx,
    scope: OrgScope,
    row: Row | null,
    id: string,
    action: ResourceAction,
  ): Promise<Row> {
    const { noun, readers } = this.kind;
    return Promise.resolve(this.kit.access.admit(scope, row, noun, id, this.rolesFor(action, row), readers));
  }

  protected override checkOpen(tx: Tx, scope: OrgScope, row: Row): Promise<void> {
    return this.kit.access.holdOpen(tx, scope, row.workspace_id);
  }

  protected override readable(scope: OrgScope, row: Row | null, id: string): Row {
    return readable(scope, row, this.kind.noun, id, this.kind.readers);
  }

  /** Returns the roles that allow an action. The caller must hold at least one. */
  protected rolesFor(action: ResourceAction, _row: Row | null): AnyOf {
    return action === 'update' ? ['editor'] : ['admin'];
  }
}
