import type { OtlpAttributes, OtlpValue } from '#otlp';

/** What a span says about the work of a model or an agent. null where the span does not say it. */
export interface SpanMeaning {
  /** The model that answered, else the one that was asked for. */
  model: string | null;
  /** Who serves the model, as the span names it ('openai', 'aws.bedrock'). */
  provider: string | null;
  /** What kind of step it is, in the words of its convention ('chat', 'execute_tool'; 'LLM', 'TOOL'). */
  operation: string | null;
  /** The agent that the step is, or belongs to. */
  agentName: string | null;
  /** The tool that is called. */
  toolName: string | null;
  /** Tokens of the input, those of the provider's cache included; from 0 to 10^9. */
  inputTokens: number | null;
  /** Tokens of the output, those of reasoning included; from 0 to 10^9. */
  outputTokens: number | null;
  /** Those of the input that the provider had in its cache; from 0 to 10^9. */
  cachedInputTokens: number | null;
  /** Those of the input that the provider put into its cache; from 0 to 10^9. */
  cacheWriteTokens: number | null;
  /** Those of the output that the model thought with; from 0 to 10^9. */
  reasoningTokens: number | null;
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

/** Who gave an attribute its name; the conventions are told at the MEANING_TABLE. */
export type Convention =
  | 'OpenTelemetry'
  | 'OpenTelemetry, earlier'
  | 'OpenInference'
  | 'OpenLLMetry'
  | 'AI SDK'
  | 'Pydantic AI'
  | 'OpenLIT'
  | 'Strands';

/** A place in a span where a field of its meaning may stand. */
export type MeaningSource = MeaningPlace & { readonly convention: Convention };

export type MeaningPlace =
  | MeaningAttribute
  /** An attribute of the span's resource. */
  | { readonly from: 'resource'; readonly name: string }
  /**
   * A list that was flattened into attributes `<name>.<index>.<path>`. `itemNames` are steps of the path that only
   * repeat what the item is; they are left out.
   */
  | { readonly from: 'flattened'; readonly name: string; readonly itemNames: readonly string[] }
  /** An attribute of the first event of that name. */
  | {
      readonly from: 'event';
      readonly event: string;
      readonly name: string;
      readonly instructions?: string;
    }
  /**
   * One message per event; the role of the message by the event's name. The events are those of the span or, where an
   * `attribute` is named, the list in it, whose items tell their name as `event.name`.
   */
  | {
      readonly from: 'messages';
      readonly roles: Readonly<Record<string, string>>;
      readonly attribute?: string;
    }
  /** An attribute that only spans of one kind have, so that its presence tells the value. */
  | { readonly from: 'presence'; readonly name: string; readonly value: string };

/** An attribute of the span. */
export interface MeaningAttribute {
  readonly from: 'attribute';
  readonly name: string;
  /** Names the attribute that tells whether a text is JSON. */
  readonly mimeType?: string;
  /** Names the attribute with what the system was told apart from the messages: it becomes the first of them. */
  readonly instructions?: string;
  /** The attribute has this meaning only on spans on which another one has one value, whatever its case. */
  readonly where?: { readonly name: string; readonly is: string };
}

/**
 * Makes a field's value of what was found there; null when it is not a valid one. It is also given what the
 * attributes hold that the source names as `mimeType` and `instructions`.
 */
export type MeaningParser<T> = (
  found: OtlpValue | undefined,
  mimeType?: OtlpValue,
  instructions?: OtlpValue,
) => T | null;

/** The places to look in for one field: the first that holds a valid value wins. */
export interface MeaningRule<T> {
  readonly as: MeaningParser<T>;
  readonly sources: readonly MeaningSource[];
}

export type MeaningTable = { readonly [Field in keyof SpanMeaning]: MeaningRule<SpanMeaning[Field]> };
