import { OtlpDecodeError } from './otlp.types';
import type { OtlpRejection } from './otlp.types';

/**
 * Limit of resources, scopes, records and their parts other than attributes. An empty event takes two bytes of protobuf and
 * a hundred of memory: without this limit a body of 16 MiB could take a gigabyte and seconds of CPU time. Exporters send 512
 * spans or log records at a time, collectors 8,192.
 */
export const MAX_RECORDS = 100_000;

/**
 * Limit of histogram buckets in one request: 16 MiB of eight bytes each. An empty bucket of an exponential histogram takes
 * a single byte, but also eight in memory.
 */
export const MAX_BUCKETS = 2_097_152;

/** Distinct reasons to report; further ones are only counted. */
export const MAX_REASONS = 10;

/** The kind of records in a request. The names are part of responses. */
export interface RecordKind<Item> {
  one: string;
  many: string;
  /** Everything that counts against {@link MAX_RECORDS}. */
  counted: string;
  /** Normalizes an item from a reader. Returns why it is invalid, or undefined. */
  finish: (item: Item) => string | undefined;
}

interface Tally {
  count: number;
  first: number;
}

/** Collects the valid records of one request, and counts the invalid ones. */
export class RecordCollector<Item> {
  /** The valid records so far, in the order of the request. */
  readonly items: Item[] = [];
  private readonly tallies = new Map<string, Tally>();
  private rejected = 0;
  private records = 0;
  private buckets = 0;

  constructor(private readonly kind: RecordKind<Item>) {}

  /** The count so far. */
  get recordCount(): number {
    return this.records;
  }

  /** Counts a record or part against the limit, before it is read. */
  countRecord(): void {
    this.records += 1;
    if (this.records > MAX_RECORDS) {
      throw new OtlpDecodeError(
        `The request holds more than ${MAX_RECORDS} ${this.kind.counted}. Send smaller batches.`,
      );
    }
  }

  /** Counts a bucket of a histogram against the limit, before it is read. */
  countBucket(): void {
    this.buckets += 1;
    if (this.buckets > MAX_BUCKETS) {
      throw new OtlpDecodeError(
        `The histograms of the request have more than ${MAX_BUCKETS} buckets. Send smaller batches.`,
      );
    }
  }

  /**
   * Adds an item from a reader, or rejects it.
   *
   * @param fault the fault that the reader found, if any. Faults are texts and not exceptions, because a body can hold
   *   hundreds of thousands of them, and each exception would cost the time of a valid item or more.
   */
  collect(item: Item, fault?: string): void {
    const reason = fault ?? this.kind.finish(item);
    if (reason === undefined) {
      this.items.push(item);
    } else {
      this.reject(reason);
    }
  }

  /** Rejects an item that could not be read. */
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

  /** The rejected items so far. */
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
