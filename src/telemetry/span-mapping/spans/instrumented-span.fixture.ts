import type { OtlpAttributes, OtlpValue } from '#otlp';
import type { MeaningfulEvent, SpanMeaning } from '../span-meaning.types';

/** The relevant part of a span as an instrumentation sends it, and its expected meaning. */
export interface InstrumentedSpan {
  sentBy: string;
  attributes: OtlpAttributes;
  events?: MeaningfulEvent[];
  /** The fields that are not null. */
  meaning: Partial<SpanMeaning>;
}

/** Returns the parts of a text message in the current format of OpenTelemetry. */
export const textParts = (content: string): OtlpValue => [{ type: 'text', content }];
