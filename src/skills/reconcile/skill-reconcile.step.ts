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
import { SkillOwnerRepository } from './skill-owner.repository';

/** Makes an app's skills what it declares: `spec` has the members of `POST /skill/v1/skills` but workspace and name. */
@Injectable()
export class SkillReconcileStep extends ReconcileStep {
  readonly kind = 'skill';

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
    const faults: FieldError[] = [];
    const isName = name.length <= NAME_MAX && SKILL_NAME.test(name);
    if (!isName) faults.push({ pointer: nameBeside(pointer), detail: NAME_RULE });
    try {
      contentOfSpec(isName ? name : PLACEHOLDER, validateBody(DeclaredSkillSpecDto, spec));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      faults.push(...faultsOf(error, pointer));
    }
    return faults;
  }

  async apply(tx: Tx, scope: Scope, app: SweptApp, declared: readonly Declared[]): Promise<Swept> {
    const names = declared.map(({ name }) => name);
    const plan = planSweep(app, declared, await this.skills.lockOfApp(tx, scope, app.appId, names));
    if (plan.faults.length > 0) throw new SweepRefused(plan.faults);
    const drafts = plan.missing.map((one) => draftOf(scope, app, null, contentDeclared(one)));
    const settled: SkillEntity[] = [];
    for (const { declared: one, row } of plan.present) {
      const content = contentDeclared(one);
      if (row.source_digest !== content.source_digest) drafts.push(draftOf(scope, app, row, content));
      else if (row.sync_state !== 'synced') settled.push(synced(row));
    }
    const { gone } = plan;
    // as they are declared: not at all
    await this.writer.archive(
      tx,
      scope,
      gone.map((row) => ({ ...row, sync_state: 'synced' as const })),
    );
    await this.writer.write(tx, scope, drafts);
    if (settled.length > 0) await this.skills.updateMany(tx, scope, settled);
    return {
      created: drafts.filter(({ before }) => !before).map(idOf),
      updated: drafts.filter(({ before }) => before).map(idOf),
      archived: gone.map(({ skill_id }) => skill_id),
      liveCount: declared.length,
    };
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
const contentDeclared = ({ name, spec }: Declared): SkillContent =>
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

const synced = (row: SkillEntity): SkillEntity => ({
  ...row,
  sync_state: 'synced',
  generation: row.generation + 1,
  updated_at: new Date(),
});

const idOf = ({ row }: SkillDraft): string => row.skill_id;
