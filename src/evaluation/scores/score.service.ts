import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, type Tx } from '#platform/db';
import { checkValues } from '#platform/http';
import { newId } from '#platform/ids';
import { RawJson, sha256OfJson, toRawJson } from '#platform/json';
import { type Page, toPage } from '#platform/paging';
import { problem, orNotFound } from '#platform/problem';
import {
  minAnnotationsOf,
  type HumanDefinition,
  type Output,
  type ScorerEntity,
  ScorerRepository,
} from '../scorers';
import { AuditLog, checkWorkspaceOfCreate } from '../../resources';
import { hasNoValue, readValue, sourceOf } from './score-value';
import { type CreateScoreDto, type ScoreDto, type ScoreListQueryDto, toScoreDto } from './score.dto';
import type { ScoreRow } from './score.entity';
import { type NewScore, ScoreRepository } from './score.repository';
import { namedTarget, TargetDirectory } from './score-targets';
import { ScoreTargetRepository } from './score-target.repository';
import { cutComment } from './uploaded-scores';

/** A scorer, and the version whose definition a score uses. */
interface ScorerPin {
  scorer: ScorerEntity;
  version: number;
  definition: { output?: Output };
}

/** A score that was checked, and may be stored. */
export interface CheckedScore {
  row: NewScore;
  isCommentOnly: boolean;
}

/** Records scores and lists those of all sources. */
@Injectable()
export class ScoreService {
  constructor(
    private readonly database: Database,
    private readonly scorers: ScorerRepository,
    private readonly finder: TargetDirectory,
    private readonly targets: ScoreTargetRepository,
    private readonly scores: ScoreRepository,
    private readonly audit: AuditLog,
  ) {}

  /**
   * Records a score of a trace, a session or a result. It supersedes the earlier score of the same target by the same scorer,
   * source, caller and author. Errors: those of `check` and `store`.
   */
  async create(scope: Scope, dto: CreateScoreDto): Promise<ScoreDto> {
    const checked = await this.check(scope, dto);
    return this.database.transaction((tx) => this.store(tx, scope, checked));
  }

  /**
   * Checks a score. Errors: 400 for no or several targets or scorers, a source that does not fit the scorer, and a value that
   * does not fit the scorer's output; 403 for a source that the caller's role does not allow; 404 naming the unknown
   * reference; 409 for an archived scorer, and for a result that is not in the requested version; 422 for an unknown choice
   * or source.
   */
  async check(scope: Scope, dto: CreateScoreDto): Promise<CheckedScore> {
    checkWorkspaceOfCreate(scope, dto.workspace_id);
    const named = namedTarget(dto);
    checkScorerNamed(dto);
    const pinned = await this.pin(scope, dto);
    const scorer = pinned && {
      scorer_kind: pinned.scorer.scorer_kind,
      output: pinned.definition.output ?? null,
    };
    const source = sourceOf(scope, dto, scorer);
    const value = readValue(scorer, source, dto);
    const target = await this.finder.find(scope, named);
    if (pinned?.scorer.archived_at) {
      throw problem.conflict('The scorer is archived. Restore it before you record scores.');
    }
    if (typeof dto.result_version === 'number' && dto.result_version !== target.result_version)
      throw resultReplaced();
    checkValues(dto);
    const isHuman = pinned?.scorer.scorer_kind === 'human';
    // A client's score under the name of a scorer that the service runs belongs to no version by default.
    const row: NewScore = {
      score_id: newId('score'),
      workspace_id: scope.workspaceId,
      scorer_id: pinned?.scorer.scorer_id ?? null,
      scorer_kind: pinned?.scorer.scorer_kind ?? null,
      scorer_version: isHuman || typeof dto.scorer_version === 'number' ? pinned!.version : null,
      scorer_name: pinned?.scorer.name ?? dto.scorer_name!,
      source,
      ...target,
      span_id: null,
      ...value(),
      comment: typeof dto.comment === 'string' ? cutComment(dto.comment) : null,
      metadata: dto.metadata ? toRawJson(dto.metadata) : new RawJson('{}'),
      author: dto.author ?? null,
      score_run_id: null,
      model: null,
      judge_digest: null,
      output_sha256: isHuman ? sha256OfJson(pinned.definition.output) : null,
      min_annotations: isHuman ? minAnnotationsOf(pinned.definition as HumanDefinition) : null,
      is_late: false,
      created_at: new Date(),
      created_by: scope.principalId,
    };
    return { row, isCommentOnly: hasNoValue(dto) };
  }

  /** Stores a checked score. Errors: 409 for a result that was replaced since the check, or a trace that was deleted. */
  async store(tx: Tx, scope: Scope, { row, isCommentOnly }: CheckedScore): Promise<ScoreDto> {
    const id = idOf(row);
    const target = { kind: row.target_kind, id, experimentId: row.experiment_id };
    const ofPeople = row.source === 'human' && row.result_id === null;
    const at = ofPeople ? await this.targets.lockPeople(tx, scope.workspaceId, 'shared') : undefined;
    const { results, deletedTraces } = await this.targets.lock(tx, scope.workspaceId, [target]);
    if (deletedTraces.has(id)) throw problem.conflict('The trace was deleted.');
    const locked = results.get(id);
    if (row.result_id !== null && !locked)
      throw problem.unknownReference('/result_id', 'result', row.result_id);
    if (locked && locked.version !== row.result_version) throw resultReplaced();
    // after the lock, so that a score that waited for its experiment to be finalized is newer than the summary
    const stamped = { ...row, is_late: locked?.is_late ?? false, created_at: at ?? new Date() };
    return toScoreDto(await this.scores.insert(tx, stamped, { isCommentOnly }));
  }

  /**
   * Deletes a score. The score that it superseded stays superseded. Errors: 404; 409 for a score of a result whose experiment
   * is finalized.
   */
  delete(scope: Scope, id: string): Promise<void> {
    return this.database.transaction(async (tx) => {
      const row = orNotFound(await this.scores.find(scope, id, tx), 'score', id);
      const { workspaceId } = scope;
      const ofPeople = row.source === 'human' && row.result_id === null;
      if (ofPeople) await this.targets.lockPeople(tx, workspaceId, 'shared');
      const target = { kind: row.target_kind, id: idOf(row), experimentId: row.experiment_id };
      const { results } = await this.targets.lock(tx, workspaceId, [target]);
      const locked = results.get(idOf(row));
      if (locked?.is_late) {
        throw problem.conflict(
          `The experiment ${row.experiment_id} is finalized. The scores of its results cannot be deleted, only superseded by newer ones, or deleted with the experiment.`,
        );
      }
      if (!(await this.scores.delete(tx, scope, id))) throw problem.notFound('score', id);
      if (ofPeople) await this.targets.bumpExperiments(tx, workspaceId, row);
      const entry = { action: 'delete', type: 'score', id, workspaceId } as const;
      await this.audit.record(tx, scope, { ...entry, changes: [] });
    });
  }

  async get(scope: Scope, id: string): Promise<ScoreDto> {
    return toScoreDto(orNotFound(await this.scores.find(scope, id), 'score', id));
  }

  async list(scope: Scope, query: ScoreListQueryDto): Promise<Page<ScoreDto>> {
    return toPage(await this.scores.list(scope, query), toScoreDto);
  }

  /** Returns the scorer that a request names. Null for a name that no scorer has. */
  private async pin(
    scope: Scope,
    { scorer_id, scorer_name, scorer_version }: CreateScoreDto,
  ): Promise<ScorerPin | null> {
    const scorer =
      typeof scorer_id === 'string'
        ? await this.scorers.find(scope, scorer_id)
        : await this.scorers.findLive(scope, 'name', scorer_name!);
    if (!scorer) {
      if (typeof scorer_id === 'string') throw problem.unknownReference('/scorer_id', 'scorer', scorer_id);
      if (typeof scorer_version !== 'number') return null;
      throw problem.invalidField('/scorer_version', 'must be omitted, because no scorer has this name');
    }
    const version = scorer_version ?? scorer.scorer_version;
    const row =
      version === scorer.scorer_version
        ? scorer
        : await this.scorers.findVersion(scope, scorer.scorer_id, version);
    if (!row) throw problem.unknownReference('/scorer_version', 'scorer version', String(version));
    return { scorer, version, definition: row.definition.parse() as { output?: Output } };
  }
}

/** The id of the target of a score. */
const idOf = ({
  result_id,
  trace_id,
  session_id,
}: Pick<ScoreRow, 'result_id' | 'trace_id' | 'session_id'>): string => (result_id ?? trace_id ?? session_id)!;

const resultReplaced = () =>
  problem.conflict('The result was replaced after it was scored. Score its current version.');

/** Checks that a request names the scorer either by id or by name. Errors: 400. */
function checkScorerNamed({ scorer_id, scorer_name }: CreateScoreDto): void {
  const names = [scorer_id, scorer_name].filter((one) => typeof one === 'string');
  if (names.length === 1) return;
  throw names.length === 0
    ? problem.invalidField('', 'must name a scorer by scorer_id or scorer_name')
    : problem.invalidField('/scorer_name', 'cannot be combined with scorer_id');
}
