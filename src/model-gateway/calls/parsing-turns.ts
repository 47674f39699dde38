import { Injectable } from '@nestjs/common';
import { FairLimiter, TimeSlice } from '#platform/concurrency';
import { type CountOptions, countValues, MAX_DEPTH } from '#platform/json';
import { Problem } from '#platform/problem';

/** Bytes that all calls together may parse in one iteration of the event loop without turns. */
const FREE_BYTES = 32 * 1024;
/**
 * Milliseconds of one iteration of the event loop for turns. Node accepts one connection in each iteration, so that long ones make
 * everybody's new connections wait.
 */
const SLICE_MS = 1;
/** Size up to which JSON is parsed whatever it contains, in bytes. */
export const CHECKED_MIN = 16 * 1024;
/** Maximum values of a larger answer, because parsing takes up to 1 microsecond per value. */
const ANSWER_VALUES_MAX = 20_000;
/** Maximum values of a larger answer for the service itself, which may have log probabilities or many embeddings. */
const INTERNAL_VALUES_MAX = 100_000;
/** Maximum values of a larger request, which may have thousands of messages. */
const REQUEST_VALUES_MAX = 50_000;
/** What a number in a list counts: lists of tokens and embeddings are cheap to parse. */
const NUMBER_WEIGHT = 0.1;

/** Describes JSON that `isCostly` refuses, for errors. */
export const COSTLY = `more than ${ANSWER_VALUES_MAX.toLocaleString('en')} values or ${MAX_DEPTH} levels`;

/** Tells whether an answer takes too long to parse for one turn. */
export const isCostly = (bytes: Buffer): boolean =>
  hasMore(bytes, ANSWER_VALUES_MAX, { maxDepth: MAX_DEPTH, numberWeight: NUMBER_WEIGHT });

/** Tells whether an answer for the service itself takes too long to parse for one turn. */
export const isCostlyInternally = (bytes: Buffer): boolean =>
  hasMore(bytes, INTERNAL_VALUES_MAX, { maxDepth: MAX_DEPTH, numberWeight: NUMBER_WEIGHT });

/** Throws 413 for a request that takes too long to parse for one turn. */
export function checkRequestValues(bytes: Buffer): void {
  if (!hasMore(bytes, REQUEST_VALUES_MAX, { numberWeight: NUMBER_WEIGHT })) return;
  const max = REQUEST_VALUES_MAX.toLocaleString('en');
  throw new Problem(
    'payload_too_large',
    `The request has more than ${max} members and elements. Ten numbers of a list count as one. Send fewer values.`,
  );
}

const hasMore = (bytes: Buffer, max: number, options: CountOptions): boolean =>
  bytes.length > CHECKED_MIN && countValues(bytes, max, options) > max;

/**
 * Lets requests and answers of models be parsed and translated without blocking the event loop: a little at once, and all else in
 * turns of a millisecond or little more, between organizations.
 */
@Injectable()
export class ParsingTurns {
  private readonly limiter = new FairLimiter({ concurrency: 1 });
  private readonly slice = new TimeSlice(undefined, SLICE_MS);
  private freeBytes = FREE_BYTES;

  /**
   * Runs `work`, which must be synchronous, at once or in its turn. A turn always ends before the next begins.
   *
   * @param signal ends the wait for the turn
   * @param bytes the size of what is parsed
   * @throws the error of `work`, or the reason of the signal if it is aborted before
   */
  run<Result>(
    orgId: string,
    signal: AbortSignal | undefined,
    bytes: number,
    work: () => Result,
  ): Result | Promise<Result> {
    if (bytes > this.freeBytes) return this.inTurn(orgId, signal, work);
    if (this.freeBytes === FREE_BYTES) setImmediate(() => (this.freeBytes = FREE_BYTES));
    this.freeBytes -= bytes;
    return work();
  }

  private inTurn<Result>(
    orgId: string,
    signal: AbortSignal | undefined,
    work: () => Result,
  ): Promise<Result> {
    return this.limiter.run(orgId, signal, async () => {
      try {
        return work();
      } finally {
        if (this.slice.isOver()) await this.slice.yield();
      }
    });
  }
}
