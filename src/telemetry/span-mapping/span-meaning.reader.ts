import type { OtlpAttributes, OtlpValue } from '#otlp';
import { flattenedList } from './flattened-list';
import { MEANING_TABLE } from './meaning.table';
import { eventsIn, messagesOf } from './message-events';
import type {
  MeaningAttribute,
  MeaningfulSpan,
  MeaningRule,
  MeaningSource,
  SpanMeaning,
} from './span-meaning.types';

/** The figures and names of a span: everything but its content. */
export type SpanFields = Omit<SpanMeaning, 'input' | 'output'>;

/** The input and output of a span. */
export type SpanContent = Pick<SpanMeaning, 'input' | 'output'>;

/** A bit for each figure. */
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
} satisfies Record<keyof SpanFields, number>;

/** The figures that may be read from an attribute, by its name. */
const FIELDS_BY_NAME = new Map<string, number>();
/** The figures that may be found elsewhere than in the span's attributes. */
let alwaysPossible = 0;

for (const [field, bit] of Object.entries(BITS)) {
  for (const source of MEANING_TABLE[field as keyof SpanFields].sources) {
    if (source.from === 'attribute' || source.from === 'presence')
      FIELDS_BY_NAME.set(source.name, (FIELDS_BY_NAME.get(source.name) ?? 0) | bit);
    else alwaysPossible |= bit;
  }
}

/**
 * Reads the figures and names of a span: for each field, the first place of the {@link MEANING_TABLE} with a valid value.
 * Numbers may be strings; negative, invalid and absurdly large ones are ignored. Usage that an agent's span repeats from
 * the model calls below it is included.
 *
 * Checks the attribute names first, and looks up only the fields that they may fill, because most spans describe HTTP or
 * database calls and have none of the hundred names of the table.
 */
export function readSpanFields(span: MeaningfulSpan): SpanFields {
  let possible = alwaysPossible;
  for (const name of Object.keys(span.attributes)) possible |= FIELDS_BY_NAME.get(name) ?? 0;
  const figure = <T>(bit: number, rule: MeaningRule<T>): T | null =>
    (possible & bit) === 0 ? null : read(rule, span);
  return {
    model: figure(BITS.model, MEANING_TABLE.model),
    provider: figure(BITS.provider, MEANING_TABLE.provider),
    operation: figure(BITS.operation, MEANING_TABLE.operation),
    agentName: figure(BITS.agentName, MEANING_TABLE.agentName),
    toolName: figure(BITS.toolName, MEANING_TABLE.toolName),
    inputTokens: figure(BITS.inputTokens, MEANING_TABLE.inputTokens),
    outputTokens: figure(BITS.outputTokens, MEANING_TABLE.outputTokens),
    cachedInputTokens: figure(BITS.cachedInputTokens, MEANING_TABLE.cachedInputTokens),
    cacheWriteTokens: figure(BITS.cacheWriteTokens, MEANING_TABLE.cacheWriteTokens),
    reasoningTokens: figure(BITS.reasoningTokens, MEANING_TABLE.reasoningTokens),
    costUsd: figure(BITS.costUsd, MEANING_TABLE.costUsd),
    sessionId: figure(BITS.sessionId, MEANING_TABLE.sessionId),
    serviceName: figure(BITS.serviceName, MEANING_TABLE.serviceName),
    agentVersion: figure(BITS.agentVersion, MEANING_TABLE.agentVersion),
  };
}

/** Reads input and output. It may parse them, which costs about as much as JSON.parse. */
export function readSpanContent(span: MeaningfulSpan): SpanContent {
  return { input: read(MEANING_TABLE.input, span), output: read(MEANING_TABLE.output, span) };
}

function read<T>(rule: MeaningRule<T>, span: MeaningfulSpan): T | null {
  for (const source of rule.sources) {
    const found = find(source, span);
    if (found !== undefined) {
      const value = rule.as(found, mimeType(source, span), instructions(source, span));
      if (value !== null) return value;
    }
  }
  return null;
}

function find(source: MeaningSource, span: MeaningfulSpan): OtlpValue | undefined {
  switch (source.from) {
    case 'attribute':
      return hasMeaning(source, span) ? span.attributes[source.name] : undefined;
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

function hasMeaning({ where }: MeaningAttribute, span: MeaningfulSpan): boolean {
  if (!where) return true;
  const kind = span.attributes[where.name];
  return typeof kind === 'string' && kind.toLowerCase() === where.is.toLowerCase();
}

const attributesOf = (event: string, span: MeaningfulSpan): OtlpAttributes | undefined =>
  span.events.find(({ name }) => name === event)?.attributes;

function mimeType(source: MeaningSource, span: MeaningfulSpan): OtlpValue | undefined {
  return source.from === 'attribute' && source.mimeType ? span.attributes[source.mimeType] : undefined;
}

/** System instructions are next to the messages: in the span, or in the same event. */
function instructions(source: MeaningSource, span: MeaningfulSpan): OtlpValue | undefined {
  if ((source.from !== 'attribute' && source.from !== 'event') || !source.instructions) return undefined;
  const attributes = source.from === 'event' ? attributesOf(source.event, span) : span.attributes;
  return attributes?.[source.instructions];
}
