import { applyDecorators, SetMetadata } from '@nestjs/common';
import { Processor, WorkerHost } from '@nestjs/bullmq';
import { type Job, UnrecoverableError, WaitingError } from 'bullmq';
import { tracing } from '#platform/tracing';
import type { JobOutcome } from './job.metrics';
import type { JobData, JobIds, JobKind } from './job-kind';
import { RECONNECT_MS } from './queue-connection';

/** Which kind of job a processor handles. */
export const HANDLED_JOB = 'jobs:handles';

/**
 * A job is taken from a worker that has not been heard of for LOCK_MS, which the others look for every STALLED_MS. A
 * job that brings down worker after worker is given up.
 */
const LOCK_MS = 10_000;
const STALLED_MS = 5_000;
const STALLED_MAX = 5;

/** On a `JobProcessor`: the kind of job it handles. Exactly one processor handles each kind. */
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

/** Thrown by a handler that leaves the rest of its job to another worker, because this one is stopping. */
export class JobHandedBack extends Error {
  constructor() {
    super('The job was handed back.');
    this.name = 'JobHandedBack';
  }
}

/** Thrown by a handler whose job would fail each time: it is not tried again, and kept among the failed ones. */
export class JobPoisoned extends UnrecoverableError {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause));
    this.name = 'JobPoisoned';
    this.cause = cause;
  }
}

/**
 * What handles the jobs of one kind. A job may be delivered more than once, also to two workers at the same time: the
 * handler makes sure, in the database, that nothing is done twice.
 */
export abstract class JobProcessor<Ids extends JobIds> extends WorkerHost {
  /** Jobs of the kind that this process handles at a time. */
  abstract readonly concurrency: number;

  /** Does the job. What it throws has the job tried again later; `JobHandedBack` puts it back for others at once. */
  protected abstract handle(ids: Ids): Promise<void>;

  /** Is told of each job that was handled; set by what starts the processor. */
  onHandled: (outcome: JobOutcome, seconds: number) => void = () => undefined;

  async process(job: Job<JobData<Ids>>, token?: string): Promise<void> {
    const { traceparent, ...ids } = job.data;
    const begun = performance.now();
    let outcome: JobOutcome = 'failed';
    try {
      outcome = await tracing().job({ kind: job.name, id: job.id, traceparent }, () =>
        this.outcomeOf(ids as unknown as Ids),
      );
    } finally {
      this.onHandled(outcome, (performance.now() - begun) / 1000);
    }
    if (outcome !== 'handed_back') return;
    await job.moveToWait(token);
    throw new WaitingError();
  }

  /** Being handed back is told apart before the span of the job ends, because it is no failure. */
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
