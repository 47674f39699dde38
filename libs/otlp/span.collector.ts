import { OtlpDecodeError } from './otlp.errors';
import type { DecodedTraceRequest, OtlpSpan } from './otlp.types';
import { finishSpan } from './span.draft';

/**
 * Resources, scopes, spans, events and links of one request together. An empty event takes two bytes of protobuf and a
 * hundred of memory: without this limit a body of 16 MiB could ask for a gigabyte. Exporters send 512 spans at a time.
 */
export const MAX_RECORDS = 250_000;

/** Different reasons kept; further ones are only counted. */
export const MAX_REASONS = 10;

interface Tally {
  count: number;
  first: number;
}

/** Gathers the spans of one request and counts those that are left out. */
export class SpanCollector {
  private readonly spans: OtlpSpan[] = [];
  private readonly tallies = new Map<string, Tally>();
  private rejected = 0;
  private records = 0;

  /** Counts a resource, scope, span, event or link against the limit of the request; before it is read. */
  countRecord(): void {
    this.records += 1;
    if (this.records > MAX_RECORDS) {
      throw new OtlpDecodeError(
        `The request holds more than ${MAX_RECORDS} resources, scopes, spans, events and links; send smaller batches.`,
      );
    }
  }

  /**
   * Takes a span as a reader has filled it, or leaves it out.
   *
   * @param fault what the reader has found wrong, if anything. Faults are texts and not exceptions, because a body can
   *   hold hundreds of thousands of them, and each exception would cost the time of a valid span or more.
   */
  collect(span: OtlpSpan, fault?: string): void {
    const reason = fault ?? finishSpan(span);
    if (reason === undefined) {
      this.spans.push(span);
    } else {
      this.reject(reason);
    }
  }

  private reject(reason: string): void {
    const position = this.spans.length + this.rejected;
    this.rejected += 1;
    const tally = this.tallies.get(reason);
    if (tally) {
      tally.count += 1;
    } else if (this.tallies.size < MAX_REASONS) {
      this.tallies.set(reason, { count: 1, first: position });
    }
  }

  result(): DecodedTraceRequest {
    const reasons = [...this.tallies].map(([reason, { count, first }]) =>
      count === 1
        ? `${reason} (the span at index ${first}).`
        : `${reason} (${count} spans, the first at index ${first}).`,
    );
    return { spans: this.spans, rejected: { count: this.rejected, reasons } };
  }
}
