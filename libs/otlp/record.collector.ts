import { OtlpDecodeError } from './otlp.errors';
import type { OtlpRejection } from './otlp.types';

/**
 * Whatever of a request takes memory of its own: resources, scopes and records, and what records hold but attributes.
 * An empty event takes two bytes of protobuf and a hundred of memory: without this limit a body of 16 MiB could ask for
 * a gigabyte, and for seconds of computing. Exporters send 512 spans or log records at a time, collectors 8,192.
 */
export const MAX_RECORDS = 100_000;

/**
 * Buckets of histograms in one request. As many as 16 MiB hold of the eight bytes that a bucket of a histogram takes;
 * one of an exponential histogram takes a single byte where it is empty, and eight in memory all the same.
 */
export const MAX_BUCKETS = 2_097_152;

/** Different reasons kept; further ones are only counted. */
export const MAX_REASONS = 10;

/** What a request is an export of. The names are part of answers to senders. */
export interface RecordKind<Item> {
  one: string;
  many: string;
  /** All that counts against {@link MAX_RECORDS}. */
  counted: string;
  /** Brings an item into its final form, as a reader has filled it. @returns why it is invalid, if it is */
  finish: (item: Item) => string | undefined;
}

interface Tally {
  count: number;
  first: number;
}

/** Gathers the records of one request and counts those that are left out. */
export class RecordCollector<Item> {
  /** Those taken so far, in the order of the request. */
  readonly items: Item[] = [];
  private readonly tallies = new Map<string, Tally>();
  private rejected = 0;
  private records = 0;
  private buckets = 0;

  constructor(private readonly kind: RecordKind<Item>) {}

  /** What was counted so far. */
  get recordCount(): number {
    return this.records;
  }

  /** Counts something against the limit of the request; before it is read. */
  countRecord(): void {
    this.records += 1;
    if (this.records > MAX_RECORDS) {
      throw new OtlpDecodeError(
        `The request holds more than ${MAX_RECORDS} ${this.kind.counted}; send smaller batches.`,
      );
    }
  }

  /** Counts a bucket of a histogram; before it is read. */
  countBucket(): void {
    this.buckets += 1;
    if (this.buckets > MAX_BUCKETS) {
      throw new OtlpDecodeError(
        `The histograms of the request have more than ${MAX_BUCKETS} buckets; send smaller batches.`,
      );
    }
  }

  /**
   * Takes an item as a reader has filled it, or leaves it out.
   *
   * @param fault what the reader has found wrong, if anything. Faults are texts and not exceptions, because a body can
   *   hold hundreds of thousands of them, and each exception would cost the time of a valid item or more.
   */
  collect(item: Item, fault?: string): void {
    const reason = fault ?? this.kind.finish(item);
    if (reason === undefined) {
      this.items.push(item);
    } else {
      this.reject(reason);
    }
  }

  /** Leaves out an item that could not even be read. */
  reject(reason: string): void {
    const position = this.items.length + this.rejected;
    this.rejected += 1;
    const tally = this.tallies.get(reason);
    if (tally) {
      tally.count += 1;
    } else if (this.tallies.size < MAX_REASONS) {
      this.tallies.set(reason, { count: 1, first: position });
    }
  }

  /** What was left out so far. */
  rejection(): OtlpRejection {
    const { one, many } = this.kind;
    const reasons = [...this.tallies].map(([reason, { count, first }]) =>
      count === 1
        ? `${reason} (the ${one} at index ${first}).`
        : `${reason} (${count} ${many}, the first at index ${first}).`,
    );
    return { count: this.rejected, reasons };
  }
}
