import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, prepared, raw, sql, type Sql, type SqlExecutor, type Tx } from '#platform/db';
import { type RawJson, toJsonText } from '#platform/json';
import { type ScannedRange, type ScoringTarget, targetIdOf, type VersionAtGrain } from './target.entity';

/** The columns of a target, in the tables of runs and of batches. */
export const TARGET_COLUMNS = raw(
  'ordinal, trace_id, session_id, result_experiment_id, result_id, result_version, case_id',
);

/** Returns targets as rows with `TARGET_COLUMNS`, for a FROM clause. */
export const targetRows = (targets: readonly ScoringTarget[]): Sql =>
  sql`json_to_recordset(${toJsonText(targets)}::json) AS t(ordinal integer, trace_id text, session_id text,
        result_experiment_id text, result_id text, result_version integer, case_id text)`;

/** Maximum number of scanned ranges that are read. Sequential selections merge into one range. */
const SCANNED_RANGES_MAX = 10;

/** The content of a result. */
export interface ResultContent {
  experiment_id: string;
  result_id: string;
  session_id: string | null;
  /** Whether its content was erased. */
  erased: boolean;
  input: RawJson | null;
  output: RawJson | null;
  expected: RawJson | null;
  metadata: RawJson | null;
  /** Size of these four members in bytes of JSON. If they were not read, the four are null. */
  size: number;
}

/** Reads what selections and scorers need about targets: earlier outcomes of a scorer version, and the content of results. */
@Injectable()
export class TargetRepository {
  constructor(private readonly database: Database) {}

  /**
   * Looks up the targets that a scorer version has scored or failed to score, or that are in one of its open runs or batches.
   * Returns true for targets with a score or in an open run or batch, and false for targets that only failed, or that another
   * judge has scored than the one of the scorer version's newest score.
   *
   * Looks up each target by its key (LATERAL, OFFSET 0), however many there are. `(SELECT …)` makes the planner use averages:
   * without statistics on a workspace and scorer, it would expect no rows and might read all scores. The statement is not
   * prepared, because a plan made while the tables were small would read all targets.
   */
  async findEarlier(
    scope: Scope,
    { scorer_id, scorer_version, grain }: VersionAtGrain,
    targetIds: readonly string[],
    on: SqlExecutor = this.database,
  ): Promise<ReadonlyMap<string, boolean>> {
    const { workspaceId } = scope;
    const rows = await on.query<{ target_id: string; is_taken: boolean }>(
      sql`WITH newest_judged AS (
            SELECT judge_digest FROM scores
            WHERE workspace_id = (SELECT ${workspaceId}) AND scorer_id = ${scorer_id} AND scorer_version = ${scorer_version}
              AND judge_digest IS NOT NULL
            ORDER BY score_id DESC LIMIT 1
          )
          SELECT target_id, bool_or(is_taken) AS is_taken FROM (
            SELECT o.target_id, o.error IS NULL AND NOT EXISTS (
                SELECT FROM scores s WHERE s.workspace_id = ${workspaceId} AND s.score_id = o.score_id
                  AND (s.superseded_at IS NOT NULL OR s.judge_digest <> (SELECT judge_digest FROM newest_judged)) OFFSET 0) AS is_taken
            FROM unnest(${targetIds}::text[]) AS ids(id) CROSS JOIN LATERAL (
              SELECT target_id, error, score_id FROM target_outcomes
              WHERE workspace_id = (SELECT ${workspaceId}) AND scorer_id = (SELECT ${scorer_id})
                AND scorer_version = ${scorer_version} AND grain = ${grain} AND target_id = ids.id OFFSET 0
            ) o
            UNION ALL
            SELECT t.target_id, true FROM score_runs r CROSS JOIN LATERAL (
              SELECT target_id, ordinal FROM score_targets
              WHERE score_run_id = r.score_run_id AND target_id = ANY(${targetIds}::text[]) OFFSET 0
            ) t
            WHERE r.workspace_id = ${workspaceId} AND r.scorer_id = ${scorer_id}
              AND r.scorer_version = ${scorer_version} AND r.grain = ${grain}
              AND r.run_status IN ('queued', 'running')
              AND NOT EXISTS (
                SELECT 1 FROM target_outcomes o WHERE o.score_run_id = r.score_run_id AND o.ordinal = t.ordinal)
            UNION ALL
            SELECT w.target_id, true FROM unnest(${targetIds}::text[]) AS ids(id) CROSS JOIN LATERAL (
              SELECT t.target_id FROM score_batch_targets t JOIN score_batches b USING (score_batch_id)
              WHERE t.target_id = ids.id AND b.workspace_id = ${workspaceId} AND b.scorer_id = ${scorer_id}
                AND b.scorer_version = ${scorer_version} AND b.grain = ${grain}
                AND b.batch_status IN ('queued', 'running') OFFSET 0
            ) w
          ) targets GROUP BY target_id`,
    );
    return new Map(rows.map(({ target_id, is_taken }) => [target_id, is_taken]));
  }

  /**
   * Returns the newest ranges of an experiment's results that were scanned to select targets for this scorer version. After
   * such a selection, no result in the range was left untried. Results may have been replaced since, or have become visible
   * late.
   */
  scannedRanges(
    scope: Scope,
    { scorer_id, scorer_version, grain }: VersionAtGrain,
    experimentId: string,
  ): Promise<ScannedRange[]> {
    return this.database.query<ScannedRange>(
      sql`SELECT scanned_from AS "from", scanned_to AS "to" FROM score_runs
        WHERE workspace_id = (SELECT ${scope.workspaceId}::text) AND scorer_id = ${scorer_id}
          AND scorer_version = ${scorer_version} AND grain = ${grain} AND experiment_id = ${experimentId}
          AND scanned_from IS NOT NULL
        ORDER BY score_run_id DESC LIMIT ${SCANNED_RANGES_MAX}`,
    );
  }

  /**
   * Returns the ids of the targets that this scorer version has scored, or that are in an open run or batch. Other callers for
   * the same scorer version wait until the transaction ends, so that they see the targets that it takes.
   */
  async findTaken(
    tx: Tx,
    scope: Scope,
    version: VersionAtGrain,
    targets: readonly ScoringTarget[],
  ): Promise<ReadonlySet<string>> {
    if (targets.length === 0) return new Set();
    const { scorer_id, scorer_version, grain } = version;
    const key = JSON.stringify(['unscored', scope.workspaceId, scorer_id, scorer_version, grain]);
    await tx.query(sql`SELECT pg_advisory_xact_lock(hashtextextended(${key}, 0))`);
    const earlier = await this.findEarlier(scope, version, targets.map(targetIdOf), tx);
    return new Set([...earlier].flatMap(([id, isTaken]) => (isTaken ? id : [])));
  }

  /**
   * Reads the targets that are results. Returns them by id. The smallest of them include content, up to `maxBytes` of JSON in
   * total.
   */
  async readResults(
    scope: Scope,
    targets: readonly Pick<ScoringTarget, 'result_experiment_id' | 'result_id'>[],
    maxBytes: number,
  ): Promise<Map<string, ResultContent>> {
    const results = targets.filter(({ result_id }) => result_id !== null);
    if (results.length === 0) return new Map();
    const experimentIds = results.map(({ result_experiment_id }) => result_experiment_id);
    const resultIds = results.map(({ result_id }) => result_id);
    const rows = await this.database.query<ResultContent>(
      prepared(
        'scoring-subject.read-results',
        sql`SELECT r.experiment_id, r.result_id, r.session_id, r.erased, r.size, CASE WHEN fits THEN r.input END AS input,
              CASE WHEN fits THEN r.output END AS output, CASE WHEN fits THEN r.expected END AS expected,
              CASE WHEN fits THEN r.metadata END AS metadata
            FROM (
              SELECT r.*, size, sum(size) OVER (ORDER BY size, r.result_id ROWS UNBOUNDED PRECEDING) <= ${maxBytes} AS fits
              FROM (SELECT ${scope.workspaceId}::text AS workspace_id, *
                    FROM unnest(${experimentIds}::text[], ${resultIds}::text[]) AS ids(experiment_id, result_id)
                    OFFSET 0) keys
              JOIN results r USING (workspace_id, experiment_id, result_id)
              CROSS JOIN LATERAL (
                SELECT coalesce(octet_length(r.input::text), 0) + coalesce(octet_length(r.output::text), 0)
                       + coalesce(octet_length(r.expected::text), 0) + coalesce(octet_length(r.metadata::text), 0) AS size
              ) sized
            ) r`,
      ),
    );
    return new Map(rows.map((row) => [row.result_id, row]));
  }
}
