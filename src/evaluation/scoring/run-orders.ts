import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { newId } from '#platform/ids';
import { JobQueue } from '#platform/jobs';
import type { PinnedScorer } from './earlier-scores.repository';
import { SCORE_RUN } from './score-run.job';
import type { ScoreRunRow, ScoringTarget } from './score-run.entity';
import { ScoreRunRepository } from './score-run.repository';

/** What is settled of a run before it is ordered. */
export type NewRun = Pick<ScoreRunRow, 'grain' | 'total' | 'concurrency'> &
  Partial<Pick<ScoreRunRow, 'experiment_id' | 'rule_id' | 'max_cost_usd' | 'uses_cache'>>;

/** A run of a version of a scorer that nobody has begun. */
export function newRun(
  scope: Scope,
  { scorer_id, scorer_version }: PinnedScorer,
  {
    grain,
    total,
    concurrency,
    experiment_id = null,
    rule_id = null,
    max_cost_usd = null,
    uses_cache = true,
  }: NewRun,
): ScoreRunRow {
  const now = new Date();
  return {
    score_run_id: newId('run'),
    workspace_id: scope.workspaceId,
    scorer_id,
    scorer_version,
    experiment_id,
    rule_id,
    grain,
    run_status: 'queued',
    concurrency,
    total,
    completed_count: 0,
    failed_count: 0,
    cost_usd: null,
    max_cost_usd,
    uses_cache,
    failure_code: null,
    failure_detail: null,
    started_at: null,
    finished_at: null,
    created_at: now,
    updated_at: now,
    created_by: scope.principalId,
  };
}

/** Orders runs, whoever wants them. */
@Injectable()
export class RunOrders {
  constructor(
    private readonly runs: ScoreRunRepository,
    private readonly jobs: JobQueue,
  ) {}

  /** The run, its targets and the order to run it are committed together: an accepted run is never lost. */
  async place(tx: Tx, scope: Scope, run: ScoreRunRow, targets: readonly ScoringTarget[]): Promise<void> {
    await this.runs.insert(tx, scope, run, targets);
    await this.jobs.enqueue(tx, SCORE_RUN, [{ score_run_id: run.score_run_id }]);
  }
}
