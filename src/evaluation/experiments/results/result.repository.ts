import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, prepared, raw, sql, type Tx, Where } from '#platform/db';
import { toRawJson } from '#platform/json';
import { BY_CHANGE, listPage, type RowPage } from '#platform/paging';
import type { ResultListQueryDto } from './result.dto';
import type { ResultEntity } from './result.entity';

/** The columns whose values differ between rows. They travel as one JSON parameter, and `json` members stay as sent. */
const OWN_COLUMNS = `result_id, case_id, input, expected, metadata, tags, dataset_record_id, dataset_record_version,
  output, error, scores, score_details, trace_id, session_id, duration_ms, trial_group, trial_index`;
const COLUMNS = `${OWN_COLUMNS}, experiment_id, workspace_id, created_at, updated_at, created_by`;

/** A result that was written. */
export interface InsertedResult {
  result_id: string;
  /** Whether its trace or its session has human scores. */
  is_scored: boolean;
}

/** The ids of a result, and of the trace and session that it references. */
export type ResultKey = Pick<ResultEntity, 'experiment_id' | 'result_id' | 'trace_id' | 'session_id'>;

@Injectable()
export class ResultRepository {
  constructor(private readonly database: Database) {}

  /**
   * Appends results of one experiment. Returns those written. A row whose `case_id` the experiment has already is left
   * out. The caller's transaction holds the locks of `lockForUpload`, so that `is_scored` stays true.
   *
   * This is the hot path of the service: one statement for up to 100 rows. One JSON parameter was as fast for PostgreSQL
   * as `unnest` of arrays or a list of VALUES, and the cheapest to build. Rows go in by `case_id`, because two requests
   * that write the same cases in different orders would deadlock. `is_scored` reads a table of the scores, because a
   * statement of its own would cost a sixth of the throughput.
   */
  insertMany(
    tx: Tx,
    scope: Scope,
    experimentId: string,
    rows: ResultEntity[],
    at: Date,
  ): Promise<InsertedResult[]> {
    return tx.query<InsertedResult>(
      prepared(
        'result.insert-many',
        sql`INSERT INTO results (${raw(COLUMNS)})
          SELECT ${raw(OWN_COLUMNS)}, ${experimentId}, ${scope.workspaceId}, ${at}::timestamptz, ${at}::timestamptz,
                 ${scope.principalId}
          FROM json_to_recordset(${toRawJson(rows)}::json) AS t(
            result_id text, case_id text, input json, expected json, metadata json, tags text[],
            dataset_record_id text, dataset_record_version integer, output json, error json, scores jsonb,
            score_details json, trace_id text, session_id text, duration_ms double precision, trial_group text,
            trial_index integer)
          ORDER BY case_id COLLATE "C"
          ON CONFLICT (experiment_id, case_id) DO NOTHING
          RETURNING result_id, EXISTS (
            SELECT FROM human_scores s WHERE s.workspace_id = results.workspace_id
              AND s.target_id IN (results.trace_id, results.session_id)
              AND s.target_kind <> 'result' AND s.superseded_by_score_id IS NULL) AS is_scored`,
      ),
    );
  }

  /** Returns the ids of an experiment's results by their `case_id`. */
  async idsOfCases(
    tx: Tx,
    scope: Scope,
    experimentId: string,
    caseIds: readonly string[],
  ): Promise<Map<string, string>> {
    if (caseIds.length === 0) return new Map();
    const rows = await tx.query<Pick<ResultEntity, 'case_id' | 'result_id'>>(
      prepared(
        'result.ids-of-cases',
        sql`SELECT case_id, result_id FROM results
          WHERE experiment_id = ${experimentId} AND case_id = ANY (${caseIds}::text[])
            AND workspace_id = ${scope.workspaceId}`,
      ),
    );
    return new Map(rows.map((row) => [row.case_id, row.result_id]));
  }

  async find(scope: Scope, experimentId: string, resultId: string): Promise<ResultEntity | null> {
    const [row] = await this.database.query<ResultEntity>(
      prepared(
        'result.get',
        sql`SELECT ${raw(COLUMNS)} FROM results
          WHERE experiment_id = ${experimentId} AND result_id = ${resultId} AND workspace_id = ${scope.workspaceId}`,
      ),
    );
    return row ?? null;
  }

  /** Finds a result by its id alone. */
  async findKey(scope: Scope, resultId: string): Promise<ResultKey | null> {
    const [row] = await this.database.query<ResultKey>(
      prepared(
        'result.get-key',
        sql`SELECT experiment_id, result_id, trace_id, session_id FROM results
          WHERE result_id = ${resultId} AND workspace_id = ${scope.workspaceId}`,
      ),
    );
    return row ?? null;
  }

  list(scope: Scope, experimentId: string, query: ResultListQueryDto): Promise<RowPage<ResultEntity>> {
    const where = new Where(scope.key)
      .add(sql`experiment_id = ${experimentId}`)
      .addIf(query.case_id, (id) => sql`case_id = ${id}`)
      .addIf(query.dataset_record_id, (id) => sql`dataset_record_id = ${id}`)
      .addIf(query.session_id, (id) => sql`session_id = ${id}`);
    return listPage<ResultEntity>(
      this.database,
      { columns: COLUMNS, from: 'results', where, id: 'result_id', sorts: BY_CHANGE, bytes: 'bytes' },
      query,
    );
  }
}
