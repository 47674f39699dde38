import type { OtlpAttributes, OtlpValue } from '#otlp';

/** What a span says about the work of a model or an agent. null where the span does not say it. */
export interface SpanMeaning {
  /** The model that answered, else the one that was asked for. */
  model: string | null;
  /** Who serves the model, as the span names it ('openai', 'aws.bedrock'). */
  provider: string | null;
  /** What kind of step it is, in the words of its convention ('chat', 'execute_tool'; 'LLM', 'TOOL'). */
  operation: string | null;
  /** Tokens of the input, cached ones included; from 0 to 10^9. */
  inputTokens: number | null;
  /** Tokens of the output; from 0 to 10^9. */
  outputTokens: number | null;
  /** What the span itself says that it cost, in US dollars; from 0 to 10^6. */
  costUsd: number | null;
  /** The session or conversation it belongs to. */
  sessionId: string | null;
  /** The service that sent it. */
  serviceName: string | null;
  /** Input messages or value: JSON where the span holds JSON, else the text. */
  input: OtlpValue;
  /** Output messages or value, likewise. */
  output: OtlpValue;
}

/** The part of a decoded span (OtlpSpan) that its meaning is read from. */
export interface MeaningfulSpan {
  readonly attributes: OtlpAttributes;
  readonly events: readonly MeaningfulEvent[];
  readonly resource: { readonly attributes: OtlpAttributes };
}

export interface MeaningfulEvent {
  readonly name: string;
  readonly attributes: OtlpAttributes;
}

/** A place in a span where a field of its meaning may stand. */
export type MeaningSource =
  /** An attribute of the span; `mimeType` names the attribute that tells whether a text is JSON. */
  | { readonly from: 'attribute'; readonly name: string; readonly mimeType?: string }
  /** An attribute of the span's resource. */
  | { readonly from: 'resource'; readonly name: string }
  /**
   * A list that was flattened into attributes `<name>.<index>.<path>`. `itemNames` are steps of the path that only
   * repeat what the item is; they are left out.
   */
  | { readonly from: 'flattened'; readonly name: string; readonly itemNames: readonly string[] }
  /** An attribute of the first event of that name. */
  | { readonly from: 'event'; readonly event: string; readonly name: string }
  /** One message per event; the role of the message by the event's name. */
  | { readonly from: 'messages'; readonly roles: Readonly<Record<string, string>> };

/** Makes a field's value of what was found there; null when it is not a valid one. */
export type MeaningParser<T> = (found: OtlpValue | undefined, mimeType?: OtlpValue) => T | null;

/** The places to look in for one field: the first that holds a valid value wins. */
export interface MeaningRule<T> {
  readonly as: MeaningParser<T>;
  readonly sources: readonly MeaningSource[];
}

export type MeaningTable = { readonly [Field in keyof SpanMeaning]: MeaningRule<SpanMeaning[Field]> };
