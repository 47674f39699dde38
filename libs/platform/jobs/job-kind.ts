import type { JobsOptions } from 'bullmq';
import { tracing } from '#platform/tracing';

/** The payload of a job: only ids. Its handler reads everything else from the database. */
export type JobIds = Readonly<Record<`${string}_id`, string>>;

/** A kind of job. Each has its own queue of the same name. */
export interface JobKind<Ids extends JobIds = JobIds> {
  readonly name: string;
  /** Name of the id that deduplicates jobs: while a job waits or runs for a subject, further jobs for it are dropped. */
  readonly subject: string;
  /** Only a type: the payload of this kind. */
  readonly ids?: Ids;
}

export const defineJob = <Ids extends JobIds>(kind: {
  name: string;
  subject: keyof Ids & string;
}): JobKind<Ids> => Object.freeze({ ...kind });

/** A payload as queued: the ids and, if the request that enqueues the job is traced, its `traceparent`. */
export type JobData<Ids extends JobIds = JobIds> = Ids & { readonly traceparent?: string };

export function jobData<Ids extends JobIds>(ids: Ids): JobData<Ids> {
  const traceparent = tracing().traceparent();
  return traceparent === undefined ? ids : { ...ids, traceparent };
}

/** Returns the id that deduplicates jobs of one kind. */
export const subjectOf = (kind: JobKind, ids: JobIds): string =>
  (ids as Record<string, string>)[kind.subject]!;

const WEEK_S = 7 * 24 * 60 * 60;

/**
 * Options of every job. A failed job is retried after 1, 2, 4 … s. After the last attempt it is kept for a week, for
 * inspection. Completed jobs are removed at once, because keeping some of them would cost a count per completion.
 */
export const jobOptions = (kind: JobKind, ids: JobIds) =>
  ({
    attempts: 10,
    backoff: { type: 'exponential', delay: 1_000 },
    removeOnComplete: true,
    removeOnFail: { age: WEEK_S },
    deduplication: { id: subjectOf(kind, ids) },
  }) satisfies JobsOptions;
