import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { FairTurns } from '#platform/turns';

/**
 * What is worked out side by side, so that what is large never holds up what is small: comparisons and gates, by the
 * number of results of their larger experiment (`SMALL_RESULTS_MAX`), and the agreement of scorers.
 */
export type Lane = 'small' | 'large' | 'agreement';

/** A comparison of no more results on either side than this is small: it holds a few MiB at most. */
export const SMALL_RESULTS_MAX = 1_000;

/** Of one lane at once: a large comparison may hold some 30 MiB while it is worked out, two of all lanes a slice of time each. */
const AT_ONCE = 2;
/** Of one lane; each holds a request. */
const WAITING_MAX = 64;

/** Has what is computed by a process wait for each other, so that many at once take no more memory. */
@Injectable()
export class ComputingTurns {
  private readonly lanes: Record<Lane, FairTurns> = {
    small: new FairTurns(AT_ONCE, WAITING_MAX),
    large: new FairTurns(AT_ONCE, WAITING_MAX),
    agreement: new FairTurns(AT_ONCE, WAITING_MAX),
  };

  /** @throws what `FairTurns.take` does */
  take<Result>(scope: Scope, lane: Lane, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    return this.lanes[lane].take(scope, signal, work);
  }
}
