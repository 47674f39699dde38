import type { OtlpAttributes, OtlpValue } from '#otlp';

/** Fields about the work of a model or an agent, read from a span. A field is null if the span does not have it. */
export interface SpanMeaning {
  /** The model that responded, else the requested one. */
  model: string | null;
  /** The provider that serves the model, as the span names it ('openai', 'aws.bedrock'). */
  provider: string | null;
  /** The kind of step, as its convention names it ('chat', 'execute_tool'; 'LLM', 'TOOL'). */
  operation: string | null;
  /** The agent that the span represents or belongs to. */
  agentName: string | null;
  /** The called tool. */
  toolName: string | null;
  /** Input tokens, including those of the provider's cache; from 0 to 10^9. */
  inputTokens: number | null;
  /** Output tokens, including reasoning; from 0 to 10^9. */
  outputTokens: number | null;
  /** Input tokens read from the provider's cache; from 0 to 10^9. */
  cachedInputTokens: number | null;
  /** Input tokens written to the provider's cache; from 0 to 10^9. */
  cacheWriteTokens: number | null;
  /** Output tokens used for reasoning; from 0 to 10^9. */
  reasoningTokens: number | null;
  /** Time until the first part of a streamed answer, in milliseconds; up to a day. */
  timeToFirstTokenMs: number | null;
  /** The cost that the span itself reports, in US dollars; from 0 to 10^6. */
  costUsd: number | null;
  /** The session or conversation. */
  sessionId: string | null;
  /** The service. */
  serviceName: string | null;
  /** The version of the agent, else of its service. */
  agentVersion: string | null;
  /** The user on whose behalf the agent works. */
  userId: string | null;
  /** The deployment environment ('production'). */
  environment: string | null;
  /** Distinct tags, at most 100. */
  tags: readonly string[] | null;
  /** The prompt template. */
  promptName: string | null;
  /** The version of the prompt template. */
  promptVersion: string | null;
  /** Input messages or value: parsed if it is JSON, else the text. */
  input: OtlpValue;
  /** Output messages or value: parsed if it is JSON, else the text. */
  output: OtlpValue;
}

/** The part of a decoded span (OtlpSpan) that determines its meaning. */
export interface MeaningfulSpan {
  readonly attributes: OtlpAttributes;
  readonly events: readonly MeaningfulEvent[];
  readonly resource: { readonly attributes: OtlpAttributes };
}

export interface MeaningfulEvent {
  readonly name: string;
  readonly attributes: OtlpAttributes;
}

/** The convention that names an attribute; see MEANING_TABLE. */
export type Convention =
  | 'OpenTelemetry'
  | 'OpenTelemetry, earlier'
  | 'OpenInference'
  | 'OpenLLMetry'
  | 'AI SDK'
  | 'Pydantic AI'
  | 'OpenLIT'
  | 'Strands'
  | 'Langfuse'
  | 'LangSmith'
  | 'Mastra';

/** A part of a span that may have a field of its meaning. */
export type MeaningSource = MeaningPlace & { readonly convention: Convention };

export type MeaningPlace =
  | MeaningAttribute
  /** An attribute of the span's resource. */
  | { readonly from: 'resource'; readonly name: string }
  /**
   * A list that was flattened into attributes `<name>.<index>.<path>`. `itemNames` are steps of the path that only repeat the
   * item's kind. They are dropped.
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
   * One message per event. The name of the event determines the role. The events are the span's or, if `attribute` is set, the
   * list in that attribute, whose items have their name as `event.name`.
   */
  | {
      readonly from: 'messages';
      readonly roles: Readonly<Record<string, string>>;
      readonly attribute?: string;
    }
  /** An attribute that only spans of one kind have, so that its presence implies the value. */
  | { readonly from: 'presence'; readonly name: string; readonly value: string };

/** An attribute of the span. */
export interface MeaningAttribute {
  readonly from: 'attribute';
  readonly name: string;
  /** The unit of a duration, if it is not milliseconds. */
  readonly unit?: 's';
  /** Name of the attribute with the media type of the text. */
  readonly mimeType?: string;
  /** Name of the attribute with system instructions, which become the first message. */
  readonly instructions?: string;
  /** The member with the content, if the attribute is a JSON object with a text there. Otherwise the whole is the content. */
  readonly textMember?: string;
  /** The attribute has this meaning only if another attribute has this value. Case-insensitive. */
  readonly where?: { readonly name: string; readonly is: string };
}

/**
 * Parses the value of a field. Returns null if it is invalid. `mimeType` and `instructions` are the values of the attributes
 * that the source names.
 */
export type MeaningParser<T> = (
  raw: OtlpValue | undefined,
  mimeType?: OtlpValue,
  instructions?: OtlpValue,
) => T | null;

/** The sources of one field. The first source with a valid value wins. */
export interface MeaningRule<T> {
  readonly as: MeaningParser<T>;
  readonly sources: readonly MeaningSource[];
}

export type MeaningTable = { readonly [Field in keyof SpanMeaning]: MeaningRule<SpanMeaning[Field]> };
