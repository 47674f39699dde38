import { DEFAULT_LIMITS, ElementCounter, type OtlpLimits } from './element.counter';
import type { OtlpRejection } from './otlp.types';

/** Maximum number of distinct reasons in a response. Further reasons are only counted. */
export const MAX_REASONS = 10;

/** The kind of records in a request. Responses contain the names. */
export interface RecordKind<Item> {
  one: string;
  many: string;
  /** The parts that count toward `MAX_RECORDS`. */
  countedParts: string;
  /** Normalizes an item from a reader. Returns why it is invalid, or undefined. */
  finish: (item: Item) => string | undefined;
}

interface Tally {
  count: number;
  first: number;
}

/** Collects the valid records of one request, and counts invalid records and dropped parts. */
export class RecordCollector<Item> extends ElementCounter {
  /** The valid records so far, in the order of the request. */
  readonly items: Item[] = [];
  private readonly tallies = new Map<string, Tally>();
  private rejected = 0;

  constructor(
    private readonly kind: RecordKind<Item>,
    limits: OtlpLimits = DEFAULT_LIMITS,
  ) {
    super(kind.countedParts, limits);
  }

  /**
   * Adds an item from a reader, or rejects it.
   *
   * @param fault the fault that the reader found, if any. Faults are texts instead of exceptions, because a body can have
   *   hundreds of thousands of them, and an exception takes at least as long as reading a valid item.
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

  /** Returns the rejected items so far. The reasons also describe the parts that were dropped from other items. */
  rejection(): OtlpRejection {
    const { one, many } = this.kind;
    const reasons = [...this.tallies].map(([reason, { count, first }]) =>
      count === 1
        ? `${reason} (the ${one} at index ${first}).`
        : `${reason} (${count} ${many}, the first at index ${first}).`,
    );
    return { count: this.rejected, reasons: [...reasons, ...this.describeDropped()] };
  }
}
