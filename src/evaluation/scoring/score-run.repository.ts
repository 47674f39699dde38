import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, type SqlExecutor, type Tx, Where } from '#platform/db';
import { toJsonText } from '#platform/json';
import { BY_CHANGE, type ListQueryDto, listPage, type RowPage } from '#platform/paging';
import type { ScoreRunListQueryDto } from './score-run.dto';
import type { FailureCode, ScoreResultRow, ScoreRunRow, ScoringTarget } from './score-run.entity';

/** Counts of a run that goes on are those of its results so far. */
const soFar = (column: string, aggregate: string): string =>
  `CASE WHEN r.run_status = 'running'
        THEN (SELECT ${aggregate} FROM score_results s
              WHERE s.score_run_id = r.score_run_id AND s.workspace_id = r.workspace_id)
        ELSE r.${column} END AS ${column}`;

const COLUMNS = `r.score_run_id, r.workspace_id, r.scorer_id, r.scorer_version, r.experiment_id, r.rule_id, r.grain, r.run_status,
  r.concurrency, r.total, ${soFar('completed_count', 'count(*) FILTER (WHERE s.error IS NULL)')},
  ${soFar('failed_count', 'count(s.error)')}, ${soFar('cost_usd', 'sum(s.cost_usd)')}, r.max_cost_usd, r.uses_cache, r.failure_code,
  r.failure_detail, r.started_at, r.finished_at, r.created_at, r.updated_at, r.created_by`;

const RESULT_COLUMNS = `score_run_id, ordinal, score_id, scorer_id, scorer_version, trace_id, session_id, score, choice,
  confidence, probabilities, answers, reasoning, backend, model, error, elapsed_ms, cost_usd, request_sha256, is_cached, samples,
  created_at`;

/** Runs of hosted scoring as requests see them. What a worker does to them is in `RunWorkRepository`. */
@Injectable()
export class ScoreRunRepository {
  constructor(private readonly database: Database) {}

  /** Writes a queued run and its targets. */
  async insert(tx: Tx, scope: Scope, run: ScoreRunRow, targets: readonly ScoringTarget[]): Promise<void> {
    await tx.query(
      `INSERT INTO score_runs (score_run_id, org_id, workspace_id, scorer_id, scorer_version, experiment_id, grain,
                               concurrency, total, max_cost_usd, uses_cache, created_at, updated_at, created_by, rule_id)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12, $13, $14)`,
      [
        run.score_run_id,
        scope.orgId,
        scope.workspaceId,
        run.scorer_id,
        run.scorer_version,
        run.experiment_id,
        run.grain,
        run.concurrency,
        run.total,
        run.max_cost_usd,
        run.uses_cache,
        run.created_at,
        scope.principalId,
        run.rule_id,
      ],
    );
    await tx.query(
      `INSERT INTO score_targets (score_run_id, ordinal, trace_id, session_id, result_experiment_id, result_id)
       SELECT $1, ordinal, trace_id, session_id, result_experiment_id, result_id
       FROM json_to_recordset($2::json) AS t(ordinal integer, trace_id text, session_id text,
         result_experiment_id text, result_id text)`,
      [run.score_run_id, toJsonText(targets)],
    );
  }

  async find(scope: Scope, id: string, on: SqlExecutor = this.database): Promise<ScoreRunRow | null> {
    const [row] = await on.query<ScoreRunRow>(
      `SELECT ${COLUMNS} FROM score_runs r WHERE r.score_run_id = $1 AND r.workspace_id = $2`,
      [id, scope.workspaceId],
    );
    return row ?? null;
  }

  list(scope: Scope, query: ScoreRunListQueryDto): Promise<RowPage<ScoreRunRow>> {
    const where = new Where(scope.key, 'r')
      .addIf(query.scorer_id, 'r.scorer_id = ?')
      .addIf(query.run_status, 'r.run_status = ?')
      .addIf(query.experiment_id, 'r.experiment_id = ?')
      .addIf(query.rule_id, 'r.rule_id = ?');
    return listPage<ScoreRunRow>(
      this.database,
      { columns: COLUMNS, from: 'score_runs r', where, id: 'r.score_run_id', sorts: BY_CHANGE },
      query,
    );
  }

  listResults(scope: Scope, runId: string, query: ListQueryDto): Promise<RowPage<ScoreResultRow>> {
    const where = new Where(scope.key).add('score_run_id = ?', runId);
    return listPage<ScoreResultRow>(
      this.database,
      { columns: RESULT_COLUMNS, from: 'score_results', where, id: 'score_id' },
      query,
    );
  }

  /** Ends a run that has not ended. @returns whether it did; each target without a result then has one: the error. */
  async end(tx: Tx, scope: Scope, id: string, end: RunEnd): Promise<boolean> {
    const moved = await tx.query(
      `UPDATE score_runs SET run_status = 'failed', failure_code = $3, failure_detail = $4, finished_at = now(),
              updated_at = now(), lease_token = NULL, lease_expires_at = NULL
       WHERE score_run_id = $1 AND workspace_id = $2 AND run_status IN ('queued', 'running') RETURNING 1`,
      [id, scope.workspaceId, end.code, end.detail],
    );
    if (moved.length === 0) return false;
    await tx.query(
      `INSERT INTO score_results (score_run_id, ordinal, score_id, workspace_id, scorer_id, scorer_version, grain,
                                  trace_id, session_id, error, elapsed_ms)
       SELECT r.score_run_id, t.ordinal, given.score_id, r.workspace_id, r.scorer_id, r.scorer_version, r.grain,
              t.trace_id, t.session_id, $3, 0
       FROM score_runs r JOIN score_targets t USING (score_run_id)
       JOIN unnest($2::text[]) WITH ORDINALITY AS given(score_id, position) ON given.position = t.ordinal + 1
       WHERE r.score_run_id = $1 AND r.workspace_id = $4
       ON CONFLICT (score_run_id, ordinal) DO NOTHING`,
      [id, end.scoreIds, end.error, scope.workspaceId],
    );
    await tx.query(
      `UPDATE score_runs r SET completed_count = c.completed, failed_count = c.failed, cost_usd = c.cost
       FROM (SELECT count(*) FILTER (WHERE error IS NULL) AS completed, count(error) AS failed,
                    sum(cost_usd) AS cost
             FROM score_results WHERE score_run_id = $1 AND workspace_id = $2) c
       WHERE r.score_run_id = $1 AND r.workspace_id = $2`,
      [id, scope.workspaceId],
    );
    return true;
  }
}

/** How a run ends before all of its targets are scored. */
export interface RunEnd {
  code: FailureCode;
  detail: string;
  /** What is kept of the targets that were not scored. */
  error: string;
  /** An id for each target of the run, for the result it may still need. */
  scoreIds: string[];
}
