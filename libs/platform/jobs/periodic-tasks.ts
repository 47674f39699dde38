import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { rootLogger } from '#platform/logging';

/** Intervals vary by this share, so that workers that start together do not all run them at the same time. */
const JITTER = 0.2;

/**
 * Runs periodic tasks of a worker. Every worker process runs them, so a task must be safe to run concurrently. It never
 * overlaps itself within a process. Failures are logged, and the task runs again after its interval.
 */
@Injectable()
export class PeriodicTasks implements BeforeApplicationShutdown {
  private readonly timers = new Map<string, NodeJS.Timeout>();
  private readonly running = new Set<Promise<void>>();
  private isStopping = false;

  /** @param intervalMs average time from the end of one run to the start of the next, in milliseconds */
  every(name: string, intervalMs: number, task: () => Promise<unknown>): void {
    if (this.isStopping) return;
    const wait = intervalMs * (1 - JITTER + Math.random() * 2 * JITTER);
    this.timers.set(
      name,
      setTimeout(() => void this.run(name, intervalMs, task), wait),
    );
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.isStopping = true;
    for (const timer of this.timers.values()) clearTimeout(timer);
    await Promise.all(this.running);
  }

  private async run(name: string, intervalMs: number, task: () => Promise<unknown>): Promise<void> {
    const work = task().then(
      () => undefined,
      (error: unknown) => rootLogger.error({ err: error, task: name }, 'a periodic task failed'),
    );
    this.running.add(work);
    await work;
    this.running.delete(work);
    this.every(name, intervalMs, task);
  }
}
