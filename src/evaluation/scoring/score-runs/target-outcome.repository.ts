import { Injectable } from '@nestjs/common';
import { Database, sql, type Tx } from '#platform/db';
import { toRawJson } from '#platform/json';
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
import { isResult, type ScoringTarget, targetIdOf } from './score-run.entity';
import { isRun } from './run-execution.repository';

/** A target that was scored. */
export interface ScoredTarget {
  target: ScoringTarget;
  scoreId: string;
  item: ScoredItem;
}

/** Stores the outcomes of targets, and their scores. */
@Injectable()
export class TargetOutcomeRepository {
  constructor(
    private readonly database: Database,
    private readonly targets: ScoreTargetRepository,
    private readonly scores: ScoreRepository,
  ) {}

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
      const results = await this.targets.lock(tx, run.workspace_id, keys);
      const outcomes = scored.map((one) => ({ ...one, state: stateOf(one, results) }));
      const stored = await this.insert(tx, run, outcomes);
      const scores = outcomes.filter(
        ({ target, item }) => item.error === undefined && stored.has(target.ordinal),
      );
      await this.scores.insertHosted(tx, run, scores.map(toScore));
      return scored.map(({ target }) => stored.has(target.ordinal));
    });
  }

  /** Inserts outcomes. Returns the ordinals of those that were stored. */
  private async insert(tx: Tx, run: ScoringRun, outcomes: readonly Outcome[]): Promise<ReadonlySet<number>> {
    const rows = await tx.query<{ ordinal: number }>(
      sql`INSERT INTO target_outcomes (score_run_id, ordinal, score_id, workspace_id, scorer_id, scorer_version, grain,
                                       target_id, error, is_counted, confidence, probabilities, reasoning, samples,
                                       backend, model, request_sha256, is_cached, elapsed_ms, cost_usd)
        SELECT r.score_run_id, ordinal, score_id, r.workspace_id, r.scorer_id, r.scorer_version, r.grain, target_id,
               error, is_counted, confidence, probabilities, reasoning, samples, backend, model, request_sha256,
               is_cached, elapsed_ms, cost_usd
        FROM score_runs r CROSS JOIN json_to_recordset(${toRawJson(outcomes.map(toRow))}::json) AS outcome(
          ordinal integer, score_id text, target_id text, error text, is_counted boolean, confidence float8,
          probabilities json, reasoning text, samples json, backend text, model text, request_sha256 text,
          is_cached boolean, elapsed_ms integer, cost_usd float8)
        WHERE ${isRun(run)} AND r.run_status = 'running'
        ORDER BY ordinal -- like the end of a run, which may insert the same keys
        ON CONFLICT (score_run_id, ordinal) DO NOTHING
        RETURNING ordinal`,
    );
    return new Set(rows.map(({ ordinal }) => ordinal));
  }
}

/** What happened to a result since it was selected as a target. */
interface ResultState {
  is_late: boolean;
  is_replaced: boolean;
}

interface Outcome extends ScoredTarget {
  /** Null if the target is not a result, or failed. */
  state: ResultState | null;
}

function stateOf(
  { target, item }: ScoredTarget,
  results: ReadonlyMap<string, LockedResult>,
): ResultState | null {
  if (!isResult(target) || item.error !== undefined) return null;
  const locked = results.get(target.result_id!);
  return {
    is_late: locked?.is_late === true,
    is_replaced: locked === undefined || locked.version !== target.result_version,
  };
}

/** The columns of an outcome. Absent members are null. */
const toRow = ({ target, scoreId, item, state }: Outcome): object => {
  const { error, reasoning, model } = item;
  return {
    ...item,
    ordinal: target.ordinal,
    score_id: scoreId,
    target_id: targetIdOf(target),
    is_counted: state && !state.is_late && !state.is_replaced,
    reasoning:
      reasoning !== undefined && (error !== undefined || cutComment(reasoning) !== reasoning)
        ? reasoning
        : null,
    model: error === undefined ? null : model,
  };
};

const toScore = ({ target, scoreId, item, state }: Outcome): HostedScore => ({
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
  is_late: state?.is_late ?? false,
  is_replaced: state?.is_replaced ?? false,
});

const kindOf = (target: ScoringTarget): TargetKind =>
  isResult(target) ? 'result' : target.trace_id !== null ? 'trace' : 'session';

/** Returns the id of the target alone, without a version. */
const idOf = (target: ScoringTarget): string =>
  (isResult(target) ? target.result_id : (target.trace_id ?? target.session_id))!;
