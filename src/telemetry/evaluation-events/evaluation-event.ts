import { createHash } from 'node:crypto';
import type { OtlpAttributes, OtlpLogRecord, OtlpSpan, OtlpValue } from '#otlp';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { cutText } from '#platform/json';

/** The event by which OpenTelemetry reports the score of a model's output, as a log record or as an event of a span. */
export const EVALUATION_EVENT = 'gen_ai.evaluation.result';

const ATTRIBUTES = {
  name: 'gen_ai.evaluation.name',
  value: 'gen_ai.evaluation.score.value',
  label: 'gen_ai.evaluation.score.label',
  explanation: 'gen_ai.evaluation.explanation',
};

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

/** Stores the scores of evaluation events. The area of evaluation provides it. */
export abstract class EvaluationEvents {
  /** Stores each event once, whatever is sent again or at the same time. Locks the scores in the order of their keys. */
  abstract store(tx: Tx, events: readonly EvaluationEvent[]): Promise<void>;
}

/** A score without its sender. */
type SentScore = Omit<EvaluationEvent, 'scope'>;

/** Why an evaluation event is not a score, as the end of a sentence. */
type Fault = string;

interface Sent {
  attributes: OtlpAttributes;
  traceId: string | null;
  spanId: string | null;
  timeUnixNano: bigint;
}

/** Returns the name of a log record's event. It was an attribute before records had a field for it. */
export const eventNameOf = ({ eventName, attributes }: OtlpLogRecord): string | null => {
  const named = attributes['event.name'];
  return eventName || (typeof named === 'string' && named !== '' ? named : null);
};

/** The evaluation event that a log record is, as it was sent: its members are in the attributes, or in the body. */
function sentIn(record: OtlpLogRecord): Sent[] {
  if (eventNameOf(record) !== EVALUATION_EVENT) return [];
  const { traceId, spanId, timeUnixNano, observedTimeUnixNano, body } = record;
  const attributes = isMap(body) ? { ...body, ...record.attributes } : record.attributes;
  return [{ attributes, traceId, spanId, timeUnixNano: timeUnixNano || observedTimeUnixNano }];
}

/** The evaluation events of a span, as they were sent. */
function sentWith({ traceId, spanId, events }: OtlpSpan): Sent[] {
  if (events.length === 0) return [];
  return events
    .filter(({ name }) => name === EVALUATION_EVENT)
    .map(({ attributes, timeUnixNano }) => ({ attributes, traceId, spanId, timeUnixNano }));
}

const isMap = (value: OtlpValue): value is OtlpAttributes =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const textOf = (value: OtlpValue | undefined): string | null =>
  typeof value === 'string' && value !== '' ? value : null;

function read({ attributes, traceId, spanId, timeUnixNano }: Sent): SentScore | Fault {
  const name = textOf(attributes[ATTRIBUTES.name]);
  if (name === null) return `without ${ATTRIBUTES.name}`;
  if (name.length > NAME_MAX) return `with a ${ATTRIBUTES.name} of more than ${NAME_MAX} characters`;
  if (traceId === null) return 'without a trace';
  const value = attributes[ATTRIBUTES.value] ?? null;
  // NaN and the infinities are texts
  if (value !== null && typeof value !== 'number') return `whose ${ATTRIBUTES.value} is not a finite number`;
  const label = textOf(attributes[ATTRIBUTES.label]);
  if (value === null && label === null) return `without ${ATTRIBUTES.value} and ${ATTRIBUTES.label}`;
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
    explanation: explanation === null ? null : cutText(explanation, EXPLANATION_MAX),
    key,
  };
}

const isScore = (read: SentScore | Fault): read is SentScore => typeof read !== 'string';

const scoresOf = (scope: Scope, events: Sent[]): EvaluationEvent[] =>
  events.flatMap((event) => {
    const found = read(event);
    return isScore(found) ? [{ scope, ...found }] : [];
  });

/** Returns the scores that a log record of a sender reports. */
export const scoresInLog = (scope: Scope, record: OtlpLogRecord): EvaluationEvent[] =>
  scoresOf(scope, sentIn(record));

/** Returns the scores that a span of a sender reports. */
export const scoresInSpan = (scope: Scope, span: OtlpSpan): EvaluationEvent[] =>
  scoresOf(scope, sentWith(span));

/** Says how many evaluation events of an export are not scores, one sentence for each reason. */
function* notes<One>(records: readonly One[], eventsOf: (record: One) => Sent[]): Generator<void, string[]> {
  const counts = new Map<Fault, number>();
  for (const record of records) {
    for (const event of eventsOf(record)) {
      const found = read(event);
      if (!isScore(found)) counts.set(found, (counts.get(found) ?? 0) + 1);
    }
    yield;
  }
  return Array.from(
    counts,
    ([fault, count]) =>
      `${count} evaluation event${count === 1 ? '' : 's'} ${fault}: stored, but not as a score.`,
  );
}

export const warningsForLogs = (records: readonly OtlpLogRecord[]): Generator<void, string[]> =>
  notes(records, sentIn);

export const warningsForSpans = (spans: readonly OtlpSpan[]): Generator<void, string[]> => notes(spans, sentWith);
