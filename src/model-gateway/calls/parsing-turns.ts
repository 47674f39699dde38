import { Injectable } from '@nestjs/common';
import { FairLimiter, TimeSlice } from '#platform/concurrency';
import { countValues, MAX_DEPTH } from '#platform/json';

/** Bytes that all answers together may parse in one iteration of the event loop without turns. */
const FREE_BYTES = 32 * 1024;
/**
 * Milliseconds of one iteration of the event loop for turns. Node accepts one connection in each iteration, so that long ones make
 * everybody's new connections wait.
 */
const SLICE_MS = 1;
/** Size up to which JSON is parsed whatever it contains, in bytes. */
export const CHECKED_MIN = 16 * 1024;
/** Maximum values of larger JSON, because parsing takes up to 1 microsecond per value. */
const VALUES_MAX = 20_000;

/** Describes JSON that `isCostly` refuses, for errors. */
export const COSTLY = `more than ${VALUES_MAX.toLocaleString('en')} values or ${MAX_DEPTH} levels`;

/** Tells whether JSON takes too long to parse for one turn. */
export const isCostly = (bytes: Buffer): boolean =>
  bytes.length > CHECKED_MIN && countValues(bytes, VALUES_MAX, MAX_DEPTH) > VALUES_MAX;

/** Tells whether JSON is nested more deeply than any answer, which makes it slow to parse. */
export const isDeep = (bytes: Buffer): boolean =>
  bytes.length > CHECKED_MIN &&
  countValues(bytes, Number.MAX_SAFE_INTEGER, MAX_DEPTH) > Number.MAX_SAFE_INTEGER;

/**
 * Lets answers of models be parsed and translated without blocking the event loop: a little at once, and all else in turns of a
 * millisecond or little more, between organizations.
 */
@Injectable()
export class ParsingTurns {
  private readonly limiter = new FairLimiter({ concurrency: 1 });
  private readonly slice = new TimeSlice(undefined, SLICE_MS);
  private freeBytes = FREE_BYTES;

  /**
   * Runs `work`, which must be synchronous, at once or in its turn. A turn always ends before the next begins.
   *
   * @param bytes the size of what is parsed
   * @throws the error of `work`, or the reason of the signal if it is aborted before
   */
  run<Result>(
    orgId: string,
    signal: AbortSignal,
    bytes: number,
    work: () => Result,
  ): Result | Promise<Result> {
    if (bytes > this.freeBytes) return this.inTurn(orgId, signal, work);
    if (this.freeBytes === FREE_BYTES) setImmediate(() => (this.freeBytes = FREE_BYTES));
    this.freeBytes -= bytes;
    return work();
  }

  private inTurn<Result>(orgId: string, signal: AbortSignal, work: () => Result): Promise<Result> {
    return this.limiter.run(orgId, signal, async () => {
      try {
        return work();
      } finally {
        if (this.slice.isOver()) await this.slice.yield();
      }
    });
  }
}
