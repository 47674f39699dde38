import { toJsonText } from '#platform/json';
import { MAX_SUBJECT_LENGTH } from '../scorers/engine/limits';

/** Spans a scorer sees of one target, at most. */
export const SPANS_MAX = 1_000;
/**
 * What a scorer sees of one target, in bytes of JSON, at most. A text has no more UTF-16 code units than bytes, so what
 * keeps to it keeps to the engine's limit.
 */
export const SUBJECT_MAX = MAX_SUBJECT_LENGTH - 64 * 1024; // for the names of members and the like

/** Bytes of a value as JSON, with what separates it from the next. */
export const jsonSize = (value: unknown): number => Buffer.byteLength(toJsonText(value)) + 1;

/** Counts what of a subject's room is used. What does not fit takes none of it. */
export class Room {
  spans = SPANS_MAX;
  bytes = SUBJECT_MAX;

  /** @returns whether there was room for so many bytes, which are used from now on. */
  take(bytes: number): boolean {
    if (bytes > this.bytes) return false;
    this.bytes -= bytes;
    return true;
  }

  /** Takes items from the first on, up to one that does not fit. @returns those that it took. */
  first<Item>(items: readonly Item[], sizeOf: (item: Item) => number): Item[] {
    const without = items.findIndex((item) => !this.take(sizeOf(item)));
    return without < 0 ? [...items] : items.slice(0, without);
  }
}
