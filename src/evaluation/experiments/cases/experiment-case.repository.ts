import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Environment } from '#platform/config';
import { Database, firstRow, followIndexes, join, raw, readWithin, sql, type Sql, Where } from '#platform/db';
import { firstIdAt } from '#platform/ids';
import { listPage, type RowPage } from '#platform/paging';
import { type CaseFilter, conditionsOf, recordsAsOf } from '../../datasets';
import type { ExperimentEntity } from '../experiments/experiment.entity';
import {
  CASE_RESULTS_MAX,
  type ExperimentCaseListQueryDto,
  type CaseRow,
  type CaseState,
} from './experiment-case.dto';

/** The columns of an experiment that decide what its cases are. */
export type PinnedExperiment = Pick<
  ExperimentEntity,
  | 'experiment_id'
  | 'dataset_id'
  | 'dataset_version'
  | 'dataset_revision'
  | 'dataset_filter'
  | 'dataset_erased'
  | 'records_erased'
  | 'expected_case_count'
  | 'trials'
  | 'created_at'
>;

/** An experiment over records. */
export type RecordBackedExperiment = PinnedExperiment & { dataset_id: string; dataset_revision: number };

/** The result of a case of a CSV version. */
export interface CaseResult {
  result_id: string;
  has_error: boolean;
}

/** The clocks of processes differ by less. */
const CLOCK_MARGIN_MS = 24 * 60 * 60 * 1000;

const COLUMNS = raw(`coalesce(t.external_id, t.dataset_record_id) AS case_id, t.dataset_record_id,
  t.version AS dataset_record_version, t.input, t.expected, t.metadata, t.tags`);

/** Reads the cases that an experiment pins, with their results. */
@Injectable()
export class ExperimentCaseRepository {
  constructor(
    private readonly database: Database,
    private readonly environment: Environment,
  ) {}

  async findExperiment({ workspaceId }: Scope, experimentId: string): Promise<PinnedExperiment | null> {
    return firstRow<PinnedExperiment>(
      this.database,
      'experiment-case.experiment',
      sql`SELECT experiment_id, dataset_id, dataset_version, dataset_revision, dataset_filter, dataset_erased,
            records_erased, expected_case_count, trials, created_at
          FROM experiments WHERE experiment_id = ${experimentId} AND workspace_id = ${workspaceId}`,
    );
  }

  /**
   * Returns a page of the records that back an experiment, in their versions of its snapshot. A filter and a state are
   * checked on a bounded number of records, see `listPage`.
   */
  async listRecords(
    scope: Scope,
    experiment: RecordBackedExperiment,
    filter: CaseFilter | null,
    { state, ...query }: ExperimentCaseListQueryDto,
  ): Promise<RowPage<CaseRow>> {
    const { dataset_id, dataset_revision, expected_case_count, records_erased, trials } = experiment;
    const { recordIds, ...conditions } = filter ?? {};
    const results = resultsOf(scope, experiment);
    const stateOf = sql`(SELECT CASE WHEN count(*) < ${trials} THEN 'pending' WHEN bool_or(has_error) THEN 'failed' ELSE 'done' END
      FROM (${results}) result)`;
    // the ids of records sort by creation: later ones need not be read
    const end = firstIdAt('rec', experiment.created_at.getTime() + CLOCK_MARGIN_MS);
    const isKnown = state === undefined && !records_erased;
    const list = {
      columns: sql`${COLUMNS}, ${stateOf} AS state, ARRAY(SELECT result_id FROM (${results}) result) AS result_ids,
        ARRAY(SELECT case_id FROM (${results}) result) AS ids_of_results,
        ARRAY(SELECT case_id FROM (${results}) result WHERE has_error) AS ids_of_failed`,
      from: sql`(${recordsAsOf(scope, dataset_id, dataset_revision, recordIds && recordsOf(recordIds))}) t`,
      where: new Where(scope.key).add(sql`dataset_id = ${dataset_id}`).add(sql`dataset_record_id < ${end}`),
      id: 'dataset_record_id',
      defaultSort: 'created_at',
      bytes: 't.bytes',
      ...(isKnown && { count: () => Promise.resolve(expected_case_count) }),
    };
    const selected = conditionsOf(conditions, 't', 't');
    if (selected.length === 0 && state === undefined) {
      return withTrials(await listPage<RecordCase>(this.database, list, query), trials);
    }
    const scan = {
      ...(selected.length > 0 && { condition: join(selected, ' AND ') }),
      ...(state !== undefined && { lookup: sql`${stateOf} = ${state}`, cost: raw(String(trials)) }),
    };
    const deadline = performance.now() + this.environment.REQUEST_TIMEOUT_MS;
    return readWithin(this.database, deadline, async (on) => {
      await followIndexes(on);
      return withTrials(await listPage<RecordCase>(on, { ...list, scan }, query), trials);
    });
  }

  /** Returns the results of cases of a CSV version. Each has at most one. */
  async resultsOfCases(
    { workspaceId }: Scope,
    experimentId: string,
    caseIds: readonly string[],
  ): Promise<Map<string, CaseResult>> {
    const rows = await this.database.query<CaseResult & { case_id: string }>(
      sql`SELECT case_id, result_id, error IS NOT NULL AS has_error FROM results
        WHERE experiment_id = ${experimentId} AND case_id = ANY (${caseIds}::text[]) AND workspace_id = ${workspaceId}`,
    );
    return new Map(rows.map((row) => [row.case_id, row]));
  }

  /** Returns the number of cases of a CSV version that have a result, by state. All results are of its cases. */
  async countResults(
    { workspaceId }: Scope,
    experimentId: string,
  ): Promise<Record<Exclude<CaseState, 'pending'>, number>> {
    const count = (condition: Sql): Sql =>
      sql`(SELECT count(*) FROM results WHERE experiment_id = ${experimentId} AND workspace_id = ${workspaceId} ${condition})`;
    const [row] = await this.database.query<{ all: number; failed: number }>(
      sql`SELECT ${count(sql``)} AS all, ${count(sql`AND error IS NOT NULL`)} AS failed`,
    );
    return { failed: row!.failed, done: row!.all - row!.failed };
  }
}

type RecordCase = Omit<CaseRow, 'missing_trials' | 'failed_trials'> & {
  ids_of_results: string[];
  ids_of_failed: string[];
};

/** Replaces the case ids of results by the numbers of their trials. */
const withTrials = ({ rows, page }: RowPage<RecordCase>, trials: number): RowPage<CaseRow> => ({
  rows: rows.map(({ ids_of_results, ids_of_failed, ...row }) => {
    const among = (ids: readonly string[]): number[] => {
      if (trials === 1) return ids.length > 0 ? [1] : [];
      const known = new Set(ids);
      return Array.from({ length: trials }, (_, index) => index + 1).filter((trial) =>
        known.has(`${row.case_id}#${trial}`),
      );
    };
    const present = new Set(among(ids_of_results));
    const missing = Array.from({ length: trials }, (_, index) => index + 1).filter(
      (trial) => !present.has(trial),
    );
    return { ...row, missing_trials: missing, failed_trials: among(ids_of_failed) };
  }),
  page,
});

/** Selects the first results of the record `t`. */
const resultsOf = ({ workspaceId }: Scope, { experiment_id }: PinnedExperiment): Sql =>
  sql`SELECT result_id, case_id, error IS NOT NULL AS has_error FROM results
    WHERE experiment_id = ${experiment_id} AND dataset_record_id = t.dataset_record_id AND workspace_id = ${workspaceId}
    ORDER BY result_id LIMIT ${raw(String(CASE_RESULTS_MAX))}`;

/** Selects records by their ids. OFFSET 0 forces a lookup of each, even in a dataset that is not in the statistics yet. */
const recordsOf = (ids: readonly string[]): Sql =>
  sql`unnest(${ids}::text[]) AS ids(id) CROSS JOIN LATERAL (SELECT * FROM records WHERE dataset_record_id = ids.id OFFSET 0) r`;
