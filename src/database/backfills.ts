import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { pause } from '#platform/concurrency';
import { PeriodicTasks } from '#platform/jobs';
import { rootLogger } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { BackfillRepository } from './backfill.repository';
import { MIGRATIONS } from './migrations';
import { type BackfillStep, type NamedStep, stepsOf } from './migrations/migration';

const INTERVAL_MS = 5_000;

/** Interval at which the progress is logged, in ms. */
const REPORT_MS = 10_000;

/** The backfills of this release. */
const BACKFILLS = stepsOf(MIGRATIONS).filter(
  (named) => named.step.kind === 'backfill',
) as NamedStep<BackfillStep>[];

/**
 * Runs the backfills of migrations in a worker, one after the other. Workers share the work, because each batch is a
 * transaction that continues where the last one ended. A worker of an older release leaves alone what it does not know.
 */
@Injectable()
export class Backfills implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly stopping = new AbortController();

  constructor(
    private readonly backfills: BackfillRepository,
    private readonly tasks: PeriodicTasks,
    metrics: Metrics,
  ) {
    const gauges = {
      done: metrics.gauge('backfill_rows_done', 'Rows that a running backfill has read.', ['backfill']),
      estimated: metrics.gauge('backfill_rows_estimated', 'Estimated rows of a running backfill.', [
        'backfill',
      ]),
    };
    metrics.addSource({
      name: 'backfills',
      gauges: Object.values(gauges),
      read: async () => {
        const running = await backfills.running();
        return () => {
          for (const { name: backfill, rows_done, rows_estimated } of running) {
            gauges.done.set({ backfill }, rows_done);
            gauges.estimated.set({ backfill }, rows_estimated);
          }
        };
      },
    });
  }

  onApplicationBootstrap(): void {
    if (BACKFILLS.length > 0) this.tasks.every('backfills', INTERVAL_MS, () => this.run());
  }

  onModuleDestroy(): void {
    this.stopping.abort();
  }

  /** Runs what is left of the backfills. Returns when they have finished, or other workers run them. */
  async run(): Promise<void> {
    const running = new Set((await this.backfills.running()).map(({ name }) => name));
    for (const backfill of BACKFILLS.filter(({ name }) => running.has(name))) await this.runOne(backfill);
  }

  private async runOne(backfill: NamedStep<BackfillStep>): Promise<void> {
    const { name } = backfill;
    for (let reportedAt = -Infinity; !this.stopping.signal.aborted;) {
      const start = performance.now();
      const hasMore = await this.backfills.runBatch(backfill);
      if (hasMore === null) return;
      if (!hasMore) {
        rootLogger.info({ backfill: name }, 'finished a backfill');
        return;
      }
      if (start - reportedAt > REPORT_MS) {
        reportedAt = start;
        const progress = (await this.backfills.running()).find((one) => one.name === name);
        rootLogger.info({ backfill: name, ...progress }, 'a backfill is running');
      }
      // uses half of the time, so that requests have the rest
      await pause(performance.now() - start, this.stopping.signal).catch(() => undefined);
    }
  }
}
