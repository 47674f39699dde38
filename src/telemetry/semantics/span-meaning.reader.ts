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

/** The figures and names of a span: everything but what was said. */
export type SpanFigures = Omit<SpanMeaning, 'input' | 'output'>;

/** What was said. */
export type SpanContent = Pick<SpanMeaning, 'input' | 'output'>;

/**
 * The part of a span's meaning that is cheap to read, for every span that comes in: of each field, the first name of
 * the {@link MEANING_TABLE} that holds a valid value. Numbers may be strings; negative, broken and absurd ones are
 * passed over. It looks at this span only: where an agent's span repeats the tokens of the model calls below it,
 * adding both counts them twice.
 */
export function readSpanFigures(span: MeaningfulSpan): SpanFigures {
  return {
    model: read(MEANING_TABLE.model, span),
    provider: read(MEANING_TABLE.provider, span),
    operation: read(MEANING_TABLE.operation, span),
    agentName: read(MEANING_TABLE.agentName, span),
    toolName: read(MEANING_TABLE.toolName, span),
    inputTokens: read(MEANING_TABLE.inputTokens, span),
    outputTokens: read(MEANING_TABLE.outputTokens, span),
    cachedInputTokens: read(MEANING_TABLE.cachedInputTokens, span),
    cacheWriteTokens: read(MEANING_TABLE.cacheWriteTokens, span),
    reasoningTokens: read(MEANING_TABLE.reasoningTokens, span),
    costUsd: read(MEANING_TABLE.costUsd, span),
    sessionId: read(MEANING_TABLE.sessionId, span),
    serviceName: read(MEANING_TABLE.serviceName, span),
  };
}

/** The part of the meaning that may have to be parsed: about as costly as JSON.parse of the messages. */
export function readSpanContent(span: MeaningfulSpan): SpanContent {
  return { input: read(MEANING_TABLE.input, span), output: read(MEANING_TABLE.output, span) };
}

function read<T>(rule: MeaningRule<T>, span: MeaningfulSpan): T | null {
  for (const source of rule.sources) {
    const found = find(source, span);
    if (found !== undefined) {
      const value = rule.as(found, mimeType(source, span), instructions(source, span));
      if (value !== null) {
        return value;
      }
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

/** What the system was told stands beside the messages: in the span, or in the same event. */
function instructions(source: MeaningSource, span: MeaningfulSpan): OtlpValue | undefined {
  if ((source.from !== 'attribute' && source.from !== 'event') || !source.instructions) return undefined;
  const attributes = source.from === 'event' ? attributesOf(source.event, span) : span.attributes;
  return attributes?.[source.instructions];
}
