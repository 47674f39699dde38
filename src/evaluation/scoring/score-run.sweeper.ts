import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Database } from '#platform/db';
import { JobQueue, PeriodicTasks } from '#platform/jobs';
import { rootLogger } from '#platform/logging';
import { RunExecutionRepository } from './run-execution.repository';
import { SCORE_RUN } from './score-run.service';

const SWEEP_MS = 10_000;
/** A run that is queued for this long may have lost its job. A second job does no harm to a run that only waits. */
const QUEUED_MS = 30_000;
const REPEAT_MS = 30_000;
const BATCH = 100;

/** Enqueues what a crash lost again: queued runs whose job is gone, and running ones whose worker is. */
@Injectable()
export class ScoreRunSweeper implements OnApplicationBootstrap {
  constructor(
    private readonly database: Database,
    private readonly runs: RunExecutionRepository,
    private readonly jobs: JobQueue,
    private readonly tasks: PeriodicTasks,
  ) {}

  onApplicationBootstrap(): void {
    this.tasks.every('score runs', SWEEP_MS, () => this.sweep());
  }

  async sweep(): Promise<void> {
    const found = await this.database.transaction(async (tx) => {
      const forgotten = { queuedMs: QUEUED_MS, againMs: REPEAT_MS, limit: BATCH };
      const ids = await this.runs.takeForgotten(tx, forgotten);
      await this.jobs.enqueue(
        tx,
        SCORE_RUN,
        ids.map((score_run_id) => ({ score_run_id })),
      );
      return ids;
    });
    if (found.length > 0) rootLogger.info({ count: found.length }, 'scoring runs were enqueued again');
  }
}
