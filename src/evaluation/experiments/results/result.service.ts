import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Coalescer, SMALL_WRITES } from '#platform/concurrency';
import { Database, type SqlExecutor, type Tx } from '#platform/db';
import {
  checkIfMatch,
  checkValues,
  patchMetadata,
  validateBody,
  valueErrors,
  Versioned,
} from '#platform/http';
import { toJsonText, toRawJson, toRawJsonOrNull } from '#platform/json';
import { JsonThreads } from '#platform/json-threads';
import type { Page } from '#platform/paging';
import { isDataError, Problem, problem } from '#platform/problem';
import type { ExperimentState } from '../experiments/experiment.entity';
import { ExperimentRepository } from '../experiments/experiment.repository';
import { checkRunning } from '../experiments/experiment.service';
import { checkItems, checkWorkspaceOfCreate, failedItem, toItemProblem } from '../../../resources';
import { CaseRules, checkScorers } from './case-rules';
import {
  type BulkResultItemDto,
  type BulkResultsDto,
  type CreateResultDto,
  FIXED_MEMBERS,
  type OnConflict,
  type PatchResultDto,
  type ResultDto,
  ResultFieldsDto,
  toBulkResultDto,
  toResultDto,
} from './result.dto';
import type { ResultEntity } from './result.entity';
import { ResultListRepository } from './result-list.repository';
import { ResultLockRepository } from './result-lock.repository';
import type { ResultListQueryDto } from './result-query.dto';
import { type PlannedResult, planner } from './result-plan';
import { ResultRepository, type StoredResult } from './result.repository';
import { ResultScoreRepository } from './result-score.repository';
import { ScoreWriteBack } from './score-write-back';
import { scoreRowsOf, SCORES_MAX, type SplitScores, splitScores } from './scores';

/** Maximum size of the stored results that one request returns for skipped items, in bytes. */
const SKIPPED_BYTES_MAX = 16 * 1024 * 1024;

const caseTaken = (resultId: string | undefined): Problem =>
  problem.conflict(
    `The experiment already has a result for this case_id: ${resultId}. Send "on_conflict": "replace" to replace it.`,
  );

const skippedTooLarge = (): Problem =>
  new Problem(
    'payload_too_large',
    'The stored result of this case does not fit into this response. Send the item in a separate request.',
  );

/** A stored result, and the status of its item. */
interface Outcome {
  status: 200 | 201;
  row: StoredResult;
}

/** The response to a created result. */
interface CreatedResult {
  status: 200 | 201;
  result: Versioned<ResultDto>;
}

/** A result from a request that creates only this one. */
interface SingleResult {
  scope: Scope;
  experimentId: string;
  dto: CreateResultDto;
}

/** Whether the database has copied values of a stored result from its record. */
const takesValues = ({ row }: Outcome, dto: CreateResultDto): boolean =>
  row.dataset_record_id !== null && (dto.input === undefined || dto.expected === undefined);

const lengthOf = ({ input, expected, output, error, metadata, scores }: CreateResultDto): number =>
  [input, expected, output, error, metadata, scores].reduce(
    (length: number, value) => length + (toRawJsonOrNull(value)?.text.length ?? 0),
    0,
  );

/** Writes and reads the results of experiments. */
@Injectable()
export class ResultService {
  /** Coalesces results of one experiment, because a commit costs more than a result. */
  private readonly small = new Coalescer<SingleResult, CreatedResult>({
    run: (results) => this.createTogether(results),
    max: SMALL_WRITES.max,
    isSequential: true,
    isOfOneItem: isDataError,
  });

  constructor(
    private readonly database: Database,
    private readonly experiments: ExperimentRepository,
    private readonly cases: CaseRules,
    private readonly results: ResultRepository,
    private readonly scores: ResultScoreRepository,
    private readonly lists: ResultListRepository,
    private readonly locks: ResultLockRepository,
    private readonly writeBack: ScoreWriteBack,
    private readonly threads: JsonThreads,
  ) {}

  /**
   * Stores the result of one case. Returns 201 for a new one, and 200 for one that was skipped or replaced. Errors: 404 for an
   * unknown experiment, 409 if it is finalized or already has a result for the case, and those of `checkCase`.
   */
  async create(
    scope: Scope,
    experimentId: string,
    dto: CreateResultDto,
    signal: AbortSignal,
  ): Promise<CreatedResult> {
    checkWorkspaceOfCreate(scope, dto.workspace_id);
    const result = { scope, experimentId, dto };
    const isSmall = valueErrors(dto, '').length === 0 && lengthOf(dto) <= SMALL_WRITES.length;
    const key = [scope.workspaceId, scope.principalId, experimentId, dto.on_conflict];
    return isSmall ? this.small.add(key, result, signal) : this.createAlone(result);
  }

  private createAlone({ scope, experimentId, dto }: SingleResult): Promise<CreatedResult> {
    return this.database.transaction(async (tx) => {
      const [outcome] = await this.write(tx, scope, experimentId, dto, [dto]);
      if (outcome instanceof Problem) throw outcome;
      const { status, row } = outcome!;
      const stored = takesValues(outcome!, dto) ? await this.findStored(scope, row, tx) : row;
      return { status, result: versioned(stored!) };
    });
  }

  /** Creates results of one experiment in one transaction. Those that conflict with others are created alone. */
  private async createTogether(
    results: readonly SingleResult[],
  ): Promise<(CreatedResult | Promise<CreatedResult>)[]> {
    const { scope, experimentId, dto } = results[0]!;
    if (results.length === 1) return [await this.createAlone(results[0]!)];
    const dtos = results.map((one) => one.dto);
    const [outcomes, read] = await this.database.transaction(async (tx) => {
      const written = await this.write(tx, scope, experimentId, dto, dtos);
      const cases = written.flatMap((one, index) =>
        one instanceof Problem || !takesValues(one, dtos[index]!) ? [] : one.row.case_id,
      );
      return [
        written,
        await this.results.findByCases(tx, scope, experimentId, cases, SKIPPED_BYTES_MAX),
      ] as const;
    });
    return results.map((result, index) => {
      const outcome = outcomes[index]!;
      if (outcome instanceof Problem) return this.createAlone(result);
      const { status, row } = outcome;
      const stored = takesValues(outcome, result.dto) ? read.get(row.case_id) : row;
      if (stored) return { status, result: versioned(stored) };
      return this.findStored(scope, row).then((large) => ({ status, result: versioned(large!) }));
    });
  }

  private findStored(scope: Scope, row: StoredResult, on?: SqlExecutor): Promise<StoredResult | null> {
    return this.results.find(scope, row.experiment_id, row.result_id, on);
  }

  /**
   * Writes 1 to 100 results in one transaction. Each item succeeds or fails independently. Outcomes keep the order of the
   * items. If two items have the same `case_id`, the first wins and the second is 409.
   */
  async createBulk(scope: Scope, experimentId: string, dto: BulkResultsDto): Promise<BulkResultItemDto[]> {
    checkWorkspaceOfCreate(scope, dto.workspace_id);
    const items = await checkItems(dto.items, (item) => validateBody(ResultFieldsDto, item));
    const outcomes = await this.database.transaction((tx) => this.write(tx, scope, experimentId, dto, items));
    return outcomes.map((outcome, index) =>
      outcome instanceof Problem
        ? failedItem(index, toItemProblem(outcome, index))
        : {
            index,
            status_code: outcome.status,
            result: toBulkResultDto(outcome.row, items[index] as ResultFieldsDto),
          },
    );
  }

  /**
   * Adds scores to a result, and changes its tags and metadata. A patch that changes nothing writes nothing. Errors: 404;
   * 412 for a stale `If-Match`; 409 if the experiment is finalized or the patch names another version of the result; 422 for
   * another value of a member that only a replacement changes; 400 for more than 100 scores; those of `checkScorers`.
   */
  async patch(
    scope: Scope,
    experimentId: string,
    resultId: string,
    dto: PatchResultDto,
    ifMatch?: string,
  ): Promise<Versioned<ResultDto>> {
    return this.database.transaction(async (tx) => {
      const experiment = await this.locks.lockForUpload(tx, scope, experimentId, []);
      const row = experiment && (await this.results.lock(tx, scope, experimentId, resultId));
      if (!experiment || !row) throw problem.notFound('result', resultId);
      checkIfMatch(ifMatch, etagOf(row));
      checkRunning(experiment);
      checkVersion(row, dto.version);
      await this.checkFixed(scope, row, dto);
      checkScorers(await this.cases.scorerVersions(tx, scope, [dto]), dto.scores);
      const split = changedScores(row, splitScores(dto.scores));
      checkScoreCount(row, split);
      const patch = {
        ...split,
        tags: dto.tags === undefined ? row.tags : (dto.tags ?? []),
        metadata: patchMetadata(row.metadata, dto.metadata),
        at: new Date(),
      };
      if (isUnchanged(row, patch)) return versioned(row);
      const patched = await this.results.patch(tx, scope, row, patch);
      await this.scores.replace(tx, scope, experimentId, resultId, scoreRowsOf(row, split), patch.at);
      return versioned(patched);
    });
  }

  async get(scope: Scope, experimentId: string, resultId: string): Promise<Versioned<ResultDto>> {
    const row = await this.results.find(scope, experimentId, resultId);
    if (!row) throw problem.notFound('result', resultId);
    return versioned(row);
  }

  async list(scope: Scope, experimentId: string, query: ResultListQueryDto): Promise<Page<ResultDto>> {
    if (!(await this.experiments.exists(scope, experimentId))) {
      throw problem.notFound('experiment', experimentId);
    }
    const { rows, page } = await this.lists.list(scope, experimentId, query);
    return { items: rows.map(toResultDto), page };
  }

  /** Throws 422 for another value of a member that a PATCH cannot change, so that no client believes that it changed. */
  private async checkFixed(scope: Scope, row: ResultEntity, dto: PatchResultDto): Promise<void> {
    for (const member of FIXED_MEMBERS) {
      if (dto[member] === undefined) continue;
      const [newValue, storedValue] = [toRawJson(dto[member]), toRawJson(row[member])];
      if (newValue.text === storedValue.text) continue;
      const [one, other] = await this.threads.digests(scope, [newValue, storedValue]);
      if (one !== other) throw problem.immutableField(`/${member}`);
    }
  }

  /** Writes the valid results. Returns for each item its stored result, or its problem. */
  private async write(
    tx: Tx,
    scope: Scope,
    experimentId: string,
    options: Pick<CreateResultDto, 'on_conflict'>,
    items: (ResultFieldsDto | Problem)[],
  ): Promise<(Outcome | Problem)[]> {
    const valid = items.filter((item): item is ResultFieldsDto => !(item instanceof Problem));
    const experiment = await this.lock(tx, scope, experimentId, valid);
    checkValues(options);
    const onConflict = options.on_conflict ?? 'error';
    const references = await this.cases.prefetch(tx, scope, experiment, valid);
    const plan = planner(scope, experimentId, references);
    const planned = items.map((item, index) => (item instanceof Problem ? item : plan(item, index)));
    const results = planned.filter((one): one is PlannedResult => !(one instanceof Problem));
    if (results.length === 0) return planned as Problem[];
    const written = await this.store(tx, scope, experimentId, results, onConflict);
    const rest = results.flatMap(({ row }) => (written.has(row.case_id) ? [] : row.case_id));
    const outcomeOfRest = await this.readExisting(tx, scope, experimentId, rest, onConflict);
    return planned.map((one) =>
      one instanceof Problem ? one : (written.get(one.row.case_id) ?? outcomeOfRest(one.row.case_id)),
    );
  }

  /**
   * Stores results with their scores, and writes back the human scores of the traces and sessions that they reference.
   * Returns those written by `case_id`.
   */
  private async store(
    tx: Tx,
    scope: Scope,
    experimentId: string,
    results: PlannedResult[],
    onConflict: OnConflict,
  ): Promise<Map<string, Outcome>> {
    const rows = results.map(({ row }) => row);
    const replaces = onConflict === 'replace';
    if (replaces) {
      await this.results.lockCases(
        tx,
        scope,
        experimentId,
        rows.map((row) => row.case_id),
      );
    }
    const at = rows[0]!.created_at;
    const stored = await this.results.writeMany(tx, scope, experimentId, rows, { at, replaces });
    const planned = new Map(results.map((one) => [one.row.case_id, one]));
    const replaced = stored.flatMap(({ result_id, version }) => (version > 1 ? result_id : []));
    await this.scores.clear(tx, scope, experimentId, replaced, at);
    const scores = stored.flatMap(({ case_id, result_id, version }) => {
      const { row, split } = planned.get(case_id)!;
      return scoreRowsOf({ ...row, result_id, version }, split);
    });
    await this.scores.insert(tx, scope, experimentId, scores, at);
    const written = new Map<string, StoredResult>();
    const scored: StoredResult[] = [];
    for (const { is_scored, ...columns } of stored) {
      const row = { ...planned.get(columns.case_id)!.row, ...columns };
      written.set(row.result_id, row);
      if (is_scored) scored.push(row);
    }
    if (scored.length > 0) {
      for (const all of await this.writeBack.intoNewResults(tx, scope, experimentId, scored)) {
        written.set(all.result_id, { ...written.get(all.result_id)!, ...all });
      }
    }
    return new Map(
      [...written.values()].map((row) => [row.case_id, { status: row.version > 1 ? 200 : 201, row }]),
    );
  }

  /** Returns the outcome of each case that already has a result and was not replaced. */
  private async readExisting(
    tx: Tx,
    scope: Scope,
    experimentId: string,
    caseIds: string[],
    onConflict: OnConflict,
  ): Promise<(caseId: string) => Outcome | Problem> {
    if (onConflict !== 'skip') {
      const ids = await this.results.idsOfCases(tx, scope, experimentId, caseIds);
      return (caseId) => caseTaken(ids.get(caseId));
    }
    const rows = await this.results.findByCases(tx, scope, experimentId, caseIds, SKIPPED_BYTES_MAX);
    return (caseId) => {
      const row = rows.get(caseId);
      return row ? { status: 200, row } : skippedTooLarge();
    };
  }

  private async lock(
    tx: Tx,
    scope: Scope,
    experimentId: string,
    results: readonly ResultFieldsDto[],
  ): Promise<ExperimentState> {
    const experiment = await this.locks.lockForUpload(tx, scope, experimentId, results);
    if (!experiment) throw problem.notFound('experiment', experimentId);
    checkRunning(experiment);
    return experiment;
  }
}

const etagOf = ({ version, revision }: StoredResult): string => `${version}-${revision}`;

const versioned = (row: StoredResult): Versioned<ResultDto> => new Versioned(toResultDto(row), etagOf(row));

function checkVersion({ version }: ResultEntity, expected: number | undefined): void {
  if (expected === undefined || expected === version) return;
  throw problem.conflict(
    `The patch is for version ${expected} of the result, but its current version is ${version}. Score the current version.`,
  );
}

function checkScoreCount(row: ResultEntity, { scores }: SplitScores): void {
  const count = new Set([...Object.keys(row.scores), ...Object.keys(scores)]).size;
  if (count <= SCORES_MAX) return;
  const detail = `would give the result ${count} scores, but it can have at most ${SCORES_MAX}`;
  throw problem.invalidFields([{ pointer: '/scores', detail }]);
}

/**
 * Returns the scores that differ from those of a result. A number without details does not differ if the stored number is
 * equal, so that clients can send back a result that they read.
 */
function changedScores(row: ResultEntity, { scores, details }: SplitScores): SplitScores {
  const stored =
    Object.keys(scores).length > 0 ? (row.score_details.parseExactly() as SplitScores['details']) : {};
  const isChanged = (name: string): boolean =>
    !Object.hasOwn(row.scores, name) ||
    row.scores[name] !== scores[name] ||
    (Object.hasOwn(details, name) && toJsonText(details[name]) !== toJsonText(stored[name] ?? null));
  const changed = Object.keys(scores).filter(isChanged);
  const only = <Value>(from: Record<string, Value>): Record<string, Value> =>
    Object.fromEntries(changed.flatMap((name) => (Object.hasOwn(from, name) ? [[name, from[name]!]] : [])));
  return { scores: only(scores), details: only(details) };
}

/** Whether a patch would change nothing. */
const isUnchanged = (
  row: ResultEntity,
  { scores, tags, metadata }: SplitScores & Pick<ResultEntity, 'tags' | 'metadata'>,
): boolean =>
  Object.keys(scores).length === 0 &&
  metadata.text === row.metadata.text &&
  toJsonText(tags) === toJsonText(row.tags);
