import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, type Tx, Where } from '#platform/db';
import { toJsonText } from '#platform/json';
import { BY_CHANGE, listPage, type RowPage } from '#platform/paging';
import { isScored } from '../scores/upload-landing.repository';
import type { ResultListQueryDto } from './result.dto';
import type { ResultEntity } from './result.entity';

const COLUMNS = `result_id, experiment_id, workspace_id, case_id, input, expected, metadata, tags, dataset_record_id,
  dataset_record_version, output, error, scores, score_details, trace_id, session_id, duration_ms, trial_group,
  trial_index, created_at, updated_at, created_by`;

/** The columns that differ from row to row, as they are read from one JSON parameter; `json` ones stay as sent. */
const OWN_COLUMNS = `result_id, case_id, input, expected, metadata, tags, dataset_record_id, dataset_record_version,
  output, error, scores, score_details, trace_id, session_id, duration_ms, trial_group, trial_index`;

/**
 * The hot path of the service: one statement for up to 100 rows. Measured against `unnest` of arrays and a list of
 * VALUES, one JSON parameter was as fast for PostgreSQL and the cheapest to build. Rows go in by `case_id`: two requests
 * that wrote the same cases in different orders would each wait for the other.
 */
export const INSERT_RESULTS = {
  name: 'result.insert-many',
  text: `INSERT INTO results (${OWN_COLUMNS}, experiment_id, workspace_id, created_at, updated_at, created_by)
    SELECT ${OWN_COLUMNS}, $2, $3, $4, $4, $5
    FROM json_to_recordset($1::json) AS t(
      result_id text, case_id text, input json, expected json, metadata json, tags text[], dataset_record_id text,
      dataset_record_version integer, output json, error json, scores jsonb, score_details json, trace_id text,
      session_id text, duration_ms double precision, trial_group text, trial_index integer)
    ORDER BY case_id COLLATE "C"
    ON CONFLICT (experiment_id, case_id) DO NOTHING
    RETURNING result_id, ${isScored('results')} AS is_scored`,
};

const GET = {
  name: 'result.get',
  text: `SELECT ${COLUMNS} FROM results WHERE experiment_id = $1 AND result_id = $2 AND workspace_id = $3`,
};

/** A result that was written. */
export interface InsertedResult {
  result_id: string;
  /** People have scored the trace or the session that it names. */
  is_scored: boolean;
}

@Injectable()
export class ResultRepository {
  constructor(private readonly database: Database) {}

  /**
   * Appends results of one experiment, which the caller's transaction has locked with what they name. @returns those
   * written: a row whose `case_id` the experiment has already is left out.
   */
  insertMany(
    tx: Tx,
    scope: Scope,
    experimentId: string,
    rows: ResultEntity[],
    at: Date,
  ): Promise<InsertedResult[]> {
    return tx.query<InsertedResult>(INSERT_RESULTS, [
      toJsonText(rows),
      experimentId,
      scope.workspaceId,
      at,
      scope.principalId,
    ]);
  }

  async find(scope: Scope, experimentId: string, resultId: string): Promise<ResultEntity | null> {
    const [row] = await this.database.query<ResultEntity>(GET, [experimentId, resultId, scope.workspaceId]);
    return row ?? null;
  }

  list(scope: Scope, experimentId: string, query: ResultListQueryDto): Promise<RowPage<ResultEntity>> {
    const where = new Where(scope.key)
      .add('experiment_id = ?', experimentId)
      .addIf(query.case_id, 'case_id = ?')
      .addIf(query.dataset_record_id, 'dataset_record_id = ?')
      .addIf(query.session_id, 'session_id = ?');
    return listPage<ResultEntity>(
      this.database,
      { columns: COLUMNS, from: 'results', where, id: 'result_id', sorts: BY_CHANGE, bytes: 'bytes' },
      query,
    );
  }
}
