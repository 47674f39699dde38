import { Injectable } from '@nestjs/common';
import { Database, prepared, sql, type Sql, type Tx } from '#platform/db';
import { toRawJson } from '#platform/json';
import { pick } from '../../../resources';
import {
  cutComment,
  type HostedScore,
  type LockedResult,
  type ScoredItem,
  ScoreRepository,
  ScoreTargetRepository,
  type ScoringRun,
  type TargetKind,
} from '../../scores';
import { isResult, type ScoringTarget, targetIdOf } from '../targets/target.entity';
import type { ScoreRunRow } from './score-run.dto';
import type { Outcome } from './score-run.types';
import { setCounts } from './score-run.repository';

/** A run that a worker has claimed. */
export interface ClaimedRun
  extends ScoringRun, Pick<ScoreRunRow, 'grain' | 'concurrency' | 'total' | 'max_cost_usd' | 'cache'> {
  org_id: string;
  /** The rule that started the run. */
  rule_id: string | null;
  takeovers: number;
  /** Cost of the outcomes so far, in US dollars. */
  cost_usd: number;
  /** Time until the deadline, in ms, by the database's clock. */
  ms_left: number;
}

/** The key of a run. Claiming a run returns it. */
export type RunKey = Pick<ClaimedRun, 'score_run_id' | 'workspace_id'>;

/** Counts over the outcomes of a run. */
export interface OutcomeCounts {
  completed: number;
  failed: number;
  /** Completed targets with a score. The scorer abstained from the others. */
  scored: number;
  first_error: string | null;
}

/** A target that was scored. */
export interface ScoredTarget {
  target: ScoringTarget;
  scoreId: string;
  item: ScoredItem;
}

const TRACE_DELETED = 'The trace was deleted while it was scored.';

/** Longest first error that is stored, in characters. Longer ones are cut. */
const FIRST_ERROR_MAX = 500;

const milliseconds = (ms: number): Sql => sql`${ms} * interval '1 millisecond'`;

const isRun = ({ score_run_id, workspace_id }: RunKey): Sql =>
  sql`score_run_id = ${score_run_id} AND workspace_id = ${workspace_id}`;

/** Matches the run while this worker holds it. */
const isHeld = (run: RunKey, token: string): Sql =>
  sql`${isRun(run)} AND lease_token = ${token} AND run_status = 'running'`;

/**
 * Stores the outcomes of the targets of runs, and releases and ends the runs. `RunTurnRepository` claims them. Each step of a
 * run is one conditional statement, so that only the worker that holds it takes the step.
 */
@Injectable()
export class RunExecutionRepository {
  constructor(
    private readonly database: Database,
    private readonly targets: ScoreTargetRepository,
    private readonly scores: ScoreRepository,
  ) {}

  /** Returns the targets without a result. */
  targetsLeft(run: RunKey): Promise<ScoringTarget[]> {
    return this.database.query<ScoringTarget>(
      prepared(
        'score-run.targets-left',
        sql`SELECT t.ordinal, t.trace_id, t.session_id, t.result_experiment_id, t.result_id, t.result_version, t.case_id
          FROM score_runs r JOIN score_targets t USING (score_run_id)
          LEFT JOIN target_outcomes s ON s.score_run_id = t.score_run_id AND s.ordinal = t.ordinal
          WHERE r.score_run_id = ${run.score_run_id} AND r.workspace_id = ${run.workspace_id}
            AND s.score_run_id IS NULL
          ORDER BY t.ordinal`,
      ),
    );
  }

  /** Renews the lease. Returns false if the run was cancelled, has ended or was taken over. */
  async renew(run: RunKey, token: string, leaseMs: number): Promise<boolean> {
    const renewed = await this.database.query(
      prepared(
        'score-run.renew',
        sql`UPDATE score_runs SET lease_expires_at = now() + ${milliseconds(leaseMs)}
          WHERE ${isHeld(run, token)} RETURNING 1`,
      ),
    );
    return renewed.length > 0;
  }

  /**
   * Releases a run, so that any worker can continue it. The time until it continues does not count against its deadline.
   * Returns the number of failed attempts, or 0 if this worker lost the run.
   *
   * @param failures 1 after a failed attempt: the run then waits for 1, 2, 4 … s
   */
  async release(run: RunKey, token: string, failures: 0 | 1): Promise<number> {
    const [row] = await this.database.query<{ failed_attempts: number }>(
      sql`UPDATE score_runs
        SET lease_token = NULL, lease_expires_at = NULL, released_at = now(),
            retry_at = CASE WHEN ${failures}::integer > 0 THEN now() + power(2, failed_attempts) * interval '1 second' END,
            failed_attempts = failed_attempts + ${failures}::integer
        WHERE ${isHeld(run, token)} RETURNING failed_attempts`,
    );
    return row?.failed_attempts ?? 0;
  }

  /** Adds the cost of a judge's answer that arrived after the end of the run to the run, its batch and its rule. */
  async addLateCost(run: RunKey, costUsd: number): Promise<void> {
    await this.database.query(
      sql`WITH late AS (
          UPDATE score_runs SET cost_usd = coalesce(cost_usd, 0) + ${costUsd}
          WHERE ${isRun(run)} AND run_status = 'failed' RETURNING score_batch_id, rule_id, created_at
        ), of_rule AS (
          UPDATE scoring_rules rule SET spent_today_usd = spent_today_usd + ${costUsd} FROM late
          WHERE rule.rule_id = late.rule_id AND rule.workspace_id = ${run.workspace_id}
            AND rule.counted_day = date_trunc('day', late.created_at, 'UTC')
        )
        UPDATE score_batches b SET cost_usd = coalesce(b.cost_usd, 0) + ${costUsd} FROM late
        WHERE b.score_batch_id = late.score_batch_id AND b.workspace_id = ${run.workspace_id}`,
    );
  }

  /** Counts the outcomes of a run. Outcomes never change, so the counts of a complete run are final. */
  async countOutcomes(run: RunKey): Promise<OutcomeCounts> {
    const [counts] = await this.database.query<OutcomeCounts>(
      prepared(
        'score-run.count-outcomes',
        sql`SELECT count(*) FILTER (WHERE error IS NULL) AS completed, count(error) AS failed,
              (SELECT count(score) FROM scores
               WHERE workspace_id = ${run.workspace_id} AND score_run_id = ${run.score_run_id}) AS scored,
              left((array_agg(error ORDER BY ordinal) FILTER (WHERE error IS NOT NULL))[1],
                   ${FIRST_ERROR_MAX}::integer) AS first_error
            FROM target_outcomes WHERE ${isRun(run)}`,
      ),
    );
    return counts!;
  }

  /** Ends a run in which every target has an outcome. Returns false if this worker no longer holds the run. */
  async finish(tx: Tx, run: RunKey, token: string, outcome: Outcome): Promise<boolean> {
    const ended = await tx.query(
      prepared(
        'score-run.finish',
        sql`UPDATE score_runs
          SET run_status = ${outcome.status}, failure_code = ${outcome.failure_code},
              failure_detail = ${outcome.failure_detail}, ${setCounts(run.score_run_id, run.workspace_id)},
              finished_at = now(), updated_at = now(), lease_token = NULL, lease_expires_at = NULL
          WHERE ${isHeld(run, token)} RETURNING 1`,
      ),
    );
    return ended.length > 0;
  }

  /**
   * Stores the outcomes of targets of one run and their scores in one transaction. Returns for each target whether it was
   * stored. Stores nothing for a target that already has an outcome, and nothing at all if the run has ended.
   */
  store(run: ScoringRun, scored: readonly ScoredTarget[]): Promise<boolean[]> {
    return this.database.transaction(async (tx) => {
      const keys = scored.flatMap(({ target, item }) =>
        item.error === undefined
          ? { kind: kindOf(target), id: idOf(target), experimentId: target.result_experiment_id }
          : [],
      );
      const { results, deletedTraces } = await this.targets.lock(tx, run.workspace_id, keys);
      const outcomes = scored.map((one) => withState(withoutGone(one, results, deletedTraces), results));
      const stored = await this.insertOutcomes(tx, run, outcomes);
      const scores = outcomes.filter(
        ({ target, item }) => item.error === undefined && stored.has(target.ordinal),
      );
      await this.scores.insertHosted(tx, run, scores.map(toScore));
      return scored.map(({ target }) => stored.has(target.ordinal));
    });
  }

  /** Inserts outcomes. Returns the ordinals of those that were stored. */
  private async insertOutcomes(
    tx: Tx,
    run: ScoringRun,
    outcomes: readonly LockedTarget[],
  ): Promise<ReadonlySet<number>> {
    const rows = await tx.query<{ ordinal: number }>(
      sql`INSERT INTO target_outcomes (score_run_id, ordinal, score_id, workspace_id, scorer_id, scorer_version, grain,
                                       target_id, error, is_counted, confidence, probabilities, reasoning, samples,
                                       backend, model, request_sha256, is_cached, is_truncated, elapsed_ms, cost_usd)
        SELECT r.score_run_id, ordinal, score_id, r.workspace_id, r.scorer_id, r.scorer_version, r.grain, target_id,
               error, is_counted, confidence, probabilities, reasoning, samples, backend, model, request_sha256,
               is_cached, is_truncated, elapsed_ms, outcome.cost_usd
        FROM score_runs r CROSS JOIN json_to_recordset(${toRawJson(outcomes.map(toRow))}::json) AS outcome(
          ordinal integer, score_id text, target_id text, error text, is_counted boolean, confidence float8,
          probabilities json, reasoning text, samples json, backend text, model text, request_sha256 text,
          is_cached boolean, is_truncated boolean, elapsed_ms integer, cost_usd float8)
        WHERE ${isRun(run)} AND r.run_status = 'running'
        ORDER BY ordinal -- like the end of a run, which may insert the same keys
        ON CONFLICT (score_run_id, ordinal) DO NOTHING
        RETURNING ordinal`,
    );
    return new Set(rows.map(({ ordinal }) => ordinal));
  }
}

/** A target with what happened to its result since it was selected. */
interface LockedTarget extends ScoredTarget {
  is_late: boolean;
  is_replaced: boolean;
  /** Null if the target is not a result, or failed. */
  is_counted: boolean | null;
}

/** Fails a target that was deleted or erased while it was scored. Its outcome shows nothing of it, but the cost counts. */
function withoutGone(
  scored: ScoredTarget,
  results: ReadonlyMap<string, LockedResult>,
  deletedTraces: ReadonlySet<string>,
): ScoredTarget {
  const { target, item } = scored;
  const error = isResult(target)
    ? results.get(target.result_id!)?.erased === false
      ? null
      : 'The result was deleted or erased while it was being scored.'
    : target.trace_id !== null && deletedTraces.has(target.trace_id)
      ? TRACE_DELETED
      : null;
  if (error === null || item.error !== undefined) return scored;
  return { ...scored, item: { error, ...pick(item, ['elapsed_ms', 'cost_usd']) } };
}

function withState(scored: ScoredTarget, results: ReadonlyMap<string, LockedResult>): LockedTarget {
  const { target, item } = scored;
  const isScoredResult = isResult(target) && item.error === undefined;
  const locked = results.get(target.result_id!);
  const is_late = isScoredResult && locked?.is_late === true;
  const is_replaced = isScoredResult && locked?.version !== target.result_version;
  return { ...scored, is_late, is_replaced, is_counted: isScoredResult ? !is_late && !is_replaced : null };
}

/** The columns of an outcome. Absent members are null. */
const toRow = ({ target, scoreId, item, is_counted }: LockedTarget): object => {
  const { error, reasoning, model } = item;
  return {
    ...item,
    ordinal: target.ordinal,
    score_id: scoreId,
    target_id: targetIdOf(target),
    is_counted,
    is_truncated: item.is_truncated === true,
    reasoning:
      reasoning !== undefined && (error !== undefined || cutComment(reasoning) !== reasoning)
        ? reasoning
        : null,
    model: error === undefined ? null : model,
  };
};

const toScore = ({ target, scoreId, item, is_late, is_replaced }: LockedTarget): HostedScore => ({
  score_id: scoreId,
  target_kind: kindOf(target),
  target_id: idOf(target),
  trace_id: target.trace_id,
  session_id: target.session_id,
  experiment_id: target.result_experiment_id,
  result_id: target.result_id,
  result_version: target.result_version,
  case_id: target.case_id,
  score: item.score ?? null,
  label: item.choice ?? null,
  answers: item.answers ?? null,
  comment: item.reasoning === undefined ? null : cutComment(item.reasoning),
  model: item.model ?? null,
  judge_digest: item.judge_digest ?? null,
  is_truncated: item.is_truncated === true,
  is_late,
  is_replaced,
});

const kindOf = (target: ScoringTarget): TargetKind =>
  isResult(target) ? 'result' : target.trace_id !== null ? 'trace' : 'session';

/** Returns the id of the target alone, without a version. */
const idOf = (target: ScoringTarget): string =>
  (isResult(target) ? target.result_id : (target.trace_id ?? target.session_id))!;
