import type { OtlpValue } from '#otlp';
import { flattenedList } from './flattened-list';
import { MEANING_TABLE } from './meaning.table';
import { messagesOf } from './message-events';
import type { MeaningfulSpan, MeaningRule, MeaningSource, SpanMeaning } from './span-meaning.types';

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
    inputTokens: read(MEANING_TABLE.inputTokens, span),
    outputTokens: read(MEANING_TABLE.outputTokens, span),
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
      const value = rule.as(found, mimeType(source, span));
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
      return span.attributes[source.name];
    case 'resource':
      return span.resource.attributes[source.name];
    case 'flattened':
      return flattenedList(span.attributes, source.name, source.itemNames);
    case 'event':
      return span.events.find(({ name }) => name === source.event)?.attributes[source.name];
    case 'messages':
      return messagesOf(span.events, source.roles);
  }
}

function mimeType(source: MeaningSource, span: MeaningfulSpan): OtlpValue | undefined {
  return source.from === 'attribute' && source.mimeType ? span.attributes[source.mimeType] : undefined;
}
