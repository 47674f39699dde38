import type { JobsOptions } from 'bullmq';
import { tracing } from '#platform/tracing';

/** What a job carries: ids of what it is about, and nothing else. Whoever handles it reads the rest from the database. */
export type JobIds = Readonly<Record<`${string}_id`, string>>;

/** A kind of job. Each has a queue of its own, of the same name. */
export interface JobKind<Ids extends JobIds = JobIds> {
  readonly name: string;
  /** Which of the ids the job is about: of one subject, one job waits or runs at a time, and others are dropped. */
  readonly subject: string;
  /** Only a type: what the jobs of this kind carry. */
  readonly ids?: Ids;
}

export const defineJob = <Ids extends JobIds>(kind: {
  name: string;
  subject: keyof Ids & string;
}): JobKind<Ids> => Object.freeze({ ...kind });

/** What is queued: the ids and, where the request that orders the job is traced, by what the job goes on with its trace. */
export type JobData<Ids extends JobIds = JobIds> = Ids & { readonly traceparent?: string };

export function jobData<Ids extends JobIds>(ids: Ids): JobData<Ids> {
  const traceparent = tracing().traceparent();
  return traceparent === undefined ? ids : { ...ids, traceparent };
}

/** The id by which jobs of one kind are told apart. */
export const subjectOf = (kind: JobKind, ids: JobIds): string =>
  (ids as Record<string, string>)[kind.subject]!;

const WEEK_S = 7 * 24 * 60 * 60;

/**
 * Options of every job. A job that fails is tried again after 1, 2, 4 … s; one that failed for good is kept a week, to
 * be looked at. Done ones go at once: keeping a number of them would cost a count of all at each completion.
 */
export const jobOptions = (kind: JobKind, ids: JobIds) =>
  ({
    attempts: 10,
    backoff: { type: 'exponential', delay: 1_000 },
    removeOnComplete: true,
    removeOnFail: { age: WEEK_S },
    deduplication: { id: subjectOf(kind, ids) },
  }) satisfies JobsOptions;
