/** Which part of the service a process is: `registry.role` of its resource. */
export type TracedRole = 'api' | 'worker' | 'standalone';

/** A job as it is told in its span. */
export interface TracedJob {
  /** The queue's name. */
  kind: string;
  id: string | undefined;
  /** Of the request that ordered it (W3C Trace Context); undefined where none did. */
  traceparent: string | undefined;
}

/** The service's own traces. What is not traced costs a call of an empty function. */
export interface Tracing {
  /** W3C trace id, 32 lower-case hex, of what is under way; undefined where it is not traced. */
  traceId(): string | undefined;
  /** The `traceparent` by which another process goes on with what is under way; undefined where it is not traced. */
  traceparent(): string | undefined;
  /**
   * Does a job as a part of the trace of the request that ordered it. One that no request ordered is not traced: rules
   * order jobs for the traces that arrive, and one that led to another trace would go on for ever.
   */
  job<Result>(job: TracedJob, work: () => Promise<Result>): Promise<Result>;
  /** Sends what has not been sent, and ends. Never fails; what cannot be sent within `ms` milliseconds is dropped. */
  stop(ms: number): Promise<void>;
}

/** That of a process that is not traced. */
export const UNTRACED: Tracing = {
  traceId: () => undefined,
  traceparent: () => undefined,
  job: (_job, work) => work(),
  stop: () => Promise.resolve(),
};
