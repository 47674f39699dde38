import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import {
  Database,
  empty,
  firstRow,
  prepared,
  raw,
  sql,
  type Sql,
  type SqlExecutor,
  type Tx,
} from '#platform/db';
import { type RawJson, toRawJson } from '#platform/json';
import { bytesOfScores, withCurrentScores, peopleScored } from '../../scores';
import type { ExperimentState } from '../experiments/experiment.entity';
import { CASE_VALUES } from './case-rules';
import { type Result, RESULT_COLUMNS, type ResultRow } from './result.entity';

const COLUMNS = Object.entries(RESULT_COLUMNS);
const namesFrom = (...sources: string[]): string[] =>
  COLUMNS.flatMap(([name, { from }]) => (sources.includes(from) ? name : []));

/** The columns of the table, for SELECT. */
export const RESULT_SELECT = COLUMNS.map(([name]) => name).join(', ');

/** The columns that differ between the rows of a request. They are sent as one JSON parameter, which keeps `json` verbatim. */
const CASE_COLUMNS = namesFrom('case');
const PARAMETER_COLUMNS = raw(
  `new_result(${COLUMNS.filter(([, { from }]) => from === 'case')
    .map(([name, { type }]) => `${name} ${type}`)
    .join(', ')}, takes_input boolean, takes_expected boolean, takes_tags boolean)`,
);
const SELECTED_VALUES = CASE_COLUMNS.map((column) =>
  (CASE_VALUES as readonly string[]).includes(column)
    ? `CASE WHEN new_result.takes_${column} THEN record.${column} ELSE new_result.${column} END`
    : `new_result.${column}`,
).join(', ');
const ASSIGNMENTS = [...CASE_COLUMNS, 'updated_at']
  .filter((column) => column !== 'result_id' && column !== 'case_id')
  .map((column) => `${column} = excluded.${column}`)
  .join(', ');

/** A result to write. */
export interface NewResultRow extends ResultRow {
  /** Whether the value is copied from the record's version. */
  takes_input: boolean;
  takes_expected: boolean;
  takes_tags: boolean;
}

/** A result that was written. */
export interface WrittenResult extends Pick<
  ResultRow,
  'result_id' | 'case_id' | 'version' | 'generation' | 'tags' | 'created_at' | 'created_by'
> {
  /** Whether its trace or its session has human scores. */
  is_scored: boolean;
}

/** The changes of a result itself. */
export interface ResultPatch {
  tags: string[];
  metadata: RawJson;
  at: Date;
}

@Injectable()
export class ResultRepository {
  constructor(private readonly database: Database) {}

  /**
   * Locks an experiment against being finalized, for a transaction that writes results. Any number of uploads hold this lock
   * at once. Finalizing takes the exclusive lock, so that no result slips in behind the summary. Returns null without the
   * experiment.
   */
  async lockExperiment(tx: Tx, scope: Scope, experimentId: string): Promise<ExperimentState | null> {
    return firstRow<ExperimentState>(
      tx,
      'result.lock-experiment',
      sql`SELECT experiment_id, experiment_status, archived_at, dataset_id, dataset_version, dataset_revision,
            dataset_filter, dataset_erased, trials
          FROM experiments WHERE experiment_id = ${experimentId} AND workspace_id = ${scope.workspaceId} FOR SHARE`,
    );
  }

  /**
   * Writes results of one experiment, and returns those written. If the experiment already has a result for a `case_id`,
   * that one is replaced, or the new one is skipped. The caller's transaction holds the lock of `lockExperiment`, and those
   * of `lockCases` before it replaces.
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
    const statement = sql`INSERT INTO results (${raw(CASE_COLUMNS.join(', '))}, experiment_id, workspace_id, created_at, updated_at,
                           created_by)
      SELECT ${raw(takesValues ? SELECTED_VALUES : CASE_COLUMNS.join(', '))}, ${experimentId}, ${scope.workspaceId},
             ${at}::timestamptz, ${at}::timestamptz, ${scope.principalId}
      FROM json_to_recordset(${toRawJson(rows)}::json) AS ${PARAMETER_COLUMNS} ${takesValues ? joinRecord(scope) : empty}
      ORDER BY new_result.case_id COLLATE "C"
      ON CONFLICT (experiment_id, case_id)
      ${
        replaces
          ? raw(`DO UPDATE SET ${ASSIGNMENTS}, version = results.version + 1, generation = results.generation + 1,
        erased = false`)
          : raw('DO NOTHING')
      }
      RETURNING result_id, case_id, version, generation, tags, created_at, created_by,
        ${peopleScored(
          raw(`ARRAY[results.workspace_id || ' trace ' || results.trace_id,
          results.workspace_id || ' session ' || results.session_id]`),
        )} AS is_scored`;
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
    const rows = await tx.query<Pick<ResultRow, 'case_id' | 'result_id'>>(
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
  ): Promise<Map<string, Result>> {
    if (caseIds.length === 0) return new Map();
    const rows = await tx.query<ResultRow>(
      sql`SELECT ${raw(RESULT_SELECT)} FROM (
          SELECT *, sum(size) OVER (ORDER BY result_id ROWS UNBOUNDED PRECEDING) - size AS bytes_before
          FROM (SELECT *, bytes + ${bytesOfScores(scope.workspaceId, 'results')} AS size
                FROM results WHERE ${hasCases(scope, experimentId, caseIds)}) sized) existing
        WHERE bytes_before < ${maxBytes}`,
    );
    const results = await withCurrentScores(tx, scope, rows);
    return new Map(results.map((row) => [row.case_id, row]));
  }

  async find(
    scope: Scope,
    experimentId: string,
    resultId: string,
    on: SqlExecutor = this.database,
  ): Promise<Result | null> {
    const rows = await on.query<ResultRow>(
      prepared(
        'result.get',
        sql`SELECT ${raw(RESULT_SELECT)} FROM results WHERE ${isResult(scope, experimentId, resultId)}`,
      ),
    );
    const [result] = await withCurrentScores(on, scope, rows);
    return result ?? null;
  }

  /** Reads a result, and locks it against all other writes. */
  async lock(tx: Tx, scope: Scope, experimentId: string, resultId: string): Promise<Result | null> {
    const locked = await tx.query(
      prepared(
        'result.lock',
        sql`SELECT FROM results WHERE ${isResult(scope, experimentId, resultId)} FOR UPDATE`,
      ),
    );
    return locked.length === 0 ? null : this.find(scope, experimentId, resultId, tx);
  }

  /** Deletes a locked result with its scores. */
  async delete(tx: Tx, scope: Scope, { experiment_id, result_id }: ResultRow): Promise<void> {
    await tx.query(
      sql`DELETE FROM scores WHERE workspace_id = ${scope.workspaceId} AND result_id = ${result_id}`,
    );
    await tx.query(sql`DELETE FROM results WHERE ${isResult(scope, experiment_id, result_id)}`);
  }

  /** Changes a locked result itself. */
  async patch(
    tx: Tx,
    scope: Scope,
    { experiment_id, result_id }: ResultRow,
    { tags, metadata, at }: ResultPatch,
  ): Promise<void> {
    await tx.query(
      sql`UPDATE results SET updated_at = ${at}, generation = generation + 1, tags = ${tags}::text[], metadata = ${metadata}
        WHERE ${isResult(scope, experiment_id, result_id)}`,
    );
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
