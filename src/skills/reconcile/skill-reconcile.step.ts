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
  type AuditChange,
  type Declared,
  type DeclarationFault,
  type Matched,
  OwnedReconcileStep,
  type OwningApp,
  type ReconcileDraft,
  ReconcileSteps,
  ResourceKit,
} from '../../resources';
import type { SkillContent } from '../format/skill-content';
import { NAME_MAX, SKILL_NAME } from '../format/skill-members';
import type { SkillEntity } from '../skills/skill.entity';
import { type ComparedSkill, SkillRepository } from '../skills/skill.repository';
import { SKILL } from '../skills/skill.service';
import { changesOf, columnsOf, newSkill, SkillWriter } from '../skills/skill-writer';
import { contentOfSpec } from '../upload/skill-spec';
import { SkillSpecDto } from '../upload/skill-spec.dto';

/** Twice the maximum number of declarations in an app, so that the largest app finds all its digests. Takes a few MiB. */
const CACHED_DIGESTS_MAX = 20_000;

/** Returns the key of a declaration's source digest: the SHA-256 of name and spec. */
const keyOf = (name: string, spec: object): string =>
  createHash('sha256')
    .update(toJsonText([name, spec]))
    .digest('base64');

/** A declared skill. Its content is created only when the skill must be written. */
interface DeclaredSkill {
  declared: Declared;
  content?: SkillContent;
}

/** Reconciles the skills that an app declares. */
@Injectable()
export class SkillReconcileStep extends OwnedReconcileStep<SkillEntity, DeclaredSkill, ComparedSkill> {
  /**
   * The source digests of valid declarations. Writing and reading a SKILL.md takes about a hundred times as long, and most
   * declarations have not changed since the last reconcile.
   */
  private readonly digests = new LRUCache<string, string>({ max: CACHED_DIGESTS_MAX });

  constructor(
    steps: ReconcileSteps,
    kit: ResourceKit,
    skills: SkillRepository,
    private readonly writer: SkillWriter,
  ) {
    super(steps, kit, skills, {
      ...SKILL,
      versions: { ordinal: 'version_ordinal', fields: ['source_digest'] },
    });
  }

  readonly specType = SkillSpecDto;

  faultsIn(name: string, spec: Record<string, unknown>, pointer: string): FieldError[] {
    const key = keyOf(name, spec);
    if (this.digests.has(key)) return [];
    const faults: FieldError[] = [];
    const isName = name.length <= NAME_MAX && SKILL_NAME.test(name);
    if (!isName) faults.push({ pointer: pointer.replace(/[^/]*$/, 'name'), detail: NAME_RULE });
    try {
      validateBody(SkillSpecDto, spec);
      const content = contentOf({ name: isName ? name : PLACEHOLDER, spec });
      if (isName) this.digests.set(key, content.source_digest);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      faults.push(...faultsOf(error, pointer));
    }
    return faults;
  }

  protected read(_tx: Tx, _scope: Scope, declared: readonly Declared[]) {
    return Promise.resolve({ contents: declared.map((one) => ({ declared: one })), faults: [] });
  }

  protected override async different(present: readonly PresentSkill[]) {
    const different: PresentSkill[] = [];
    for (const [index, one] of present.entries()) {
      if (index % SPECS_PER_TICK === SPECS_PER_TICK - 1) await yieldToEventLoop();
      if (this.isDifferent(one.row, one.content)) different.push(one);
    }
    return different;
  }

  /** Compares a skill with its declaration by digest, without reading its contents. */
  protected isDifferent({ source_digest }: ComparedSkill, { declared }: DeclaredSkill): boolean {
    const digest = this.digests.get(keyOf(declared.name, declared.spec));
    return source_digest !== (digest ?? contentOf(declared).source_digest);
  }

  /** Stores the contents of all skills in one order, so that concurrent reconciles do not deadlock. */
  protected override async beforeWrite(
    tx: Tx,
    scope: Scope,
    changes: readonly ChangedSkill[],
  ): Promise<void> {
    const contents: SkillContent[] = [];
    for (const [index, { content }] of changes.entries()) {
      if (index % SPECS_PER_TICK === SPECS_PER_TICK - 1) await yieldToEventLoop();
      content.content = contentOf(content.declared);
      contents.push(content.content);
    }
    await this.writer.storeContents(tx, scope, contents);
  }

  protected override plannedChanges({
    before,
    row,
    content,
  }: ReconcileDraft<SkillEntity, DeclaredSkill>): AuditChange[] {
    return changesOf(before!, row, content.content!.files);
  }

  protected override bytesOf({ row, content }: ChangedSkill): number {
    return ROW_BYTES + (row?.bytes ?? 0) + content.content!.size_bytes;
  }

  protected newRow(scope: Scope, app: OwningApp, _name: string, { content }: DeclaredSkill): SkillEntity {
    return newSkill(scope, scope.workspaceId, content!, app);
  }

  protected columnsOf(_row: SkillEntity, { content }: DeclaredSkill): Partial<SkillEntity> {
    return columnsOf(content!);
  }

  protected override write(
    tx: Tx,
    scope: Scope,
    drafts: readonly ReconcileDraft<SkillEntity, DeclaredSkill>[],
  ): Promise<void> {
    return this.writer.write(
      tx,
      scope,
      drafts.map(({ before, row, content }) => ({ before, row, files: content.content!.files })),
    );
  }
}

type PresentSkill = Matched<DeclaredSkill, ComparedSkill, ComparedSkill>;
type ChangedSkill = Matched<DeclaredSkill, ComparedSkill>;

const NAME_RULE = `must be words of lower-case letters and digits with single hyphens between them, of at most ${NAME_MAX} characters`;

/** Stands in for an invalid name, so that the spec can be checked anyway. */
const PLACEHOLDER = 'x';

/** @param pointer the JSON pointer of the spec */
function faultsOf(problem: Problem, pointer: string): DeclarationFault[] {
  const faults = (problem.errors ?? []).flatMap((one) =>
    'pointer' in one ? [{ pointer: pointer + one.pointer, detail: one.detail }] : [],
  );
  return faults.length > 0 ? faults : [{ pointer, detail: problem.detail }];
}

/** Returns the content of a validated declaration. */
const contentOf = ({ name, spec }: Pick<Declared, 'name' | 'spec'>): SkillContent =>
  contentOfSpec(name, spec as unknown as SkillSpecDto);

/** The number of specs that are read before yielding to the event loop. Each takes a few milliseconds. */
const SPECS_PER_TICK = 20;

/** The size of a row without its content, in bytes. */
const ROW_BYTES = 4 * 1024;
