import { applyDecorators, SetMetadata } from '@nestjs/common';
import { Processor, WorkerHost } from '@nestjs/bullmq';
import { type Job, UnrecoverableError, WaitingError } from 'bullmq';
import { tracing } from '#platform/tracing';
import type { JobOutcome } from './job.metrics';
import type { JobData, JobIds, JobKind } from './job-kind';
import { RECONNECT_MS } from './queue-connection';

/** Metadata key of the kind of job that a processor handles. */
export const HANDLED_JOB = 'jobs:handles';

/**
 * A job whose worker has not renewed its lock for LOCK_MS goes to another worker. Workers look for such jobs every
 * STALLED_MS. A job that stalls more than STALLED_MAX times fails.
 */
const LOCK_MS = 10_000;
const STALLED_MS = 5_000;
const STALLED_MAX = 5;

/** On a `JobProcessor`: declares the kind of job it handles. Exactly one processor handles each kind. */
export const Handles = (kind: JobKind): ClassDecorator =>
  applyDecorators(
    SetMetadata(HANDLED_JOB, kind),
    Processor(kind.name, {
      autorun: false,
      lockDuration: LOCK_MS,
      stalledInterval: STALLED_MS,
      maxStalledCount: STALLED_MAX,
      runRetryDelay: RECONNECT_MS,
    }) as ClassDecorator,
  );

/**
 * Thrown by a handler to put its job back into the queue, because the worker is stopping or other work comes first. This is
 * not a failed attempt.
 */
export class JobHandedBack extends Error {
  constructor() {
    super('The job was handed back.');
    this.name = 'JobHandedBack';
  }
}

/** Thrown by a handler whose job would fail every time. The job is not retried, and is kept with the failed jobs. */
export class JobPoisoned extends UnrecoverableError {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause));
    this.name = 'JobPoisoned';
    this.cause = cause;
  }
}

/**
 * Handles the jobs of one kind. A job may be delivered more than once, even to two workers at the same time. The handler
 * must therefore claim its work in the database.
 */
export abstract class JobProcessor<Ids extends JobIds> extends WorkerHost {
  /** Jobs of the kind that this process handles at a time. */
  abstract readonly concurrency: number;

  /** Does the job. An error causes a retry later. `JobHandedBack` makes the job available to other workers at once. */
  protected abstract handle(ids: Ids): Promise<void>;

  /** Called after each attempt at a job. `JobsWorker` sets it. */
  onHandled: (outcome: JobOutcome, seconds: number) => void = () => undefined;

  async process(job: Job<JobData<Ids>>, token?: string): Promise<void> {
    const { traceparent, ...ids } = job.data;
    const startedAt = performance.now();
    let outcome: JobOutcome = 'failed';
    try {
      outcome = await tracing().job({ kind: job.name, id: job.id, traceparent }, () =>
        this.outcomeOf(ids as unknown as Ids),
      );
    } finally {
      this.onHandled(outcome, (performance.now() - startedAt) / 1000);
    }
    if (outcome !== 'handed_back') return;
    await job.moveToWait(token);
    throw new WaitingError();
  }

  /** Handles `JobHandedBack` within the span of the job, because it is not a failure. */
  private async outcomeOf(ids: Ids): Promise<JobOutcome> {
    try {
      await this.handle(ids);
      return 'completed';
    } catch (error) {
      if (error instanceof JobHandedBack) return 'handed_back';
      throw error;
    }
  }
}
