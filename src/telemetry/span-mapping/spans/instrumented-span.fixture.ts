import type { OtlpAttributes, OtlpValue } from '#otlp';
import type { MeaningfulEvent, SpanMeaning } from '../span-meaning.types';

/** A span as an instrumentation sends it, cut down to what it says of the work, and what is to be read from it. */
export interface InstrumentedSpan {
  sentBy: string;
  attributes: OtlpAttributes;
  events?: MeaningfulEvent[];
  /** Fields that are not null. */
  meaning: Partial<SpanMeaning>;
}

/** The parts of a message that is this text, in OpenTelemetry's present form. */
export const textParts = (content: string): OtlpValue => [{ type: 'text', content }];
