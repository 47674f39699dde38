import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Scope } from '#platform/auth';
import { yieldToEventLoop } from '#platform/concurrency';
import type { Tx } from '#platform/db';
import { validateBody } from '#platform/http';
import { toJsonText } from '#platform/json';
import { type FieldError, Problem } from '#platform/problem';
import {
  AuditLog,
  type Declared,
  pagesOf,
  planReconcile,
  type ReconciledApp,
  ReconcileRefused,
  type ReconcileResult,
  ReconcileStep,
  ReconcileSteps,
  SearchIndex,
} from '../../resources';
import type { SkillContent } from '../format/skill-content';
import { NAME_MAX, SKILL_NAME } from '../format/skill-members';
import type { SkillEntity } from '../skills/skill.entity';
import { type ComparedSkill, SkillRepository } from '../skills/skill.repository';
import { newSkill, nextVersion, type SkillDraft, SkillWriter } from '../skills/skill-writer';
import { contentOfSpec } from '../upload/skill-spec';
import { SkillSpecDto } from '../upload/skill-spec.dto';

/** Twice the most declarations of an app, so that a reconcile finds all of its own. Takes some MiB. */
const KNOWN_MAX = 20_000;

/**
 * Caches the source digests of valid declarations by the SHA-256 of name and spec. Writing and reading a SKILL.md takes
 * about a hundred times as long, and most declarations have not changed since the last reconcile.
 */
class DeclaredDigests {
  private readonly known = new LRUCache<string, string>({ max: KNOWN_MAX });

  get(name: string, spec: object): string | undefined {
    return this.known.get(keyOf(name, spec));
  }

  set(name: string, spec: object, digest: string): void {
    this.known.set(keyOf(name, spec), digest);
  }
}

const keyOf = (name: string, spec: object): string =>
  createHash('sha256')
    .update(toJsonText([name, spec]))
    .digest('base64');

/** Reconciles the skills that an app declares. */
@Injectable()
export class SkillReconcileStep extends ReconcileStep {
  readonly kind = 'skill';
  private readonly digests = new DeclaredDigests();

  constructor(
    steps: ReconcileSteps,
    private readonly skills: SkillRepository,
    private readonly writer: SkillWriter,
    audit: AuditLog,
    index: SearchIndex,
  ) {
    super(skills, audit, index);
    steps.add(this);
  }

  faultsIn(name: string, spec: Record<string, unknown>, pointer: string): FieldError[] {
    if (this.digests.get(name, spec) !== undefined) return [];
    const faults: FieldError[] = [];
    const isName = name.length <= NAME_MAX && SKILL_NAME.test(name);
    if (!isName) faults.push({ pointer: pointer.replace(/[^/]*$/, 'name'), detail: NAME_RULE });
    try {
      validateBody(SkillSpecDto, spec);
      const content = contentOf({ name: isName ? name : PLACEHOLDER, spec });
      if (isName) this.digests.set(name, spec, content.source_digest);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      faults.push(...faultsOf(error, pointer));
    }
    return faults;
  }

  async apply(
    tx: Tx,
    scope: Scope,
    app: ReconciledApp,
    declared: readonly Declared[],
  ): Promise<ReconcileResult> {
    const names = declared.map(({ name }) => name);
    const plan = planReconcile(
      app,
      declared,
      await this.skills.lockDeclared<ComparedSkill>(tx, scope, app.appId, names),
    );
    if (plan.faults.length > 0) throw new ReconcileRefused(plan.faults);
    const { different, matching } = await this.compare(plan.present);
    const changes = await contentsOf([
      ...plan.missing.map((one) => ({ declared: one, row: null })),
      ...different,
    ]);
    const archived = idsOf(plan.undeclared);
    await this.archive(tx, scope, archived);
    // Contents of all skills are stored in one order, so that concurrent reconciles do not deadlock.
    await this.writer.keepContents(
      tx,
      scope,
      changes.map(({ content }) => content),
    );
    const created: string[] = [];
    for (const page of pagesOf(changes, bytesOf))
      created.push(...(await this.writePage(tx, scope, app, page)));
    const unsettled = matching.filter(({ sync_state }) => sync_state !== 'synced');
    await this.skills.settle(tx, scope, idsOf(unsettled));
    return { created, updated: idsOf(different.map(({ row }) => row)), archived, liveCount: declared.length };
  }

  /** Compares skills with their declarations by digest, without reading their contents. */
  private async compare(present: readonly PresentSkill[]) {
    const different: PresentSkill[] = [];
    const matching: ComparedSkill[] = [];
    for (const [index, one] of present.entries()) {
      if (index % SPECS_PER_TICK === SPECS_PER_TICK - 1) await yieldToEventLoop();
      const { name, spec } = one.declared;
      const digest = this.digests.get(name, spec) ?? contentOf(one.declared).source_digest;
      if (one.row.source_digest === digest) matching.push(one.row);
      else different.push(one);
    }
    return { different, matching };
  }

  /** Writes a page of skills. People may have made present ones larger than memory. @returns the ids of new skills */
  private async writePage(
    tx: Tx,
    scope: Scope,
    app: ReconciledApp,
    page: readonly ChangedSkill[],
  ): Promise<string[]> {
    const owned = page.flatMap(({ row }) => row ?? []);
    const rows = owned.length > 0 ? await this.skills.findMany(tx, scope, idsOf(owned)) : [];
    const byId = new Map(rows.map((row) => [row.skill_id, row]));
    const drafts = page.map(({ row, content }) =>
      draftOf(scope, app, row && byId.get(row.skill_id)!, content),
    );
    await this.writer.write(tx, scope, drafts);
    return idsOf(drafts.filter(({ before }) => !before).map(({ row }) => row));
  }
}

const NAME_RULE = `must be words of lower-case letters and digits with single hyphens between them, of at most ${NAME_MAX} characters`;

/** Replaces an invalid name, so that the spec is checked all the same. */
const PLACEHOLDER = 'x';

/** @param pointer of the spec */
function faultsOf(problem: Problem, pointer: string): { pointer: string; detail: string }[] {
  const faults = (problem.errors ?? []).flatMap((one) =>
    'pointer' in one ? [{ pointer: pointer + one.pointer, detail: one.detail }] : [],
  );
  return faults.length > 0 ? faults : [{ pointer, detail: problem.detail }];
}

/** Returns the content of a declaration without form errors. */
const contentOf = ({ name, spec }: Pick<Declared, 'name' | 'spec'>): SkillContent =>
  contentOfSpec(name, spec as unknown as SkillSpecDto);

function draftOf(
  scope: Scope,
  { appId, app }: ReconciledApp,
  before: SkillEntity | null,
  content: SkillContent,
): SkillDraft {
  const owner = { app_id: appId, app, sync_state: 'synced' } as const;
  const row = before
    ? nextVersion(before, content, 'synced')
    : newSkill(scope, scope.workspaceId, content, owner);
  return { before, row, files: content.files };
}

const idsOf = (rows: readonly Pick<SkillEntity, 'skill_id'>[]): string[] =>
  rows.map(({ skill_id }) => skill_id);

/** The number of specs, at some milliseconds each, that are read before other work on the event loop gets a turn. */
const SPECS_PER_TICK = 20;

/** A skill and its declaration. */
interface PresentSkill {
  declared: Declared;
  row: ComparedSkill;
}

/** A skill that gets a version. */
interface ChangedSkill {
  /** Null for a new skill. */
  row: ComparedSkill | null;
  content: SkillContent;
}

async function contentsOf(
  given: readonly { declared: Declared; row: ComparedSkill | null }[],
): Promise<ChangedSkill[]> {
  const changes: ChangedSkill[] = [];
  for (const [index, { declared, row }] of given.entries()) {
    if (index % SPECS_PER_TICK === SPECS_PER_TICK - 1) await yieldToEventLoop();
    changes.push({ row, content: contentOf(declared) });
  }
  return changes;
}

/** The size of a row without its content. */
const ROW_BYTES = 4 * 1024;

const bytesOf = ({ row, content }: ChangedSkill): number =>
  ROW_BYTES + (row?.bytes ?? 0) + content.size_bytes;
