import { OtlpDecodeError } from './otlp.types';

/** What a request may hold for each part. Anything beyond is dropped and counted, and the rest is kept. */
export interface OtlpLimits {
  /** Attributes of a span, event, link, resource, scope, log record, data point, exemplar or metric. */
  attributes: number;
  /** Events of a span. */
  events: number;
  /** Links of a span. */
  links: number;
}

export const DEFAULT_LIMITS: OtlpLimits = { attributes: 4_096, events: 1_024, links: 1_024 };

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

/**
 * Limit of attributes, values nested in them, and unknown fields in one request, dropped ones included. A body of 16 MiB
 * with real names and values holds at most half of it, but it could hold eight million empty ones.
 */
export const MAX_ELEMENTS = 2_097_152;

/**
 * Values that one record keeps: its attributes with everything nested in them, also those of its events and links. Bounds
 * the time for which one record blocks the event loop. The SDKs' own limits allow 33,024 (128 attributes of a span, and of
 * each of its 128 events and 128 links).
 */
export const MAX_RECORD_VALUES = 65_536;

/** Work between two pauses, in elements: less than a millisecond. */
const PAUSE_AFTER = 4_000;
/** Work of a record compared with an element. */
const RECORD_WORK = 8;

/** Counts the parts of one request against their limits. */
export class ElementCounter {
  /** Attributes, and values nested in them, that were dropped so far. */
  droppedValues = 0;
  private records = 0;
  private buckets = 0;
  private elements = 0;
  private valuesLeft = MAX_RECORD_VALUES;
  private workAtPause = 0;
  private droppedEvents = 0;
  private droppedLinks = 0;

  /** @param counted names everything that counts against {@link MAX_RECORDS}, for the error */
  constructor(
    private readonly counted: string,
    readonly limits: OtlpLimits,
  ) {}

  /** The records and their parts so far. */
  get recordCount(): number {
    return this.records;
  }

  /** Starts a record, a resource or a scope, which has its own {@link MAX_RECORD_VALUES}. */
  startRecord(): void {
    this.valuesLeft = MAX_RECORD_VALUES;
  }

  /** Counts a record or part against the limit, before it is read. */
  countRecord(): void {
    this.records += 1;
    if (this.records > MAX_RECORDS) {
      throw new OtlpDecodeError(
        `The request holds more than ${MAX_RECORDS} ${this.counted}. Send smaller batches.`,
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

  /** Counts an attribute, a nested value or an unknown field against the limit, whether it is kept or not. */
  countElement(): void {
    this.elements += 1;
    if (this.elements > MAX_ELEMENTS) throw tooManyElements();
  }

  /**
   * Counts a value of the current record, before it is read.
   *
   * @param index its position among the attributes of its owner; none for a value nested in an attribute
   * @returns whether it is kept; if not, it is counted as dropped
   */
  keepsValue(index = 0): boolean {
    this.countElement();
    if (index >= this.limits.attributes || this.valuesLeft === 0) {
      this.droppedValues += 1;
      return false;
    }
    this.valuesLeft -= 1;
    return true;
  }

  /** Returns whether a span keeps one more event. */
  keepsEvent(index: number): boolean {
    if (index < this.limits.events) return true;
    this.droppedEvents += 1;
    return false;
  }

  /** Returns whether a span keeps one more link. */
  keepsLink(index: number): boolean {
    if (index < this.limits.links) return true;
    this.droppedLinks += 1;
    return false;
  }

  /** Returns whether enough was read since the last call that returned true for other work to take a turn. */
  isPauseDue(): boolean {
    const work = this.records * RECORD_WORK + this.elements + this.buckets;
    if (work - this.workAtPause < PAUSE_AFTER) return false;
    this.workAtPause = work;
    return true;
  }

  /** Describes what was dropped, a sentence for each kind. */
  dropped(): string[] {
    const { attributes, events, links } = this.limits;
    const kinds: [name: string, count: number, limit: string][] = [
      [
        'attributes',
        this.droppedValues,
        `each span, event, link, resource, scope, log record, data point and exemplar keeps at most ${attributes}, and each record at most ${MAX_RECORD_VALUES} with nested values`,
      ],
      ['events', this.droppedEvents, `each span keeps at most ${events}`],
      ['links', this.droppedLinks, `each span keeps at most ${links}`],
    ];
    return kinds
      .filter(([, count]) => count > 0)
      .map(([name, count, limit]) => `Dropped ${name}: ${count} (${limit}).`);
  }
}

export const tooManyElements = (): OtlpDecodeError =>
  new OtlpDecodeError(
    `The request holds more than ${MAX_ELEMENTS} attributes, nested values and unknown fields. Send smaller batches.`,
  );
