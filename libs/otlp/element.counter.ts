import { OtlpDecodeError } from './otlp.types';

/** Limits on the parts of a request. Parts beyond a limit are dropped and counted; the rest is stored. */
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
 * Maximum number of resources, scopes, records and their parts other than attributes. An empty event takes two bytes of
 * protobuf, but a hundred bytes of memory. Without this limit, a body of 16 MiB could take a gigabyte and seconds of CPU time.
 * Exporters send 512 spans or log records at a time, collectors 8,192.
 */
export const MAX_RECORDS = 100_000;

/**
 * Maximum number of histogram buckets in one request: 16 MiB of eight bytes each. An empty bucket of an exponential histogram
 * takes a single byte in the body, but eight bytes in memory.
 */
export const MAX_BUCKETS = 2_097_152;

/**
 * Maximum number of attributes, nested values and unknown fields in one request, including dropped ones. A body of 16 MiB with
 * real names and values has at most half as many, but it could have eight million empty ones.
 */
export const MAX_ELEMENTS = 2_097_152;

/**
 * Maximum number of values of one record: its attributes with all nested values, including the attributes of its events and
 * links. Bounds the time for which one record blocks the event loop. The SDKs' own limits allow 33,024 (128 attributes of a
 * span, and of each of its 128 events and 128 links).
 */
export const MAX_RECORD_VALUES = 65_536;

/** Work between two pauses, in elements: less than a millisecond. */
const PAUSE_AFTER = 4_000;
/** Work of a record, in elements. */
const RECORD_WORK = 8;

/** Counts the parts of one request, and enforces their limits. */
export class ElementCounter {
  /** Number of attributes and nested values that were dropped so far. */
  droppedValues = 0;
  private records = 0;
  private buckets = 0;
  private elements = 0;
  private valuesLeft = MAX_RECORD_VALUES;
  private workAtPause = 0;
  private droppedEvents = 0;
  private droppedLinks = 0;
  private readonly warnings: string[] = [];

  /** @param countedParts the parts that count toward {@link MAX_RECORDS}, as text for the error */
  constructor(
    private readonly countedParts: string,
    readonly limits: OtlpLimits,
  ) {}

  /** Number of records and their parts so far. */
  get recordCount(): number {
    return this.records;
  }

  /** Starts a record, a resource or a scope, which has its own {@link MAX_RECORD_VALUES}. */
  startRecord(): void {
    this.valuesLeft = MAX_RECORD_VALUES;
  }

  /** Counts a record or part, before it is read. Throws if there are too many. */
  countRecord(): void {
    this.records += 1;
    if (this.records > MAX_RECORDS) {
      throw new OtlpDecodeError(
        `The request has more than ${MAX_RECORDS} ${this.countedParts}. Send smaller batches.`,
      );
    }
  }

  /** Counts a bucket of a histogram, before it is read. Throws if there are too many. */
  countBucket(): void {
    this.buckets += 1;
    if (this.buckets > MAX_BUCKETS) {
      throw new OtlpDecodeError(
        `The histograms of the request have more than ${MAX_BUCKETS} buckets. Send smaller batches.`,
      );
    }
  }

  /** Counts an attribute, a nested value or an unknown field, whether or not it is dropped. Throws if there are too many. */
  countElement(): void {
    this.elements += 1;
    if (this.elements > MAX_ELEMENTS) throw tooManyElements();
  }

  /**
   * Counts a value of the current record, before it is read.
   *
   * @param index position among the attributes of its owner; omitted for a value nested in an attribute
   * @returns whether the value is kept; if not, counts it as dropped
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

  /** Returns whether other work should take a turn, because enough was read since the last pause. */
  isPauseDue(): boolean {
    const work = this.records * RECORD_WORK + this.elements + this.buckets;
    if (work - this.workAtPause < PAUSE_AFTER) return false;
    this.workAtPause = work;
    return true;
  }

  /** Adds a sentence for the response that rejects nothing. */
  warn(sentence: string): void {
    this.warnings.push(sentence);
  }

  /** Returns the warnings, and a sentence for each kind of dropped parts. */
  describeDropped(): string[] {
    const { attributes, events, links } = this.limits;
    const kinds: [name: string, count: number, limit: string][] = [
      [
        'attributes',
        this.droppedValues,
        `each span, event, link, resource, scope, log record, data point and exemplar keeps at most ${attributes}, and each span, log record, data point, resource and scope at most ${MAX_RECORD_VALUES} with nested values`,
      ],
      ['events', this.droppedEvents, `each span keeps at most ${events}`],
      ['links', this.droppedLinks, `each span keeps at most ${links}`],
    ];
    const dropped = kinds.filter(([, count]) => count > 0);
    return [
      ...this.warnings,
      ...dropped.map(([name, count, limit]) => `Dropped ${name}: ${count} (${limit}).`),
    ];
  }
}

export const tooManyElements = (): OtlpDecodeError =>
  new OtlpDecodeError(
    `The request has more than ${MAX_ELEMENTS} attributes, nested values and unknown fields. Send smaller batches.`,
  );
