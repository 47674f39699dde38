import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, type Tx } from '#platform/db';
import { validateBody } from '#platform/http';
import { newId } from '#platform/ids';
import { RawJson, toRawJson, toRawJsonOrNull } from '#platform/json';
import type { Page } from '#platform/paging';
import { Problem, problem } from '#platform/problem';
import type { ExperimentState } from '../experiments/experiment.entity';
import { ExperimentRepository } from '../experiments/experiment.repository';
import { checkRunning } from '../experiments/experiment.service';
import {
  checkItem,
  checkItems,
  checkWorkspaceOfCreate,
  failedItem,
  repeatedItem,
  withinItems,
} from '../../../resources';
import { type CaseReferences, CaseRules, checkCase } from './case-rules';
import {
  type BulkResultItemDto,
  type BulkResultsDto,
  type CreateResultDto,
  type ResultDto,
  ResultFieldsDto,
  type ResultListQueryDto,
  toResultDto,
} from './result.dto';
import type { ResultEntity } from './result.entity';
import { ResultLockRepository } from './result-lock.repository';
import { ResultRepository } from './result.repository';
import { ScoreWriteBack } from './score-write-back';
import { splitScores } from './scores';

const caseTaken = (resultId: string | undefined): Problem =>
  problem.conflict(`The experiment already has a result for this case_id: ${resultId}.`);

/** Appends and reads the results of experiments. */
@Injectable()
export class ResultService {
  constructor(
    private readonly database: Database,
    private readonly experiments: ExperimentRepository,
    private readonly cases: CaseRules,
    private readonly results: ResultRepository,
    private readonly locks: ResultLockRepository,
    private readonly writeBack: ScoreWriteBack,
  ) {}

  /** Errors: 404 without the experiment, 409 when it is frozen or has the case, and those of `checkCase`. */
  async create(scope: Scope, experimentId: string, dto: CreateResultDto): Promise<ResultDto> {
    checkWorkspaceOfCreate(scope, dto.workspace_id);
    const written = await this.write(scope, experimentId, [dto]);
    const [outcome] = written;
    if (outcome instanceof Problem) throw outcome;
    return toResultDto(outcome!);
  }

  /**
   * Writes 1 to 100 results in one transaction. Each item succeeds or fails by itself, and the outcomes come in the
   * order sent. Of two items with one `case_id` the first wins, and the second is 409.
   */
  async createBulk(scope: Scope, experimentId: string, dto: BulkResultsDto): Promise<BulkResultItemDto[]> {
    checkWorkspaceOfCreate(scope, dto.workspace_id);
    const items = await checkItems(dto.items, (item) => validateBody(ResultFieldsDto, item));
    const outcomes = await this.write(scope, experimentId, items);
    return outcomes.map((outcome, index) =>
      outcome instanceof Problem
        ? failedItem(index, withinItems(outcome, index))
        : { index, status_code: 201, result: toResultDto(outcome) },
    );
  }

  async get(scope: Scope, experimentId: string, resultId: string): Promise<ResultDto> {
    const row = await this.results.find(scope, experimentId, resultId);
    if (!row) throw problem.notFound('result', resultId);
    return toResultDto(row);
  }

  async list(scope: Scope, experimentId: string, query: ResultListQueryDto): Promise<Page<ResultDto>> {
    if (!(await this.experiments.exists(scope, experimentId))) {
      throw problem.notFound('experiment', experimentId);
    }
    const { rows, page } = await this.results.list(scope, experimentId, query);
    return { items: rows.map(toResultDto), page };
  }

  /** Appends the valid results. Returns each as it was stored, or the problem that kept it out. */
  private async write(
    scope: Scope,
    experimentId: string,
    items: (ResultFieldsDto | Problem)[],
  ): Promise<(ResultEntity | Problem)[]> {
    return this.database.transaction(async (tx) => {
      const valid = items.filter((item): item is ResultFieldsDto => !(item instanceof Problem));
      const experiment = await this.lock(tx, scope, experimentId, valid);
      const references = await this.cases.prefetch(tx, scope, experiment, valid);
      const at = new Date();
      const planned = this.plan(scope, experimentId, items, references, at);
      const rows = planned.filter((one): one is ResultEntity => !(one instanceof Problem));
      if (rows.length === 0) return planned;
      const written = await this.append(tx, scope, experimentId, rows, at);
      const repeated = rows.flatMap((row) => (written.has(row.result_id) ? [] : row.case_id));
      const existing = await this.results.idsOfCases(tx, scope, experimentId, repeated);
      return planned.map((one) =>
        one instanceof Problem ? one : (written.get(one.result_id) ?? caseTaken(existing.get(one.case_id))),
      );
    });
  }

  /** Appends rows. Returns those written by id, with earlier human scores of the traces and sessions they reference. */
  private async append(
    tx: Tx,
    scope: Scope,
    experimentId: string,
    rows: ResultEntity[],
    at: Date,
  ): Promise<Map<string, ResultEntity>> {
    const planned = new Map(rows.map((row) => [row.result_id, row]));
    const inserted = await this.results.insertMany(tx, scope, experimentId, rows, at);
    const written = new Map(inserted.map(({ result_id }) => [result_id, planned.get(result_id)!]));
    const scored = inserted.flatMap(({ result_id, is_scored }) =>
      is_scored ? [planned.get(result_id)!] : [],
    );
    if (scored.length === 0) return written;
    for (const scores of await this.writeBack.intoNewResults(tx, scope, experimentId, scored)) {
      written.set(scores.result_id, { ...planned.get(scores.result_id)!, ...scores });
    }
    return written;
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

  private plan(
    scope: Scope,
    experimentId: string,
    items: (ResultFieldsDto | Problem)[],
    references: CaseReferences,
    at: Date,
  ): (ResultEntity | Problem)[] {
    const firstOf = new Map<string, number>();
    return items.map((item, index) => {
      if (item instanceof Problem) return item;
      const refused = checkItem(() => checkCase(references, item));
      if (refused instanceof Problem) return refused;
      const first = firstOf.get(item.case_id);
      if (first !== undefined) return repeatedItem(index, 'case_id', first);
      firstOf.set(item.case_id, index);
      return newRow(scope, experimentId, item, references, at);
    });
  }
}

function newRow(
  scope: Scope,
  experimentId: string,
  dto: ResultFieldsDto,
  references: CaseReferences,
  at: Date,
): ResultEntity {
  const { scores, details } = splitScores(dto.scores);
  return {
    result_id: newId('res'),
    experiment_id: experimentId,
    workspace_id: scope.workspaceId,
    case_id: dto.case_id,
    input: toRawJsonOrNull(dto.input),
    expected: toRawJsonOrNull(dto.expected),
    metadata: toRawJsonOrNull(dto.metadata) ?? EMPTY_OBJECT,
    tags: dto.tags ?? [],
    dataset_record_id: dto.dataset_record_id ?? null,
    dataset_record_version: dto.dataset_record_id
      ? (references.recordVersions.get(dto.dataset_record_id) ?? null)
      : null,
    output: toRawJsonOrNull(dto.output),
    error: toRawJsonOrNull(dto.error),
    scores,
    score_details: Object.keys(details).length > 0 ? toRawJson(details) : EMPTY_OBJECT,
    trace_id: dto.trace_id ?? null,
    session_id: dto.session_id ?? null,
    duration_ms: dto.duration_ms ?? null,
    trial_group: dto.trial_group ?? null,
    trial_index: dto.trial_index ?? null,
    created_at: at,
    updated_at: at,
    created_by: scope.principalId,
  };
}

const EMPTY_OBJECT = new RawJson('{}');
