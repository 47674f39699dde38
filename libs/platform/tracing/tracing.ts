/** The part of the service that a process runs: `registry.role` of its resource. */
export type TracedRole = 'api' | 'worker' | 'standalone';

/** A job as its span describes it. */
export interface TracedJob {
  /** The queue's name. */
  kind: string;
  id: string | undefined;
  /** `traceparent` of the request that enqueued the job (W3C Trace Context); undefined if no traced request did. */
  traceparent: string | undefined;
}

/** The service's own traces. Without tracing, each method is an empty function. */
export interface Tracing {
  /** Returns the W3C trace id of the current work, 32 lower-case hex digits; undefined if it is not traced. */
  traceId(): string | undefined;
  /** Returns the `traceparent` with which another process continues the trace; undefined if it is not traced. */
  traceparent(): string | undefined;
  /**
   * Runs a job within the trace of the request that enqueued it. Jobs without such a request are not traced, because
   * scoring rules enqueue jobs for new traces: the trace of such a job would cause another job, and so on without end.
   */
  job<Result>(job: TracedJob, work: () => Promise<Result>): Promise<Result>;
  /** Runs work that does not belong to the current trace. */
  untraced<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Exports the remaining spans and stops. Never fails; drops spans that cannot be sent within `ms` milliseconds. */
  stop(ms: number): Promise<void>;
}

/** Used by a process that is not traced. */
export const UNTRACED: Tracing = {
  traceId: () => undefined,
  traceparent: () => undefined,
  job: (_job, work) => work(),
  untraced: (work) => work(),
  stop: () => Promise.resolve(),
};
