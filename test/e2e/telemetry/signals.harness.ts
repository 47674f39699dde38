/** Exports of logs and metrics, for tests that both signals share. */
import { bytes, double, fixed64, keyValue, message, varint } from '../../../libs/testing/otlp-bytes';

/** The time of the first record: 2026-11-20T00:00:00Z. Each further record is a nanosecond later. */
const START = 1_795_132_800_000_000_000n;
let recordCount = 0n;

export interface SentRecord {
  /** Identifies the record: the body of a log record, or the name of a metric. */
  text: string;
  /** Nanoseconds since 1970. */
  time?: bigint;
  service?: string;
}

export interface TestSignal {
  path: string;
  table: 'log_records' | 'metric_points';
  /** The member of a partial success with the number of rejected records. */
  rejected: string;
  json: (records: readonly SentRecord[]) => Buffer;
  protobuf: (records: readonly SentRecord[]) => Buffer;
  /** Returns an export of one valid and one invalid record. */
  partlyInvalid: (text: string) => Buffer;
  textOf: (item: any) => string;
}

const timeOf = ({ time }: SentRecord): bigint => time ?? START + recordCount++;

const attributes = (service: string) => [{ key: 'service.name', value: { stringValue: service } }];
const resource = (service: string): Buffer =>
  message(1, message(1, ...keyValue('service.name', bytes(1, service))));

/** Returns a function that encodes each record in its own resource. */
const jsonOf = (names: [string, string, string], items: (record: SentRecord) => object[]) => {
  const [resources, scopes, list] = names;
  return (records: readonly SentRecord[]): Buffer => {
    const all = records.map((record) => ({
      resource: { attributes: attributes(record.service ?? 'shop') },
      [scopes]: [{ scope: { name: 'test' }, [list]: items(record) }],
    }));
    return Buffer.from(JSON.stringify({ [resources]: all }));
  };
};

const protobufOf =
  (item: (record: SentRecord) => Buffer) =>
  (records: readonly SentRecord[]): Buffer =>
    Buffer.concat(
      records.map((record) =>
        message(
          1,
          resource(record.service ?? 'shop'),
          message(2, message(1, bytes(1, 'test')), item(record)),
        ),
      ),
    );

const LOG_NAMES: [string, string, string] = ['resourceLogs', 'scopeLogs', 'logRecords'];
const METRIC_NAMES: [string, string, string] = ['resourceMetrics', 'scopeMetrics', 'metrics'];

const jsonLog = (record: SentRecord) => ({
  timeUnixNano: String(timeOf(record)),
  body: { stringValue: record.text },
});
const jsonGauge = (record: SentRecord) => ({
  name: record.text,
  gauge: { dataPoints: [{ timeUnixNano: String(timeOf(record)), asDouble: 1.5 }] },
});

export const SIGNALS: Record<'logs' | 'metrics', TestSignal> = {
  logs: {
    path: '/telemetry/v1/logs',
    table: 'log_records',
    rejected: 'rejectedLogRecords',
    json: jsonOf(LOG_NAMES, (record) => [jsonLog(record)]),
    protobuf: protobufOf((record) =>
      message(2, fixed64(1, timeOf(record)), varint(2, 9), message(5, bytes(1, record.text))),
    ),
    partlyInvalid: (text) =>
      jsonOf(LOG_NAMES, (record) => [{ severityText: 1 }, jsonLog(record)])([{ text }]),
    textOf: (item) => item.body,
  },
  metrics: {
    path: '/telemetry/v1/metrics',
    table: 'metric_points',
    rejected: 'rejectedDataPoints',
    json: jsonOf(METRIC_NAMES, (record) => [jsonGauge(record)]),
    protobuf: protobufOf((record) =>
      message(2, bytes(1, record.text), message(5, message(1, fixed64(3, timeOf(record)), double(4, 1.5)))),
    ),
    partlyInvalid: (text) =>
      jsonOf(METRIC_NAMES, (record) => [{ name: 'empty' }, jsonGauge(record)])([{ text }]),
    textOf: (item) => item.name,
  },
};
