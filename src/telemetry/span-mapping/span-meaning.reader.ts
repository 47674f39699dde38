import type { OtlpAttributes, OtlpValue } from '#otlp';
import { isJsonObject } from '#platform/json';
import { flattenedList } from './flattened-list';
import { inMilliseconds } from './field.parser';
import { MEANING_TABLE } from './meaning.table';
import { eventsIn, messagesOf } from './message-events';
import type {
  MeaningAttribute,
  MeaningfulSpan,
  MeaningRule,
  MeaningSource,
  SpanMeaning,
} from './span-meaning.types';

/** The measures and names of a span: all fields except its content. */
export type SpanFields = Omit<SpanMeaning, 'input' | 'output'>;

/** The input and output of a span. */
export type SpanContent = Pick<SpanMeaning, 'input' | 'output'>;

/** One bit per field. */
const BITS = {
  model: 1,
  provider: 1 << 1,
  operation: 1 << 2,
  agentName: 1 << 3,
  toolName: 1 << 4,
  inputTokens: 1 << 5,
  outputTokens: 1 << 6,
  cachedInputTokens: 1 << 7,
  cacheWriteTokens: 1 << 8,
  reasoningTokens: 1 << 9,
  costUsd: 1 << 10,
  sessionId: 1 << 11,
  serviceName: 1 << 12,
  agentVersion: 1 << 13,
  userId: 1 << 14,
  environment: 1 << 15,
  tags: 1 << 16,
  promptName: 1 << 17,
  promptVersion: 1 << 18,
  timeToFirstTokenMs: 1 << 19,
} satisfies Record<keyof SpanFields, number>;

/** The bits of the fields that an attribute may fill, by the name of the attribute. */
const FIELDS_BY_NAME = new Map<string, number>();
/** The bits of the fields that an event may fill. */
let fieldsOfEvents = 0;
/** The bits of the fields that may also come from elsewhere, such as the resource. */
let alwaysPossible = 0;

for (const [field, bit] of Object.entries(BITS)) {
  for (const source of MEANING_TABLE[field as keyof SpanFields].sources) {
    if (source.from === 'attribute' || source.from === 'presence')
      FIELDS_BY_NAME.set(source.name, (FIELDS_BY_NAME.get(source.name) ?? 0) | bit);
    else if (source.from === 'event') fieldsOfEvents |= bit;
    else alwaysPossible |= bit;
  }
}

/**
 * Reads the measures and names of a span: for each field, the first source in the {@link MEANING_TABLE} with a valid value.
 * Numbers may be strings. Ignores negative, invalid and absurdly large numbers. Includes usage that an agent's span repeats
 * from the model calls below it.
 *
 * Checks the attribute names first, and looks up only the fields that they may fill, because most spans describe HTTP or
 * database calls and have none of the hundred names in the table.
 */
export function readSpanFields(span: MeaningfulSpan): SpanFields {
  let possible = span.events.length === 0 ? alwaysPossible : alwaysPossible | fieldsOfEvents;
  for (const name of Object.keys(span.attributes)) possible |= FIELDS_BY_NAME.get(name) ?? 0;
  const field = <T>(bit: number, rule: MeaningRule<T>): T | null =>
    (possible & bit) === 0 ? null : read(rule, span);
  const cached = field(BITS.cachedInputTokens, MEANING_TABLE.cachedInputTokens);
  const written = field(BITS.cacheWriteTokens, MEANING_TABLE.cacheWriteTokens);
  return {
    model: field(BITS.model, MEANING_TABLE.model),
    provider: field(BITS.provider, MEANING_TABLE.provider),
    operation: field(BITS.operation, MEANING_TABLE.operation),
    agentName: field(BITS.agentName, MEANING_TABLE.agentName),
    toolName: field(BITS.toolName, MEANING_TABLE.toolName),
    inputTokens: withCacheTokens(field(BITS.inputTokens, MEANING_TABLE.inputTokens), cached, written, span),
    outputTokens: field(BITS.outputTokens, MEANING_TABLE.outputTokens),
    cachedInputTokens: cached,
    cacheWriteTokens: written,
    reasoningTokens: field(BITS.reasoningTokens, MEANING_TABLE.reasoningTokens),
    timeToFirstTokenMs: field(BITS.timeToFirstTokenMs, MEANING_TABLE.timeToFirstTokenMs),
    costUsd: field(BITS.costUsd, MEANING_TABLE.costUsd),
    sessionId: field(BITS.sessionId, MEANING_TABLE.sessionId),
    serviceName: field(BITS.serviceName, MEANING_TABLE.serviceName),
    agentVersion: field(BITS.agentVersion, MEANING_TABLE.agentVersion),
    userId: field(BITS.userId, MEANING_TABLE.userId),
    environment: field(BITS.environment, MEANING_TABLE.environment),
    tags: field(BITS.tags, MEANING_TABLE.tags),
    promptName: field(BITS.promptName, MEANING_TABLE.promptName),
    promptVersion: field(BITS.promptVersion, MEANING_TABLE.promptVersion),
  };
}

/**
 * Returns input tokens that include cache tokens, as the conventions define them. Some senders forward the counts of providers
 * that count cache tokens separately, or only the cache tokens.
 */
function withCacheTokens(
  input: number | null,
  cached: number | null,
  written: number | null,
  span: MeaningfulSpan,
): number | null {
  const cache = (cached ?? 0) + (written ?? 0);
  if (cache === 0) return input;
  if (input === null) return cache;
  return cache > input || excludesCache(span) ? input + cache : input;
}

/** Providers that count cache tokens separately: Anthropic, and Bedrock's Converse. */
const SEPARATE_COUNTS = /anthropic|bedrock/i;

/**
 * Whether the sender is known to forward counts without cache tokens: the AI SDK up to version 5, which has no details of the
 * input tokens, and Strands.
 */
function excludesCache({ attributes }: MeaningfulSpan): boolean {
  if (attributes['gen_ai.usage.cache_write_input_tokens'] !== undefined) return true;
  const provider = attributes['ai.model.provider'];
  return (
    typeof provider === 'string' &&
    SEPARATE_COUNTS.test(provider) &&
    !Object.hasOwn(attributes, 'ai.usage.inputTokenDetails.cacheReadTokens') &&
    !Object.hasOwn(attributes, 'ai.usage.inputTokenDetails.noCacheTokens')
  );
}

/** Reads input and output. May parse them, which takes about as long as JSON.parse. */
export function readSpanContent(span: MeaningfulSpan): SpanContent {
  return { input: read(MEANING_TABLE.input, span), output: read(MEANING_TABLE.output, span) };
}

function read<T>(rule: MeaningRule<T>, span: MeaningfulSpan): T | null {
  for (const source of rule.sources) {
    const raw = find(source, span);
    if (raw !== undefined) {
      const value = rule.as(raw, mimeType(source, span), instructions(source, span));
      if (value !== null) return textMemberOf(source, value);
    }
  }
  return null;
}

function find(source: MeaningSource, span: MeaningfulSpan): OtlpValue | undefined {
  switch (source.from) {
    case 'attribute':
      return hasMeaning(source, span) ? inUnit(source, span.attributes[source.name]) : undefined;
    case 'resource':
      return span.resource.attributes[source.name];
    case 'flattened':
      return flattenedList(span.attributes, source.name, source.itemNames);
    case 'event':
      return attributesOf(source.event, span)?.[source.name];
    case 'messages':
      return messagesOf(
        source.attribute === undefined ? span.events : eventsIn(span.attributes[source.attribute]),
        source.roles,
      );
    case 'presence':
      return span.attributes[source.name] === undefined ? undefined : source.value;
  }
}

/** Returns the text that a content has in the member that the source names, else the content. */
function textMemberOf<T>(source: MeaningSource, content: T): T {
  if (source.from !== 'attribute' || source.textMember === undefined || !isJsonObject(content))
    return content;
  const text = content[source.textMember];
  return typeof text === 'string' && text !== '' ? (text as T) : content;
}

function hasMeaning({ where }: MeaningAttribute, span: MeaningfulSpan): boolean {
  if (!where) return true;
  const kind = span.attributes[where.name];
  return typeof kind === 'string' && kind.toLowerCase() === where.is.toLowerCase();
}

const inUnit = ({ unit }: MeaningAttribute, value: OtlpValue | undefined): OtlpValue | undefined =>
  unit === 's' && value !== undefined ? inMilliseconds(value) : value;

const attributesOf = (event: string, span: MeaningfulSpan): OtlpAttributes | undefined =>
  span.events.find(({ name }) => name === event)?.attributes;

function mimeType(source: MeaningSource, span: MeaningfulSpan): OtlpValue | undefined {
  return source.from === 'attribute' && source.mimeType ? span.attributes[source.mimeType] : undefined;
}

/** Returns the system instructions, which are next to the messages: in the span, or in the same event. */
function instructions(source: MeaningSource, span: MeaningfulSpan): OtlpValue | undefined {
  if ((source.from !== 'attribute' && source.from !== 'event') || !source.instructions) return undefined;
  const attributes = source.from === 'event' ? attributesOf(source.event, span) : span.attributes;
  return attributes?.[source.instructions];
}
