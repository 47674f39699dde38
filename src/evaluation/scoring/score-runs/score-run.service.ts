import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, type Tx } from '#platform/db';
import { newId } from '#platform/ids';
import { JobQueue } from '#platform/jobs';
import { rootLogger } from '#platform/logging';
import type { ListQueryDto, Page } from '#platform/paging';
import { problem } from '#platform/problem';
import type { Grain, PinnedScorer } from '../../scorers';
import { ScoreBatchProgress } from './score-batch.progress';
import {
  type ScoreResultDto,
  type ScoreRunDto,
  type ScoreRunListQueryDto,
  toScoreResultDto,
  toScoreRunDto,
} from './score-run.dto';
import { type ScannedRange, type ScoreRunRow, type ScoringTarget, targetIdOf } from './score-run.entity';
import { SCORE_RUN } from './score-run.job';
import { type RunEnd, ScoreRunRepository } from './score-run.repository';

/** Age after which a queued run may have lost its job. A second job does no harm to a run that is still waiting. */
const QUEUED_MS = 30_000;
const REQUEUE_AGAIN_MS = 30_000;
const REQUEUE_BATCH = 100;

const CANCELLED = {
  code: 'cancelled',
  detail: 'The run was cancelled.',
  error: 'The run was cancelled before it scored this target.',
} as const;

/** The settings of a new run. */
export type RunSettings = Pick<ScoreRunRow, 'grain' | 'concurrency'> &
  Partial<Pick<ScoreRunRow, 'experiment_id' | 'rule_id' | 'max_cost_usd' | 'uses_cache'>>;

/** Starts, reads and cancels runs. */
@Injectable()
export class ScoreRunService {
  constructor(
    private readonly database: Database,
    private readonly runs: ScoreRunRepository,
    private readonly jobs: JobQueue,
    private readonly batches: ScoreBatchProgress,
  ) {}

  /**
   * Starts a run over these targets. With `unscoredOnly`, returns null if another run has taken one of the targets since they
   * were selected. A run without targets succeeds at once and gets no job. `scannedRange` is the range of results that was
   * scanned to select the targets.
   */
  start(
    scope: Scope,
    scorer: PinnedScorer,
    targets: readonly ScoringTarget[],
    {
      unscoredOnly,
      scannedRange,
      ...settings
    }: RunSettings & { unscoredOnly: boolean; scannedRange: ScannedRange | null },
  ): Promise<ScoreRunRow | null> {
    return this.database.transaction(async (tx) => {
      if (unscoredOnly && targets.length > 0) {
        const takenIds = await this.findTaken(tx, scope, scorer, settings.grain, targets);
        if (takenIds.size > 0) return null;
      }
      const run = newRun(scope, scorer, targets.length, settings);
      await this.insertAndEnqueue(tx, scope, run, targets, scannedRange);
      return run;
    });
  }

  /** Stores a run, its targets and its job in one transaction, so that an accepted run is never lost. */
  async insertAndEnqueue(
    tx: Tx,
    scope: Scope,
    run: ScoreRunRow,
    targets: readonly ScoringTarget[],
    scannedRange: ScannedRange | null = null,
  ): Promise<void> {
    await this.runs.insert(tx, scope, run, targets, scannedRange);
    if (targets.length === 0) return;
    await this.jobs.enqueue(tx, SCORE_RUN, [{ score_run_id: run.score_run_id }]);
  }

  /**
   * Returns the ids of the targets that this scorer version has scored, or that are in an open run. Other callers for the
   * same scorer version wait until the transaction ends, so that they see the targets that it takes.
   */
  async findTaken(
    tx: Tx,
    scope: Scope,
    scorer: PinnedScorer,
    grain: Grain,
    targets: readonly ScoringTarget[],
  ): Promise<ReadonlySet<string>> {
    await this.runs.lockUnscored(tx, scope, scorer, grain);
    const earlier = await this.runs.findEarlier(scope, scorer, grain, targets.map(targetIdOf), tx);
    return new Set([...earlier].flatMap(([id, isTaken]) => (isTaken ? id : [])));
  }

  /** Enqueues the runs again that a crash left without a job or a worker. */
  async requeueLostRuns(): Promise<void> {
    const limits = { queuedMs: QUEUED_MS, againMs: REQUEUE_AGAIN_MS, limit: REQUEUE_BATCH };
    const ids = await this.database.transaction(async (tx) => {
      const lostIds = await this.runs.takeLost(tx, limits);
      const jobs = lostIds.map((score_run_id) => ({ score_run_id }));
      await this.jobs.enqueue(tx, SCORE_RUN, jobs);
      return lostIds;
    });
    if (ids.length > 0) rootLogger.info({ count: ids.length }, 'lost scoring runs were enqueued again');
  }

  async list(scope: Scope, query: ScoreRunListQueryDto): Promise<Page<ScoreRunDto>> {
    const { rows, page } = await this.runs.list(scope, query);
    return { items: rows.map(toScoreRunDto), page };
  }

  async get(scope: Scope, id: string): Promise<ScoreRunDto> {
    return toScoreRunDto(await this.find(scope, id));
  }

  async listResults(scope: Scope, id: string, query: ListQueryDto): Promise<Page<ScoreResultDto>> {
    await this.find(scope, id);
    const { rows, page } = await this.runs.listResults(scope, id, query);
    return { items: rows.map(toScoreResultDto), page };
  }

  /** Returns the mean of the scores that a run has so far. Null without scores, and for an unknown run. */
  meanScore(scope: Scope, id: string): Promise<number | null> {
    return this.runs.meanScore(scope, id);
  }

  /**
   * Cancels an open run. Keeps stored scores, and gives the other targets an error. Idempotent. Errors: 404; 409 for a run
   * that ended without being cancelled.
   */
  async cancel(scope: Scope, id: string): Promise<ScoreRunDto> {
    await this.find(scope, id);
    await this.end(scope, id);
    const run = await this.find(scope, id);
    if (run.failure_code === 'cancelled') return toScoreRunDto(run);
    throw problem.conflict(`The run has ${run.run_status}. Only queued and running runs can be cancelled.`);
  }

  /**
   * Ends an open run, by default as cancelled, with an error for each target without a result. Its batch continues. Does
   * nothing if the run has ended.
   */
  async end(scope: Scope, id: string, end: Omit<RunEnd, 'scoreIds'> = CANCELLED): Promise<void> {
    const { total } = await this.find(scope, id);
    const scoreIds = Array.from({ length: total }, () => newId('score'));
    await this.database.transaction(async (tx) => {
      if (await this.runs.end(tx, scope, id, { ...end, scoreIds })) {
        await this.batches.onRunEnded(tx, scope, id);
      }
    });
  }

  private async find(scope: Scope, id: string): Promise<ScoreRunRow> {
    const row = await this.runs.find(scope, id);
    if (!row) throw problem.notFound('scoring run', id);
    return row;
  }
}

/** Returns a queued run or, without targets, one that has succeeded. */
export function newRun(
  scope: Scope,
  { scorer_id, scorer_version }: PinnedScorer,
  total: number,
  settings: RunSettings,
): ScoreRunRow {
  const now = new Date();
  const finishedAt = total === 0 ? now : null;
  return {
    score_run_id: newId('run'),
    workspace_id: scope.workspaceId,
    scorer_id,
    scorer_version,
    experiment_id: null,
    rule_id: null,
    score_batch_id: null,
    max_cost_usd: null,
    uses_cache: true,
    ...settings,
    run_status: finishedAt ? 'succeeded' : 'queued',
    total,
    completed_count: 0,
    failed_count: 0,
    not_written_back_count: 0,
    cost_usd: null,
    failure_code: null,
    failure_detail: null,
    started_at: finishedAt,
    finished_at: finishedAt,
    created_at: now,
    updated_at: now,
    created_by: scope.principalId,
  };
}
