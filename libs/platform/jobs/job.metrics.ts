import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Environment } from '#platform/config';
import { type Counter, type Histogram, Metrics } from '#platform/metrics';
import { DeclaredJobs } from './declared-jobs';
import type { JobKind } from './job-kind';
import { JobOutboxRepository } from './job-outbox.repository';
import { usesRedis } from './queue-connection';
import { COUNTED_MAX, JOB_STATES, QueueDepthRepository } from './queue-depth.repository';

/** Outcome of one attempt at a job. A failed job may be retried. */
export const JOB_OUTCOMES = ['completed', 'failed', 'handed_back'] as const;

export type JobOutcome = (typeof JOB_OUTCOMES)[number];

const DURATION_BUCKETS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600];

/** Metrics of the queues: their lengths, in every process, and the handled jobs, in workers. */
@Injectable()
export class JobMetrics implements OnModuleInit {
  private readonly handledCount: Counter<'kind' | 'outcome'>;
  private readonly duration: Histogram<'kind'>;

  constructor(
    private readonly environment: Environment,
    private readonly metrics: Metrics,
    private readonly declared: DeclaredJobs,
    private readonly depths: QueueDepthRepository,
    private readonly outbox: JobOutboxRepository,
  ) {
    this.handledCount = metrics.counter('jobs_handled_total', 'Jobs that this process handled, by outcome.', [
      'kind',
      'outcome',
    ]);
    this.duration = metrics.histogram(
      'job_duration_seconds',
      'Time that this process spent on one job.',
      DURATION_BUCKETS,
      ['kind'],
    );
  }

  onModuleInit(): void {
    this.registerQueues();
    if (usesRedis(this.environment)) this.registerOutbox();
  }

  /** Initializes the counters of a kind that this process handles, so that they are exported from the start. */
  initialize({ name: kind }: JobKind): void {
    for (const outcome of JOB_OUTCOMES) this.handledCount.inc({ kind, outcome }, 0);
  }

  /** Counts a handled job, and records its duration. */
  countHandled({ name: kind }: JobKind, outcome: JobOutcome, seconds: number): void {
    this.handledCount.inc({ kind, outcome });
    this.duration.observe({ kind }, seconds);
  }

  private registerQueues(): void {
    const jobs = this.metrics.gauge('jobs', 'Jobs in the queue, by state.', ['kind', 'state']);
    const age = this.metrics.gauge(
      'jobs_oldest_waiting_age_seconds',
      'Age of the waiting job that is next, in seconds; 0 if no job waits.',
      ['kind'],
    );
    this.metrics.addSource({
      name: 'jobs',
      gauges: [jobs, age],
      read: async () => {
        const depths = await this.depths.read(this.declared.all());
        return () => {
          for (const { kind, jobs: counts, oldestWaitingSeconds } of depths) {
            for (const state of JOB_STATES) jobs.set({ kind, state }, counts[state]);
            age.set({ kind }, oldestWaitingSeconds);
          }
        };
      },
    });
  }

  private registerOutbox(): void {
    const waiting = this.metrics.gauge('job_outbox', 'Committed jobs that are not in Redis yet.');
    this.metrics.addSource({
      name: 'job_outbox',
      gauges: [waiting],
      read: async () => {
        const count = await this.outbox.count(COUNTED_MAX);
        return () => waiting.set(count);
      },
    });
  }
}
