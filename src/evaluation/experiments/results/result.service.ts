import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Batcher, SMALL_WRITES } from '#platform/concurrency';
import { Database, type SqlExecutor, type Tx } from '#platform/db';
import {
  checkIfMatch,
  checkValues,
  patchMetadata,
  validateBody,
  valueErrors,
  Versioned,
  versionShowing,
} from '#platform/http';
import { sameJson, toJsonText, toRawJson, toRawJsonOrNull } from '#platform/json';
import { type Page, toPage } from '#platform/paging';
import { isDataError, Problem, problem, orNotFound } from '#platform/problem';
import type { ExperimentState } from '../experiments/experiment.entity';
import { ExperimentRepository } from '../experiments/experiment.repository';
import { checkRunning } from '../experiments/experiment.service';
import {
  detailOf,
  readScores,
  ScoreRepository,
  scoreRowsOf,
  SCORES_MAX,
  type SentScore,
  show,
} from '../../scores';
import {
  AuditLog,
  checkItem,
  checkWorkspaceOfCreate,
  type Deletion,
  failedItem,
  References,
  toItemProblem,
} from '../../../resources';
import { WorkspaceMasking } from '../../../registry';
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
import type { Result, ResultRow } from './result.entity';
import { ResultListRepository } from './result-list.repository';
import type { ResultListQueryDto } from './result-query.dto';
import { maskResults } from './result-masking';
import { type PlannedResult, planner } from './result-plan';
import { ResultRepository } from './result.repository';

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

const datasetDeleted = (): Problem =>
  problem.conflict(
    'The dataset of the experiment, or the CSV version that it pins, was deleted. Finalize the experiment.',
  );

/** A stored result, and the status of its item. */
interface Outcome {
  status: 200 | 201;
  row: Result;
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
  private readonly small = new Batcher<SingleResult, CreatedResult>({
    run: (results) => this.createTogether(results),
    max: SMALL_WRITES.max,
    isSequential: true,
    isWriting: true,
    isOfOneItem: isDataError,
  });

  constructor(
    private readonly database: Database,
    private readonly experiments: ExperimentRepository,
    private readonly cases: CaseRules,
    private readonly results: ResultRepository,
    private readonly scores: ScoreRepository,
    private readonly lists: ResultListRepository,
    private readonly references: References,
    private readonly audit: AuditLog,
    private readonly masking: WorkspaceMasking,
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
    await maskResults(await this.masking.start(scope), [dto]);
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

  private findStored(scope: Scope, row: ResultRow, on?: SqlExecutor): Promise<Result | null> {
    return this.results.find(scope, row.experiment_id, row.result_id, on);
  }

  /**
   * Writes 1 to 100 results in one transaction. Each item succeeds or fails independently. Outcomes keep the order of the
   * items. If two items have the same `case_id`, the first wins and the second is 409.
   */
  async createBulk(scope: Scope, experimentId: string, dto: BulkResultsDto): Promise<BulkResultItemDto[]> {
    checkWorkspaceOfCreate(scope, dto.workspace_id);
    const items = dto.items.map((item) => checkItem(() => validateBody(ResultFieldsDto, item)));
    const valid = items.flatMap((item) => (item instanceof Problem ? [] : item));
    await maskResults(await this.masking.start(scope), valid);
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
    await maskResults(await this.masking.start(scope), [dto]);
    return this.database.transaction(async (tx) => {
      const experiment = await this.results.lockExperiment(tx, scope, experimentId);
      const row = experiment && (await this.results.lock(tx, scope, experimentId, resultId));
      if (!experiment || !row) throw problem.notFound('result', resultId);
      checkIfMatch(ifMatch, row.generation);
      checkRunning(experiment);
      checkVersion(row, dto.version);
      checkFixed(row, dto);
      checkScorers(await this.cases.scorerVersions(tx, scope, [dto]), dto.scores);
      const scores = changedScores(row, readScores(dto.scores));
      const tags = dto.tags === undefined ? row.tags : (dto.tags ?? []);
      const metadata = patchMetadata(row.metadata, dto.metadata);
      const isChanged = metadata.text !== row.metadata.text || toJsonText(tags) !== toJsonText(row.tags);
      if (scores.length === 0 && !isChanged) return versioned(row);
      const at = new Date();
      if (isChanged) await this.results.patch(tx, scope, row, { tags, metadata, at });
      await this.scores.replaceUploaded(tx, scope, experimentId, resultId, scoreRowsOf(row, scores), at);
      return versioned((await this.findStored(scope, row, tx))!);
    });
  }

  /**
   * Deletes a result of a running experiment with its scores. Errors: 404; 412; 409 if the experiment is finalized, and if an
   * open run or queue uses the result, unless `force` is set.
   */
  delete(scope: Scope, experimentId: string, resultId: string, { force, ifMatch }: Deletion): Promise<void> {
    return this.database.transaction(async (tx) => {
      const experiment = await this.results.lockExperiment(tx, scope, experimentId);
      const row = experiment && (await this.results.lock(tx, scope, experimentId, resultId));
      if (!experiment || !row) throw problem.notFound('result', resultId);
      checkIfMatch(ifMatch, row.generation);
      checkRunning(experiment);
      if (!force) await this.references.checkUnused(tx, scope, 'result', resultId);
      await this.results.delete(tx, scope, row);
      const entry = { action: 'delete', type: 'result', id: resultId } as const;
      await this.audit.record(tx, scope, { ...entry, workspaceId: scope.workspaceId, changes: [] });
    });
  }

  async get(scope: Scope, experimentId: string, resultId: string): Promise<Versioned<ResultDto>> {
    return versioned(orNotFound(await this.results.find(scope, experimentId, resultId), 'result', resultId));
  }

  async list(scope: Scope, experimentId: string, query: ResultListQueryDto): Promise<Page<ResultDto>> {
    const [exists, list] = await Promise.allSettled([
      this.experiments.exists(scope, experimentId),
      this.lists.list(scope, experimentId, query),
    ]);
    if (exists.status === 'rejected') throw exists.reason;
    orNotFound(exists.value, 'experiment', experimentId);
    if (list.status === 'rejected') throw list.reason;
    return toPage(list.value, toResultDto);
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
    const experiment = await this.lock(tx, scope, experimentId);
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

  /** Stores results with their scores. Returns those written by `case_id`. */
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
    await this.scores.supersedeAll(tx, scope, replaced, at);
    const scored = stored.map(({ is_scored, ...columns }) => {
      const { row, scores } = planned.get(columns.case_id)!;
      const written = { ...row, ...columns };
      return { row: written, scores: scoreRowsOf(written, scores), isScored: is_scored };
    });
    const uploaded = scored.flatMap(({ scores }) => scores);
    const scorers = await this.scores.insertUploaded(tx, scope, experimentId, uploaded, at);
    // people may have scored the trace or the session of a result before
    const scoredBefore = scored.flatMap(({ row, isScored }) => (isScored ? row.case_id : []));
    const read = await this.results.findByCases(tx, scope, experimentId, scoredBefore, SKIPPED_BYTES_MAX);
    return new Map(
      scored.map(({ row, scores }) => {
        const own = scores.map((one) => ({
          ...one,
          scorer_id: one.scorer_id ?? scorers.get(one.score_id) ?? null,
        }));
        const result = { ...row, ...show(own), ...read.get(row.case_id) };
        return [row.case_id, { status: row.version > 1 ? 200 : 201, row: result }];
      }),
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

  private async lock(tx: Tx, scope: Scope, experimentId: string): Promise<ExperimentState> {
    const experiment = orNotFound(
      await this.results.lockExperiment(tx, scope, experimentId),
      'experiment',
      experimentId,
    );
    checkRunning(experiment);
    if (experiment.dataset_erased) throw datasetDeleted();
    return experiment;
  }
}

const versioned = (row: Result): Versioned<ResultDto> =>
  new Versioned(toResultDto(row), versionShowing(row.generation, [row.scores, row.score_details]));

function checkVersion({ version }: ResultRow, expected: number | undefined): void {
  if (expected === undefined || expected === version) return;
  throw problem.conflict(
    `The patch is for version ${expected} of the result, but its current version is ${version}. Score the current version.`,
  );
}

/**
 * Returns the scores that differ from those of a result. A number without details does not differ if the stored number is
 * equal, so that clients can send back a result that they read. Errors: 400 if the result would have more than 100 scores.
 */
function changedScores(row: Result, sent: readonly SentScore[]): SentScore[] {
  if (sent.length === 0) return [];
  const scores = row.scores.parse() as Record<string, number | null>;
  const count = new Set([...Object.keys(scores), ...sent.map(({ scorer_name }) => scorer_name)]).size;
  if (count > SCORES_MAX) {
    const detail = `would give the result ${count} scores, but it can have at most ${SCORES_MAX}`;
    throw problem.invalidField('/scores', detail);
  }
  const details = row.score_details.parseExactly() as Record<string, unknown>;
  return sent.filter((one) => {
    const name = one.scorer_name;
    if (!Object.hasOwn(scores, name) || scores[name] !== one.score) return true;
    const detail = detailOf(one);
    return Object.keys(detail).length > 0 && toJsonText(detail) !== toJsonText(details[name] ?? null);
  });
}

/** Throws 422 for another value of a member that a PATCH cannot change, so that no client believes that it changed. */
function checkFixed(row: ResultRow, dto: PatchResultDto): void {
  for (const member of FIXED_MEMBERS) {
    if (dto[member] === undefined) continue;
    if (!sameJson(toRawJson(dto[member]), toRawJson(row[member]))) throw problem.immutableField(`/${member}`);
  }
}
