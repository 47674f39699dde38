import { setImmediate as turn } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { validateBody } from '#platform/http';
import { type FieldError, Problem } from '#platform/problem';
import {
  type Declared,
  planSweep,
  ReconcileStep,
  ReconcileSteps,
  SweepRefused,
  type Swept,
  type SweptApp,
} from '../../registry';
import { NAME_MAX, SKILL_NAME } from '../format/skill-members';
import type { SkillContent } from '../skill-content';
import type { SkillEntity } from '../skill.entity';
import { SkillRepository } from '../skill.repository';
import { newSkill, type SkillDraft, SkillWriter, withVersion } from '../skill-writer';
import type { SkillSpecDto } from '../skill-members.dto';
import { contentOfSpec } from '../upload/skill-spec';
import { DeclaredSkillSpecDto } from './skill-spec.dto';
import { DeclaredDigests } from './declared-digests';
import { type OwnedSkill, SkillOwnerRepository } from './skill-owner.repository';

/** Makes an app's skills what it declares: `spec` has the members of `POST /skill/v1/skills` but workspace and name. */
@Injectable()
export class SkillReconcileStep extends ReconcileStep {
  readonly kind = 'skill';
  private readonly digests = new DeclaredDigests();

  constructor(
    private readonly skills: SkillRepository,
    private readonly writer: SkillWriter,
    private readonly owners: SkillOwnerRepository,
    steps: ReconcileSteps,
  ) {
    super();
    steps.add(this);
  }

  faultsIn(name: string, spec: Record<string, unknown>, pointer: string): FieldError[] {
    if (this.digests.get(name, spec) !== undefined) return [];
    const faults: FieldError[] = [];
    const isName = name.length <= NAME_MAX && SKILL_NAME.test(name);
    if (!isName) faults.push({ pointer: nameBeside(pointer), detail: NAME_RULE });
    try {
      validateBody(DeclaredSkillSpecDto, spec);
      const content = contentDeclared({ name: isName ? name : PLACEHOLDER, spec });
      if (isName) this.digests.set(name, spec, content.source_digest);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      faults.push(...faultsOf(error, pointer));
    }
    return faults;
  }

  async apply(tx: Tx, scope: Scope, app: SweptApp, declared: readonly Declared[]): Promise<Swept> {
    const names = declared.map(({ name }) => name);
    const plan = planSweep(app, declared, await this.owners.lock(tx, scope, app.appId, names));
    if (plan.faults.length > 0) throw new SweepRefused(plan.faults);
    const present = await this.differing(plan.present);
    const changes = await contentsOf([
      ...plan.missing.map((one) => ({ declared: one, owned: null })),
      ...present.changed.map(({ declared: one, row }) => ({ declared: one, owned: row })),
    ]);
    const gone = ids(plan.gone);
    await this.owners.archive(tx, scope, gone);
    await this.writer.tellArchived(tx, scope, plan.gone);
    const created: string[] = [];
    // all of them in one order, in which no two sweeps wait for each other
    await this.writer.keep(
      tx,
      scope,
      changes.map(({ content }) => content),
    );
    for (const page of pagesOf(changes)) created.push(...(await this.writePage(tx, scope, app, page)));
    const settled = present.same.filter(({ sync_state }) => sync_state !== 'synced');
    await this.owners.settle(tx, scope, ids(settled));
    return {
      created,
      updated: ids(present.changed.map(({ row }) => row)),
      archived: gone,
      liveCount: declared.length,
    };
  }

  /** By their digests, which are looked at without what skills hold. */
  private async differing(present: readonly PresentSkill[]) {
    const changed: PresentSkill[] = [];
    const same: OwnedSkill[] = [];
    for (const [index, one] of present.entries()) {
      if (index % AT_ONCE === AT_ONCE - 1) await turn();
      const { name, spec } = one.declared;
      const digest = this.digests.get(name, spec) ?? contentDeclared(one.declared).source_digest;
      if (one.row.source_digest === digest) same.push(one.row);
      else changed.push(one);
    }
    return { changed, same };
  }

  /** What is there already is read whole: people may have made it larger than memory. @returns the ids of new ones. */
  private async writePage(
    tx: Tx,
    scope: Scope,
    app: SweptApp,
    page: readonly ChangedSkill[],
  ): Promise<string[]> {
    const owned = page.flatMap((one) => one.owned ?? []);
    const rows = owned.length > 0 ? await this.skills.findMany(tx, scope, ids(owned)) : [];
    const byId = new Map(rows.map((row) => [row.skill_id, row]));
    const drafts = page.map((one) =>
      draftOf(scope, app, one.owned && byId.get(one.owned.skill_id)!, one.content),
    );
    await this.writer.write(tx, scope, drafts);
    return drafts.filter(({ before }) => !before).map(({ row }) => row.skill_id);
  }

  async mark(
    tx: Tx,
    scope: Scope,
    { appId }: SweptApp,
    names: readonly string[],
    state: 'pending' | 'failed',
  ): Promise<void> {
    await this.owners.mark(tx, scope, appId, names, state);
  }

  mend(tx: Tx, scope: Scope, { appId }: SweptApp, faulty: readonly string[]): Promise<void> {
    return this.owners.mend(tx, scope, appId, faulty);
  }

  release(tx: Tx, scope: Scope, { appId }: SweptApp): Promise<string[]> {
    return this.owners.release(tx, scope, appId);
  }
}

const NAME_RULE = `must be words of lower-case letters and digits, with single hyphens between them, and have at most ${NAME_MAX} characters`;

/** Stands for a name that is none, so that its spec is looked at all the same. */
const PLACEHOLDER = 'x';

/** @param pointer of the spec */
const nameBeside = (pointer: string): string => `${pointer.slice(0, pointer.lastIndexOf('/'))}/name`;

/** @param pointer of the spec */
function faultsOf(problem: Problem, pointer: string): { pointer: string; detail: string }[] {
  const faults = (problem.errors ?? []).flatMap((one) =>
    'pointer' in one ? [{ pointer: pointer + one.pointer, detail: one.detail }] : [],
  );
  return faults.length > 0 ? faults : [{ pointer, detail: problem.detail }];
}

/** Of a spec that has no fault, see `faultsIn`. */
const contentDeclared = ({ name, spec }: Pick<Declared, 'name' | 'spec'>): SkillContent =>
  contentOfSpec(name, spec as unknown as SkillSpecDto);

function draftOf(
  scope: Scope,
  { appId, app }: SweptApp,
  before: SkillEntity | null,
  content: SkillContent,
): SkillDraft {
  const owner = { app_id: appId, app, sync_state: 'synced' } as const;
  const row = before
    ? withVersion(before, content, 'synced')
    : newSkill(scope, scope.workspaceId, content, owner);
  return { before, row, files: content.files };
}

const ids = (rows: readonly Pick<SkillEntity, 'skill_id'>[]): string[] =>
  rows.map(({ skill_id }) => skill_id);

/** Declarations that are worked on before others get their turn: each of them may take some milliseconds. */
const AT_ONCE = 20;

/** A skill that is there, and what it is declared to be. */
interface PresentSkill {
  declared: Declared;
  row: OwnedSkill;
}

/** A skill that gets a version. */
interface ChangedSkill {
  /** As it is; null for a new one. */
  owned: OwnedSkill | null;
  content: SkillContent;
}

async function contentsOf(
  given: readonly { declared: Declared; owned: OwnedSkill | null }[],
): Promise<ChangedSkill[]> {
  const changes: ChangedSkill[] = [];
  for (const [index, { declared, owned }] of given.entries()) {
    if (index % AT_ONCE === AT_ONCE - 1) await turn();
    changes.push({ owned, content: contentDeclared(declared) });
  }
  return changes;
}

/** Of skills that are read and written at a time. */
const PAGE_BYTES = 4 * 1024 * 1024;
/** What a row has besides what it holds. */
const ROW_BYTES = 4 * 1024;

/** Pages of no more than this, or of one skill. */
function pagesOf(changes: readonly ChangedSkill[]): ChangedSkill[][] {
  const pages: ChangedSkill[][] = [];
  let bytes = Infinity;
  for (const one of changes) {
    const own = ROW_BYTES + (one.owned?.bytes ?? 0) + one.content.size_bytes;
    bytes += own;
    if (bytes > PAGE_BYTES) {
      pages.push([]);
      bytes = own;
    }
    pages.at(-1)!.push(one);
  }
  return pages;
}
