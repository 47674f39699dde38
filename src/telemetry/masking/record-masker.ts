import type { OtlpAttributes, OtlpDataPoint, OtlpLogRecord, OtlpResource, OtlpScope, OtlpSpan } from '#otlp';
import type { Masking } from '#platform/masking';
import { eventNameOf } from '../evaluation-events/evaluation-event';
import { MEANING_TABLE, MESSAGE_EVENTS, ROLES_OF_OUTPUT } from '../span-mapping/meaning.table';
import type { SpanMeaning } from '../span-mapping/span-meaning.types';

/** The fields of a span whose values are identifiers and names. */
const IDENTIFIERS = [
  'model',
  'provider',
  'operation',
  'agentName',
  'toolName',
  'sessionId',
  'serviceName',
  'agentVersion',
  'userId',
  'environment',
  'promptName',
  'promptVersion',
] as const satisfies (keyof SpanMeaning)[];

/** The attributes with identifiers and names, besides those whose name says so. */
const IDENTIFYING = new Set([
  ...IDENTIFIERS.flatMap((field) =>
    MEANING_TABLE[field].sources.flatMap((source) =>
      source.from === 'attribute' || source.from === 'resource' ? source.name : [],
    ),
  ),
  'event.name',
  'gen_ai.evaluation.name',
  'model_gateway.model',
  'model_gateway.provider',
]);

type Content = 'input' | 'output';

/** The field that an attribute fills: whether it is part of the input or of the output of a span. */
const CONTENT_OF = new Map<string, Content>();
/** The same for attributes that begin with a name and a dot. */
const CONTENT_OF_FLATTENED: [prefix: string, content: Content][] = [];
for (const content of ['input', 'output'] as const) {
  for (const source of MEANING_TABLE[content].sources) {
    if (source.from === 'flattened') CONTENT_OF_FLATTENED.push([`${source.name}.`, content]);
    else if (source.from === 'attribute' || source.from === 'event') CONTENT_OF.set(source.name, content);
    if ('instructions' in source && source.instructions) CONTENT_OF.set(source.instructions, content);
  }
}

const contentOf = (name: string): Content | undefined =>
  CONTENT_OF.get(name) ?? CONTENT_OF_FLATTENED.find(([prefix]) => name.startsWith(prefix))?.[1];

/** Returns whether an event contains the input or the output of a span. */
const contentOfEvent = (name: string | null): Content | undefined => {
  if (name === null || !MESSAGE_EVENTS.includes(name)) return undefined;
  return Object.hasOwn(ROLES_OF_OUTPUT, name) ? 'output' : 'input';
};

/**
 * Masks the records of one export in place, in steps of a few milliseconds, before anything is read from them: all texts
 * except identifiers, and names that are not written by people, such as those of metrics.
 */
export class RecordMasker {
  /** The parts that records share. */
  private readonly masked = new Set<object>();
  private readonly counts = new Map<OtlpSpan, number>();

  constructor(private readonly masking: Masking) {}

  /** Number of values that were masked in a span, without its resource and scope. */
  countOf(span: OtlpSpan): number {
    return this.counts.get(span) ?? 0;
  }

  *span(span: OtlpSpan): Generator<void, void> {
    yield* this.source(span);
    const { masking } = this;
    const before = masking.count;
    span.name = yield* masking.text(span.name, 'name');
    if (span.status.message !== '') {
      span.status.message = yield* masking.text(span.status.message, 'status_message');
    }
    yield* this.attributes(span.attributes);
    for (const event of span.events) {
      const content = contentOfEvent(event.name);
      if (content === undefined) event.name = yield* masking.text(event.name, 'name');
      yield* this.attributes(event.attributes, content);
    }
    for (const { attributes } of span.links) yield* this.attributes(attributes);
    if (masking.count > before) this.counts.set(span, masking.count - before);
  }

  *logRecord(record: OtlpLogRecord): Generator<void, void> {
    yield* this.source(record);
    const content = contentOfEvent(eventNameOf(record));
    record.body = yield* this.masking.json(record.body, 'body', content);
    yield* this.attributes(record.attributes, content);
  }

  *dataPoint({ metric, attributes, exemplars }: OtlpDataPoint): Generator<void, void> {
    yield* this.source(metric);
    if (this.isFirst(metric)) {
      metric.description = yield* this.masking.text(metric.description, 'description');
      yield* this.attributes(metric.metadata);
    }
    yield* this.attributes(attributes);
    for (const exemplar of exemplars) yield* this.attributes(exemplar.attributes);
  }

  private *source({ resource, scope }: { resource: OtlpResource; scope: OtlpScope }): Generator<void, void> {
    if (this.isFirst(resource)) yield* this.attributes(resource.attributes);
    if (this.isFirst(scope)) yield* this.attributes(scope.attributes);
  }

  private isFirst(part: object): boolean {
    if (this.masked.has(part)) return false;
    this.masked.add(part);
    return true;
  }

  /** @param content whether the owner of the attributes contains input or output */
  private *attributes(attributes: OtlpAttributes, content?: Content): Generator<void, void> {
    const { masking } = this;
    const { masker } = masking;
    const around = masker.within(content);
    for (const name of Object.keys(attributes)) {
      const value = attributes[name]!;
      if (typeof value !== 'string' && typeof value !== 'object') continue;
      if (masker.isIdentifier(name) || IDENTIFYING.has(name)) continue;
      const rules = masker.hasFields ? this.rulesOf(name, around) : around;
      const masked = yield* masking.value(value, rules);
      if (masked !== value) attributes[name] = masked as string;
    }
  }

  private rulesOf(name: string, around: number): number {
    const { masker } = this.masking;
    const content = contentOf(name);
    return masker.into(content === undefined ? around : masker.into(around, content), name);
  }
}
