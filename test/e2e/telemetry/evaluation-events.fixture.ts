import { bytes, double, fixed64, keyValue, message } from '../../../libs/testing/otlp-bytes';

/** An evaluation event to send. */
export interface SentEvaluation {
  traceId?: string | undefined;
  spanId?: string | undefined;
  /** Nanoseconds since 1970. */
  time?: bigint;
  attributes: Record<string, string | number>;
}

const EVENT = 'gen_ai.evaluation.result';
/** 2026-11-20T00:00:00Z */
const TIME = 1_795_132_800_000_000_000n;

/** Returns the attributes of a score by a scorer. */
export const evaluation = (
  name: string,
  value: number | string,
  more: Record<string, string> = {},
): Record<string, string | number> => ({
  'gen_ai.evaluation.name': name,
  'gen_ai.evaluation.score.value': value,
  ...more,
});

const jsonAttributes = (attributes: SentEvaluation['attributes']) =>
  Object.entries(attributes).map(([key, value]) => ({
    key,
    // NaN and the infinities are doubles that JSON encodes as strings
    value:
      typeof value === 'number' || /^(NaN|-?Infinity)$/.test(value)
        ? { doubleValue: value }
        : { stringValue: value },
  }));

const protobufAttributes = (field: number, attributes: SentEvaluation['attributes']): Buffer[] =>
  Object.entries(attributes).map(([key, value]) =>
    message(
      field,
      ...keyValue(
        key,
        typeof value === 'number' || /^(NaN|-?Infinity)$/.test(value)
          ? double(4, Number(value))
          : bytes(1, value),
      ),
    ),
  );

export const EVALUATION_FORMS: Record<
  string,
  { path: string; body: (sent: SentEvaluation[]) => Buffer; media: string }
> = {
  'log records in JSON': {
    path: '/telemetry/v1/logs',
    media: 'application/json',
    body: (sent) => {
      const logRecords = sent.map(({ traceId, spanId, time = TIME, attributes }) => ({
        timeUnixNano: String(time),
        eventName: EVENT,
        ...(traceId !== undefined && { traceId }),
        ...(spanId !== undefined && { spanId }),
        attributes: jsonAttributes(attributes),
      }));
      return Buffer.from(JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
    },
  },
  'log records in protobuf': {
    path: '/telemetry/v1/logs',
    media: 'application/x-protobuf',
    body: (sent) =>
      message(
        1,
        message(
          2,
          ...sent.map(({ traceId, spanId, time = TIME, attributes }) =>
            message(
              2,
              fixed64(1, time),
              ...protobufAttributes(6, attributes),
              ...(traceId === undefined ? [] : [bytes(9, Buffer.from(traceId, 'hex'))]),
              ...(spanId === undefined ? [] : [bytes(10, Buffer.from(spanId, 'hex'))]),
              bytes(12, EVENT),
            ),
          ),
        ),
      ),
  },
  'span events in JSON': {
    path: '/telemetry/v1/traces',
    media: 'application/json',
    body: (sent) => {
      const spans = sent.map(({ traceId, spanId, time = TIME, attributes }) => ({
        traceId,
        spanId,
        name: 'chat',
        startTimeUnixNano: String(TIME),
        endTimeUnixNano: String(TIME),
        events: [{ timeUnixNano: String(time), name: EVENT, attributes: jsonAttributes(attributes) }],
      }));
      return Buffer.from(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }));
    },
  },
  'span events in protobuf': {
    path: '/telemetry/v1/traces',
    media: 'application/x-protobuf',
    body: (sent) =>
      message(
        1,
        message(
          2,
          ...sent.map(({ traceId, spanId, time = TIME, attributes }) =>
            message(
              2,
              bytes(1, Buffer.from(traceId!, 'hex')),
              bytes(2, Buffer.from(spanId!, 'hex')),
              bytes(5, 'chat'),
              fixed64(7, TIME),
              fixed64(8, TIME),
              message(11, fixed64(1, time), bytes(2, EVENT), ...protobufAttributes(3, attributes)),
            ),
          ),
        ),
      ),
  },
};
