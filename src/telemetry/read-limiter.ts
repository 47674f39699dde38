import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Environment } from '#platform/config';
import { Database, readWithin, type SqlExecutor } from '#platform/db';
import { Problem, problem, problemOfDatabaseError } from '#platform/problem';
import { FairLimiter, linkedSignal, unlessAborted } from '#platform/concurrency';

/**
 * Share of a request's time limit that a read may take. Less than 1, so that a slow database leads to a 503 with a hint
 * before the request times out with a 504.
 */
const READ_SHARE = 0.8;

/** Share of a process's connections that reads of one organization may hold at once. */
const CONNECTION_SHARE = 0.5;

/** Maximum number of waiting reads of all organizations. */
const WAITING_MAX = 1_000;

const UNREADABLE = 'Telemetry cannot be read right now. Try again.';
const RETRY = { 'Retry-After': '1' };

export interface ReadOptions {
  /** Noun for error messages. Defaults to `traces`. */
  noun?: string;
  /** Aborted when the result is no longer needed. */
  signal?: AbortSignal;
}

/**
 * Lets organizations take turns in reading, so that slow reads block neither writes nor each other for long. A turn lasts until
 * its statements have ended in the database, even if the request has already failed.
 */
@Injectable()
export class ReadLimiter {
  private readonly limiter: FairLimiter;
  private readonly timeoutMs: number;

  constructor(
    private readonly database: Database,
    environment: Environment,
  ) {
    const maxConcurrent = Math.max(1, Math.floor(environment.DATABASE_POOL_SIZE * CONNECTION_SHARE));
    this.limiter = new FairLimiter({ share: maxConcurrent, maxWaiting: WAITING_MAX });
    this.timeoutMs = environment.REQUEST_TIMEOUT_MS * READ_SHARE;
  }

  /**
   * Runs a read when its turn comes. All its statements must use `on`: they see one snapshot and cannot write.
   *
   * @param hint tells the caller how to narrow a read that takes too long
   * @throws Problem 503: `service_unavailable` if the database cannot be reached or the read takes too long;
   *   `service_overloaded` if too many reads wait. On abort, throws the signal's reason: a waiting read then never starts,
   *   and a running one starts no further statement
   */
  async read<Result>(
    scope: Scope,
    hint: string,
    work: (on: SqlExecutor) => Promise<Result>,
    { noun = 'traces', signal }: ReadOptions = {},
  ): Promise<Result> {
    const late = problem.unavailable(`The ${noun} could not be read in time. ${hint}`, { headers: RETRY });
    const timeout = new AbortController();
    const ending = linkedSignal(signal, timeout.signal);
    const deadline = performance.now() + this.timeoutMs;
    const timer = setTimeout(() => timeout.abort(late), this.timeoutMs);
    try {
      // statements never end if the database does not respond
      const result = this.limiter.run(scope, ending.signal, () =>
        readWithin(this.database, deadline, work, ending.signal),
      );
      return await unlessAborted(result, ending.signal);
    } catch (error) {
      throw signal?.aborted ? (signal.reason as Error) : readProblem(error, late);
    } finally {
      clearTimeout(timer);
      ending.unlink();
    }
  }
}

function readProblem(error: unknown, late: Problem): unknown {
  const databaseProblem = error instanceof Problem ? error : problemOfDatabaseError(error);
  if (databaseProblem?.code === 'request_timeout') {
    return problem.unavailable(late.detail, { headers: RETRY, cause: error });
  }
  const isOutage = databaseProblem?.code === 'service_unavailable' && databaseProblem !== late;
  return isOutage ? problem.unavailable(UNREADABLE, { headers: RETRY, cause: error }) : error;
}
