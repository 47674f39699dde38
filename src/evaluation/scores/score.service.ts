import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, type Tx } from '#platform/db';
import { checkValues, validateBody } from '#platform/http';
import { newId } from '#platform/ids';
import { RawJson, sha256OfJson, toRawJson } from '#platform/json';
import { type Page, toPage } from '#platform/paging';
import { Problem, problem, orNotFound } from '#platform/problem';
import {
  minAnnotationsOf,
  type HumanDefinition,
  type Output,
  type ScorerEntity,
  ScorerRepository,
} from '../scorers';
import {
  AuditLog,
  checkItem,
  checkWorkspaceOfCreate,
  checkWorkspaceOfSearch,
  failedItem,
  toItemProblem,
} from '../../resources';
import type { ScoreSource } from '../../telemetry';
import { hasNoValue, readValue, type ScoreValue, sourceOf } from './score-value';
import {
  BulkScoreDto,
  type BulkScoreItemDto,
  type BulkScoresDto,
  type CreateScoreDto,
  type ScoreDto,
  type ScoreFieldsDto,
  type ScoreListQueryDto,
  toScoreDto,
} from './score.dto';
import type { ScoreRow } from './score.entity';
import { type NewScore, ScoreRepository, targetOf } from './score.repository';
import { type NamedTarget, namedTarget, type ScoreTarget, TargetDirectory } from './score-targets';
import { ScoreTargetRepository, type TargetKey } from './score-target.repository';
import { cutComment } from './uploaded-scores';

/** A scorer, and the version whose definition a score uses. */
interface ScorerPin {
  scorer: ScorerEntity;
  version: number;
  definition: { output?: Output };
}

/** A score whose members fit together and its scorer, but whose target was not looked up. */
interface DraftedScore {
  dto: ScoreFieldsDto;
  named: NamedTarget;
  pinned: ScorerPin | null;
  source: ScoreSource;
  value: () => ScoreValue;
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
   * source, caller and author. A trace may arrive
   * later. Errors: those of `checkMany` and `store`.
   */
  async create(scope: Scope, dto: CreateScoreDto): Promise<ScoreDto> {
    checkWorkspaceOfCreate(scope, dto.workspace_id);
    const checked = orThrow((await this.checkMany(scope, [dto]))[0]!);
    return this.database.transaction((tx) => this.store(tx, scope, checked));
  }

  /**
   * Records 1 to 100 scores in one transaction. Each item succeeds or fails independently. A score supersedes the earlier ones
   * of the same request as it supersedes stored ones.
   */
  async createBulk(scope: Scope, dto: BulkScoresDto): Promise<BulkScoreItemDto[]> {
    checkWorkspaceOfSearch(scope, dto.workspace_id);
    const items = dto.items.map((item) =>
      checkItem(() => {
        const score = validateBody(BulkScoreDto, item);
        checkWorkspaceOfSearch(scope, score.workspace_id);
        return score;
      }),
    );
    const checked = await this.checkMany(scope, items);
    const outcomes = await this.database.transaction((tx) => this.storeMany(tx, scope, checked));
    return outcomes.map((outcome, index) =>
      outcome instanceof Problem
        ? failedItem(index, toItemProblem(outcome, index))
        : { index, status_code: 201, score: toScoreDto(outcome) },
    );
  }

  /** Checks one score, see `checkMany`, and throws its problem, also 404 for a trace that has not arrived. */
  async check(scope: Scope, dto: ScoreFieldsDto): Promise<CheckedScore> {
    const checked = orThrow((await this.checkMany(scope, [dto]))[0]!);
    const { trace_id, trace_check_at } = checked.row;
    if (trace_check_at !== null) throw problem.unknownReference('/trace_id', 'trace', trace_id!);
    return checked;
  }

  /** Stores a checked score, see `storeMany`, and throws its problem. */
  async store(tx: Tx, scope: Scope, checked: CheckedScore): Promise<ScoreDto> {
    return toScoreDto(orThrow((await this.storeMany(tx, scope, [checked]))[0]!));
  }

  /**
   * Checks scores. Problems of a score: 400 for no or several targets or scorers, a source that does not fit the scorer, and a
   * value that does not fit the scorer's output; 403 for a source that the caller's role does not allow; 404 naming the unknown
   * reference; 409 for an archived scorer, and for a result that is not in the requested version; 422 for an unknown choice
   * or source.
   */
  private async checkMany(
    scope: Scope,
    items: readonly (ScoreFieldsDto | Problem)[],
  ): Promise<(CheckedScore | Problem)[]> {
    const named = mapValid(items, (dto) => {
      const target = namedTarget(dto);
      checkScorerNamed(dto);
      return { dto, named: target };
    });
    const dtos = valid(named).map(({ dto }) => dto);
    const pin = await this.pins(scope, dtos);
    const drafts = mapValid(named, ({ dto, named: target }) => draft(scope, dto, target, pin(dto)));
    const targets = valid(drafts).map((one) => one.named);
    const find = await this.finder.find(scope, targets);
    return mapValid(drafts, (one) => toCheckedScore(scope, one, find(one.named)));
  }

  /**
   * Stores checked scores. Problems of a score: 404 for a result that was deleted, and 409 for one that was replaced, or a trace
   * that was deleted, since the check.
   */
  private async storeMany(
    tx: Tx,
    scope: Scope,
    items: readonly (CheckedScore | Problem)[],
  ): Promise<(ScoreRow | Problem)[]> {
    const rows = valid(items).map(({ row }) => row);
    const ofPeople = rows.some(({ source, result_id }) => source === 'human' && result_id === null);
    const at = ofPeople ? await this.targets.lockPeople(tx, scope.workspaceId, 'shared') : undefined;
    const { results, deletedTraces } = await this.targets.lock(tx, scope.workspaceId, rows.map(keyOf));
    // after the lock, so that a score that waited for its experiment to be finalized is newer than the summary
    const createdAt = at ?? new Date();
    const stamped = mapValid(items, ({ row, isCommentOnly }) => {
      const id = targetOf(row);
      if (deletedTraces.has(id)) throw problem.conflict('The trace was deleted.');
      const locked = results.get(id);
      if (row.result_id !== null && !locked)
        throw problem.unknownReference('/result_id', 'result', row.result_id);
      if (locked && locked.version !== row.result_version) throw resultReplaced();
      return { ...row, is_late: locked?.is_late ?? false, created_at: createdAt, isCommentOnly };
    });
    const stored = (await this.scores.insert(tx, scope, valid(stamped))).values();
    return stamped.map((one) => (one instanceof Problem ? one : stored.next().value!));
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
      const { results } = await this.targets.lock(tx, workspaceId, [keyOf(row)]);
      const locked = results.get(targetOf(row));
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

  /**
   * Looks up the scorers that requests name. The returned function returns the scorer of a request, or null for a name that no
   * scorer has. It throws 404 for an unknown scorer or version.
   */
  private async pins(
    scope: Scope,
    dtos: readonly ScoreFieldsDto[],
  ): Promise<(dto: ScoreFieldsDto) => ScorerPin | null> {
    const ids = new Set(dtos.flatMap(({ scorer_id }) => scorer_id ?? []));
    const names = new Set(dtos.flatMap(({ scorer_name }) => scorer_name ?? []));
    const byId = new Map<string, ScorerEntity>();
    const byName = new Map<string, ScorerEntity>();
    const [withIds, withNames] = [
      ids.size > 0 ? await this.scorers.findMany(scope, [...ids]) : [],
      names.size > 0 ? await this.scorers.findLiveNamed(scope, [...names]) : [],
    ];
    for (const scorer of withIds) byId.set(scorer.scorer_id, scorer);
    for (const scorer of withNames) byName.set(scorer.name, scorer);
    const scorerOf = ({ scorer_id, scorer_name }: ScoreFieldsDto): ScorerEntity | undefined =>
      typeof scorer_id === 'string' ? byId.get(scorer_id) : byName.get(scorer_name!);
    const earlier = dtos.flatMap((dto) => {
      const scorer = scorerOf(dto);
      const version = dto.scorer_version ?? scorer?.scorer_version;
      if (!scorer || version === undefined || version === scorer.scorer_version) return [];
      return { scorer_id: scorer.scorer_id, scorer_version: version };
    });
    const pinned = earlier.length > 0 ? await this.scorers.findPinned(scope, earlier) : [];
    const byVersion = new Map(pinned.map((row) => [`${row.scorer_id} ${row.scorer_version}`, row]));
    return (dto) => {
      const { scorer_id, scorer_version } = dto;
      const scorer = scorerOf(dto);
      if (!scorer) {
        if (typeof scorer_id === 'string') throw problem.unknownReference('/scorer_id', 'scorer', scorer_id);
        if (typeof scorer_version !== 'number') return null;
        throw problem.invalidField('/scorer_version', 'must be omitted, because no scorer has this name');
      }
      const version = scorer_version ?? scorer.scorer_version;
      const row =
        version === scorer.scorer_version ? scorer : byVersion.get(`${scorer.scorer_id} ${version}`);
      if (!row) throw problem.unknownReference('/scorer_version', 'scorer version', String(version));
      return { scorer, version, definition: row.definition.parse() as { output?: Output } };
    };
  }
}

/** Reads the source and the value of a score. */
function draft(
  scope: Scope,
  dto: ScoreFieldsDto,
  named: NamedTarget,
  pinned: ScorerPin | null,
): DraftedScore {
  const scorer = pinned && {
    scorer_kind: pinned.scorer.scorer_kind,
    output: pinned.definition.output ?? null,
  };
  const source = sourceOf(scope, dto, scorer);
  return { dto, named, pinned, source, value: readValue(scorer, source, dto) };
}

/** Returns the row of a score whose target was found. */
function toCheckedScore(
  scope: Scope,
  { dto, pinned, source, value }: DraftedScore,
  target: ScoreTarget,
): CheckedScore {
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

/** Returns the items that have no problem. */
const valid = <Item>(items: readonly (Item | Problem)[]): Item[] =>
  items.filter((item): item is Item => !(item instanceof Problem));

/** Maps the items that have no problem. What `map` throws becomes the problem of the item. */
const mapValid = <Item, Result>(
  items: readonly (Item | Problem)[],
  map: (item: Item) => Result,
): (Result | Problem)[] => items.map((item) => (item instanceof Problem ? item : checkItem(() => map(item))));

function orThrow<Result>(outcome: Result | Problem): Result {
  if (outcome instanceof Problem) throw outcome;
  return outcome;
}

const keyOf = (
  row: Pick<ScoreRow, 'target_kind' | 'result_id' | 'trace_id' | 'session_id' | 'experiment_id'>,
): TargetKey => ({
  kind: row.target_kind,
  id: targetOf(row),
  experimentId: row.experiment_id,
});

const resultReplaced = () =>
  problem.conflict('The result was replaced after it was scored. Score its current version.');

/** Checks that a request names the scorer either by id or by name. Errors: 400. */
function checkScorerNamed({ scorer_id, scorer_name }: ScoreFieldsDto): void {
  const names = [scorer_id, scorer_name].filter((one) => typeof one === 'string');
  if (names.length === 1) return;
  throw names.length === 0
    ? problem.invalidField('', 'must name a scorer by scorer_id or scorer_name')
    : problem.invalidField('/scorer_name', 'cannot be combined with scorer_id');
}
