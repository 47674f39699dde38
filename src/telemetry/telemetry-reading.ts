import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Environment } from '#platform/config';
import { Database, readWithin, type SqlExecutor } from '#platform/db';
import { Problem, problem, problemOfDatabaseError } from '#platform/problem';
import { FairTurns } from '#platform/turns';

/**
 * How much of a request's time a read may take. Less than all of it, so that a store that does not answer is told as
 * that (503), before the request as a whole is given up (504).
 */
const READ_SHARE = 0.8;

/** Of a process's connections, those that reads may hold at once: storing traces, and all else, has the others. */
const CONNECTION_SHARE = 0.5;

/** Reads that wait for their turn, of all organizations together. */
const WAITING_MAX = 1_000;

const UNREADABLE = 'Telemetry cannot be read at the moment. Try again.';
const RETRY = { 'Retry-After': '1' };

export interface ReadOptions {
  /** What is read; traces, unless given. */
  what?: string;
  /** Aborted when nobody waits for what is read any more. */
  signal?: AbortSignal;
}

/**
 * Has reads of traces take turns by organization, so that however slow they are, they hold up neither storing nor one
 * another for long. A turn lasts until its statements have really ended, also where the answer was given before that.
 */
@Injectable()
export class TelemetryReading {
  private readonly turns: FairTurns;
  private readonly timeoutMs: number;

  constructor(
    private readonly database: Database,
    environment: Environment,
  ) {
    const atOnce = Math.max(1, Math.floor(environment.DATABASE_POOL_SIZE * CONNECTION_SHARE));
    this.turns = new FairTurns(atOnce, WAITING_MAX);
    this.timeoutMs = environment.REQUEST_TIMEOUT_MS * READ_SHARE;
  }

  /**
   * Does a read, whose statements all go to `on`, when its turn comes. They see the same rows, and write none.
   *
   * @param hint what to ask for instead, to those whose read takes too long
   * @throws Problem 503: `service_unavailable` where the database cannot be reached, or the read takes too long;
   *   `service_overloaded` where too many wait for their turn. The signal's reason, at once, when it is aborted: what
   *   waits for its turn is then never done, and what is being done begins no further statement
   */
  async read<Result>(
    scope: Scope,
    hint: string,
    work: (on: SqlExecutor) => Promise<Result>,
    { what = 'traces', signal }: ReadOptions = {},
  ): Promise<Result> {
    const late = problem.unavailable(`The ${what} could not be read in time. ${hint}`, { headers: RETRY });
    const ending = new AbortController();
    const end = (): void => ending.abort(signal?.reason);
    if (signal?.aborted) end();
    // not by AbortSignal.any: a request of many reads would keep what each has read until it ends
    else signal?.addEventListener('abort', end, { once: true });
    const deadline = performance.now() + this.timeoutMs;
    const timer = setTimeout(() => ending.abort(late), this.timeoutMs);
    try {
      return await Promise.race([
        this.turns.take(scope, ending.signal, () => readWithin(this.database, deadline, work, ending.signal)),
        rejectedBy(ending.signal),
      ]);
    } catch (error) {
      throw signal?.aborted ? (signal.reason as Error) : readProblem(error, late);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
    }
  }
}

/** A database that does not answer at all does not end its statements either. */
const rejectedBy = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });

function readProblem(error: unknown, late: Problem): unknown {
  const found = error instanceof Problem ? error : problemOfDatabaseError(error);
  if (found?.code === 'request_timeout') {
    return problem.unavailable(late.detail, { headers: RETRY, cause: error });
  }
  const isOutage = found?.code === 'service_unavailable' && found !== late;
  return isOutage ? problem.unavailable(UNREADABLE, { headers: RETRY, cause: error }) : error;
}
