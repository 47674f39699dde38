import { createHash } from 'node:crypto';
import type { OtlpAttributes, OtlpLogRecord, OtlpSpan, OtlpValue } from '#otlp';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { cutCharacters, cutText } from '#platform/json';
import { numberOf } from '../span-mapping/field.parser';

/** The event with which OpenTelemetry reports the score of a model's output: a log record, or an event of a span. */
export const EVALUATION_EVENT = 'gen_ai.evaluation.result';

const ATTRIBUTES = {
  name: 'gen_ai.evaluation.name',
  value: 'gen_ai.evaluation.score.value',
  label: 'gen_ai.evaluation.score.label',
  explanation: 'gen_ai.evaluation.explanation',
  error: 'error.type',
};

/** Maximum number of warnings about evaluation events in a response. */
const WARNINGS_MAX = 20;

const NAME_MAX = 255;
const LABEL_MAX = 255;
const EXPLANATION_MAX = 2_000;

/** A score that an evaluation event reports. */
export interface EvaluationEvent {
  scope: Scope;
  traceId: string;
  spanId: string | null;
  /** The name of the scorer. */
  name: string;
  /** Finite; null if the event has only a label. */
  score: number | null;
  label: string | null;
  /** At most 2,000 characters. */
  explanation: string | null;
  /** Identifies the event: 128 bits of a hash of its trace, span, name and time (else its content), in hexadecimal. */
  key: string;
}

/** Stores the scores of evaluation events. The evaluation area implements it. */
export abstract class EvaluationEvents {
  /** Stores each event once, even if it is sent repeatedly or concurrently. Locks the scores in the order of their keys. */
  abstract store(tx: Tx, events: readonly EvaluationEvent[]): Promise<void>;
}

/** A score without its sender. */
type ParsedScore = Omit<EvaluationEvent, 'scope'>;

/** Why an evaluation event is not a score: the event and its fault, as the subject of a sentence. */
type Fault = string;

/** An evaluation event as sent. */
interface RawEvent {
  attributes: OtlpAttributes;
  traceId: string | null;
  spanId: string | null;
  timeUnixNano: bigint;
}

/** Returns the name of a log record's event. It was an attribute before records had a field for it. */
export const eventNameOf = ({ eventName, attributes }: OtlpLogRecord): string | null => {
  const attribute = attributes['event.name'];
  return eventName || (typeof attribute === 'string' && attribute !== '' ? attribute : null);
};

/** Returns the evaluation event of a log record, if it is one. Its members are in the attributes or in the body. */
function eventsInLog(record: OtlpLogRecord): RawEvent[] {
  if (eventNameOf(record) !== EVALUATION_EVENT) return [];
  const { traceId, spanId, timeUnixNano, observedTimeUnixNano, body } = record;
  const attributes = isMap(body) ? { ...body, ...record.attributes } : record.attributes;
  return [{ attributes, traceId, spanId, timeUnixNano: timeUnixNano || observedTimeUnixNano }];
}

/** Returns the evaluation events of a span. */
function eventsInSpan({ traceId, spanId, events }: OtlpSpan): RawEvent[] {
  if (events.length === 0) return [];
  return events
    .filter(({ name }) => name === EVALUATION_EVENT)
    .map(({ attributes, timeUnixNano }) => ({ attributes, traceId, spanId, timeUnixNano }));
}

const isMap = (value: OtlpValue): value is OtlpAttributes =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const textOf = (value: OtlpValue | undefined): string | null =>
  typeof value === 'string' && value !== '' ? value : null;

function parseScore(
  { allow }: Scope,
  { attributes, traceId, spanId, timeUnixNano }: RawEvent,
): ParsedScore | Fault {
  if (allow && !allow.areas.includes('scores')) return 'of a key that does not allow the area `scores`';
  const name = textOf(attributes[ATTRIBUTES.name]);
  if (name === null) return `without ${ATTRIBUTES.name}`;
  if (name.length > NAME_MAX) return `with a ${ATTRIBUTES.name} of more than ${NAME_MAX} characters`;
  const named = JSON.stringify(name);
  if (traceId === null) return `${named} without a trace`;
  const error = attributes[ATTRIBUTES.error] ?? null;
  if (error !== null) return `${named} with ${ATTRIBUTES.error}`;
  const raw = attributes[ATTRIBUTES.value] ?? null;
  const value = raw === null ? null : numberOf(raw);
  if (value !== null && !Number.isFinite(value)) {
    return `${named} whose ${ATTRIBUTES.value} is not a finite number`;
  }
  const label = textOf(attributes[ATTRIBUTES.label]);
  if (value === null && label === null) {
    return `${named} without ${ATTRIBUTES.value} and ${ATTRIBUTES.label}`;
  }
  const explanation = textOf(attributes[ATTRIBUTES.explanation]);
  // without a time, only events with the same content are the same
  const identity = timeUnixNano === 0n ? [value, label, explanation] : [String(timeUnixNano)];
  const key = createHash('sha256')
    .update(JSON.stringify([traceId, spanId, name, ...identity]))
    .digest('hex')
    .slice(0, 32);
  return {
    traceId,
    spanId,
    name,
    score: value,
    label: label === null ? null : cutText(label, LABEL_MAX),
    explanation: explanation === null ? null : cutCharacters(explanation, EXPLANATION_MAX),
    key,
  };
}

const isScore = (parsed: ParsedScore | Fault): parsed is ParsedScore => typeof parsed !== 'string';

const scoresOf = (scope: Scope, events: RawEvent[]): EvaluationEvent[] =>
  events.flatMap((event) => {
    const parsed = parseScore(scope, event);
    return isScore(parsed) ? [{ scope, ...parsed }] : [];
  });

/** Returns the scores that a log record of a sender reports. */
export const scoresInLog = (scope: Scope, record: OtlpLogRecord): EvaluationEvent[] =>
  scoresOf(scope, eventsInLog(record));

/** Returns the scores that a span of a sender reports. */
export const scoresInSpan = (scope: Scope, span: OtlpSpan): EvaluationEvent[] =>
  scoresOf(scope, eventsInSpan(span));

/** Returns, in steps, how many evaluation events of an export are not scores: one sentence for each reason. */
function* warnings<One>(
  scope: Scope,
  records: readonly One[],
  eventsOf: (record: One) => RawEvent[],
): Generator<void, string[]> {
  const counts = new Map<Fault, number>();
  for (const record of records) {
    for (const event of eventsOf(record)) {
      const parsed = parseScore(scope, event);
      if (!isScore(parsed)) counts.set(parsed, (counts.get(parsed) ?? 0) + 1);
    }
    yield;
  }
  const sentences = Array.from(counts, ([fault, count]) =>
    count === 1
      ? `1 evaluation event ${fault} was stored, but not as a score.`
      : `${count} evaluation events ${fault} were stored, but not as scores.`,
  );
  if (sentences.length <= WARNINGS_MAX) return sentences;
  return [
    ...sentences.slice(0, WARNINGS_MAX),
    `Evaluation events of ${sentences.length - WARNINGS_MAX} further kinds were stored, but not as scores.`,
  ];
}

export const warningsForLogs = (scope: Scope, records: readonly OtlpLogRecord[]): Generator<void, string[]> =>
  warnings(scope, records, eventsInLog);

export const warningsForSpans = (scope: Scope, spans: readonly OtlpSpan[]): Generator<void, string[]> =>
  warnings(scope, spans, eventsInSpan);
