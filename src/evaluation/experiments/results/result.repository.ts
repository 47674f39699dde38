import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, empty, prepared, raw, type Sql, sql, type SqlExecutor, type Tx } from '#platform/db';
import { type RawJson, toRawJson } from '#platform/json';
import { CASE_VALUES } from './case-rules';
import type { ResultEntity } from './result.entity';
import type { SplitScores } from './scores';

/** The columns whose values differ between rows. They are sent as one JSON parameter, which keeps `json` members verbatim. */
const OWN_COLUMNS = [
  'result_id', 'case_id', 'input', 'expected', 'metadata', 'tags', 'dataset_record_id', 'dataset_record_version',
  'output', 'error', 'scores', 'score_details', 'trace_id', 'session_id', 'duration_ms', 'trial_group', 'trial_index',
  'is_expected',
] as const; // oxfmt-ignore
const INSERTED_COLUMNS = `${OWN_COLUMNS.join(', ')}, experiment_id, workspace_id, created_at, updated_at, created_by`;
const REVISION = raw('results.xmin::text AS revision');
export const RESULT_COLUMNS = `${INSERTED_COLUMNS}, version`;

/** The columns of the JSON parameter: `OWN_COLUMNS`, and which values to take from the record. */
const PARAMETER_COLUMNS = raw(`new_result(
  result_id text, case_id text, input json, expected json, metadata json, tags text[], dataset_record_id text,
  dataset_record_version integer, output json, error json, scores jsonb, score_details json, trace_id text,
  session_id text, duration_ms double precision, trial_group text, trial_index integer, is_expected boolean,
  takes_input boolean, takes_expected boolean, takes_tags boolean)`);
const SELECTED_VALUES = OWN_COLUMNS.map((column) =>
  (CASE_VALUES as readonly string[]).includes(column)
    ? `CASE WHEN new_result.takes_${column} THEN record.${column} ELSE new_result.${column} END`
    : `new_result.${column}`,
).join(', ');
const ASSIGNMENTS = [
  ...OWN_COLUMNS.filter((column) => column !== 'result_id' && column !== 'case_id'),
  'updated_at',
]
  .map((column) => `${column} = excluded.${column}`)
  .join(', ');

/** A result to write. */
export interface NewResultRow extends ResultEntity {
  /** Whether the value is copied from the record's version. */
  takes_input: boolean;
  takes_expected: boolean;
  takes_tags: boolean;
}

/** A result as it is stored. */
export interface StoredResult extends ResultEntity {
  /** The transaction that last changed the row, for its ETag. */
  revision: string;
}

/** A result that was written. */
export interface WrittenResult extends Pick<
  StoredResult,
  'result_id' | 'case_id' | 'version' | 'revision' | 'tags' | 'created_at' | 'created_by'
> {
  /** Whether its trace or its session has human scores. */
  is_scored: boolean;
}

/** The ids of a result, its version, and the trace and session that it references. */
export type ResultKey = Pick<
  ResultEntity,
  'experiment_id' | 'result_id' | 'version' | 'trace_id' | 'session_id'
>;

/** The ids of a result. */
export type ResultId = Pick<ResultKey, 'experiment_id' | 'result_id'>;

/** The changes of a result. */
export interface ResultPatch extends SplitScores {
  tags: string[];
  metadata: RawJson;
  at: Date;
}

@Injectable()
export class ResultRepository {
  constructor(private readonly database: Database) {}

  /**
   * Writes results of one experiment, and returns those written. If the experiment already has a result for a `case_id`,
   * that one is replaced, or the new one is skipped. The caller's transaction holds the locks of `lockForUpload`, so that
   * `is_scored` stays correct, and those of `lockCases` before it replaces.
   *
   * This is the hot path of the service: one statement for up to 100 rows. One JSON parameter was as fast for PostgreSQL
   * as `unnest` of arrays or a list of VALUES, and the cheapest to build. Rows are sorted by `case_id`, because two requests
   * that write the same cases in different orders would deadlock. `is_scored` reads a table of the scores, because a
   * separate statement would cost a sixth of the throughput.
   */
  writeMany(
    tx: Tx,
    scope: Scope,
    experimentId: string,
    rows: NewResultRow[],
    { at, replaces }: { at: Date; replaces: boolean },
  ): Promise<WrittenResult[]> {
    const takesValues = rows.some((row) => row.takes_input || row.takes_expected || row.takes_tags);
    const statement = sql`INSERT INTO results (${raw(INSERTED_COLUMNS)})
      SELECT ${raw(takesValues ? SELECTED_VALUES : OWN_COLUMNS.join(', '))}, ${experimentId}, ${scope.workspaceId},
             ${at}::timestamptz, ${at}::timestamptz, ${scope.principalId}
      FROM json_to_recordset(${toRawJson(rows)}::json) AS ${PARAMETER_COLUMNS} ${takesValues ? joinRecord(scope) : empty}
      ORDER BY new_result.case_id COLLATE "C"
      ON CONFLICT (experiment_id, case_id)
      ${replaces ? raw(`DO UPDATE SET ${ASSIGNMENTS}, version = results.version + 1`) : raw('DO NOTHING')}
      RETURNING result_id, case_id, version, ${REVISION}, tags, created_at, created_by, EXISTS (
        SELECT FROM scores s WHERE s.workspace_id = results.workspace_id
          AND s.target_id IN (results.trace_id, results.session_id) AND s.target_kind <> 'result'
          AND s.source = 'human' AND s.superseded_at IS NULL) AS is_scored`;
    // A plan for the join that was cached while the table was small would later scan the large table.
    return tx.query<WrittenResult>(
      takesValues ? statement : prepared(replaces ? 'result.replace-many' : 'result.insert-many', statement),
    );
  }

  /**
   * Locks the results that the experiment has for these cases, before they are replaced. Like all other code, locks them in
   * the order of their ids, so that two requests cannot deadlock.
   */
  async lockCases(tx: Tx, scope: Scope, experimentId: string, caseIds: readonly string[]): Promise<void> {
    await tx.query(
      sql`SELECT FROM results WHERE ${hasCases(scope, experimentId, caseIds)} ORDER BY result_id FOR UPDATE`,
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
        sql`SELECT case_id, result_id FROM results WHERE ${hasCases(scope, experimentId, caseIds)}`,
      ),
    );
    return new Map(rows.map((row) => [row.case_id, row.result_id]));
  }

  /** Returns an experiment's results by their `case_id`, up to the one that reaches `maxBytes`. */
  async findByCases(
    tx: Tx,
    scope: Scope,
    experimentId: string,
    caseIds: readonly string[],
    maxBytes: number,
  ): Promise<Map<string, StoredResult>> {
    if (caseIds.length === 0) return new Map();
    const rows = await tx.query<StoredResult>(
      sql`SELECT ${raw(RESULT_COLUMNS)}, revision FROM (
          SELECT *, ${REVISION}, sum(bytes) OVER (ORDER BY result_id ROWS UNBOUNDED PRECEDING) - bytes AS bytes_before
          FROM results WHERE ${hasCases(scope, experimentId, caseIds)}) existing
        WHERE bytes_before < ${maxBytes}`,
    );
    return new Map(rows.map((row) => [row.case_id, row]));
  }

  async find(
    scope: Scope,
    experimentId: string,
    resultId: string,
    on: SqlExecutor = this.database,
  ): Promise<StoredResult | null> {
    const [row] = await on.query<StoredResult>(
      prepared(
        'result.get',
        sql`SELECT ${raw(RESULT_COLUMNS)}, ${REVISION} FROM results WHERE ${isResult(scope, experimentId, resultId)}`,
      ),
    );
    return row ?? null;
  }

  /** Reads a result and locks it against all other writes. */
  async lock(tx: Tx, scope: Scope, experimentId: string, resultId: string): Promise<StoredResult | null> {
    const [row] = await tx.query<StoredResult>(
      sql`SELECT ${raw(RESULT_COLUMNS)}, ${REVISION} FROM results WHERE ${isResult(scope, experimentId, resultId)} FOR UPDATE`,
    );
    return row ?? null;
  }

  /** Changes a locked result. Adds scores and details, or replaces those with the same name. */
  async patch(
    tx: Tx,
    scope: Scope,
    { experiment_id, result_id }: ResultId,
    patch: ResultPatch,
  ): Promise<StoredResult> {
    const names = Object.keys(patch.scores);
    const [row] = await tx.query<StoredResult>(
      sql`UPDATE results SET updated_at = ${patch.at}, tags = ${patch.tags}::text[], metadata = ${patch.metadata},
          scores = scores || ${toRawJson(patch.scores)}::jsonb,
          score_details = (
            SELECT coalesce(json_object_agg(key, value), '{}') FROM (
              SELECT key, value FROM json_each(score_details) WHERE key <> ALL (${names}::text[])
              UNION ALL SELECT key, value FROM json_each(${toRawJson(patch.details)}::json)) merged)
        WHERE ${isResult(scope, experiment_id, result_id)}
        RETURNING ${raw(RESULT_COLUMNS)}, ${REVISION}`,
    );
    return row!;
  }

  /** Finds a result by its id alone. */
  async findKey(scope: Scope, resultId: string): Promise<(ResultKey & Pick<ResultEntity, 'case_id'>) | null> {
    const [row] = await this.database.query<ResultKey & Pick<ResultEntity, 'case_id'>>(
      prepared(
        'result.get-key',
        sql`SELECT experiment_id, result_id, version, trace_id, session_id, case_id FROM results
          WHERE result_id = ${resultId} AND workspace_id = ${scope.workspaceId}`,
      ),
    );
    return row ?? null;
  }
}

const isResult = ({ workspaceId }: Scope, experimentId: string, resultId: string): Sql =>
  sql`experiment_id = ${experimentId} AND result_id = ${resultId} AND workspace_id = ${workspaceId}`;

const hasCases = ({ workspaceId }: Scope, experimentId: string, caseIds: readonly string[]): Sql =>
  sql`experiment_id = ${experimentId} AND case_id = ANY (${caseIds}::text[]) AND workspace_id = ${workspaceId}`;

/** Looks up the version of each record, so that its values are copied within the database. */
const joinRecord = ({ workspaceId }: Scope): Sql =>
  sql`LEFT JOIN LATERAL (
    SELECT input, expected, tags FROM record_versions
    WHERE dataset_record_id = new_result.dataset_record_id AND version = new_result.dataset_record_version
      AND workspace_id = ${workspaceId} AND (new_result.takes_input OR new_result.takes_expected OR new_result.takes_tags)
    OFFSET 0) record ON true`;
