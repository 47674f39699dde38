import { Deserializer, Serializer } from 'node:v8';
import type { OtlpLimits } from './element.counter';
import { JsonRecordReader } from './json-envelope.reader';
import { readLogRecord } from './json-log.reader';
import { JsonMetricReader } from './json-metric.reader';
import { readSpan } from './json-trace.reader';
import { type DecodedLogsRequest, LOG_RECORDS, newLogRecord, type OtlpLogRecord } from './log-record';
import { DATA_POINTS } from './metric.draft';
import type { DecodedMetricsRequest, OtlpDataPoint } from './metric.types';
import type { DecodedTraceRequest, OtlpEncoding, OtlpRejection, OtlpSpan } from './otlp.types';
import { ProtobufRecordReader } from './protobuf-envelope.reader';
import { LOG_RECORD } from './protobuf-log.reader';
import { ProtobufMetricReader } from './protobuf-metric.reader';
import { SPAN } from './protobuf-trace.reader';
import { RecordCollector, type RecordKind } from './record.collector';
import type { OtlpSignal } from './response.encoder';
import { newSpan, SPANS } from './span.draft';

/** The members that requests of all signals have in addition to their records. */
interface RequestSummary {
  rejected: OtlpRejection;
  recordCount: number;
}

/** A decoded request in the form in which a worker thread returns it. */
export interface PackedRequest extends RequestSummary {
  /** The serialized records, one after the other, in the format of `node:v8`. */
  records: Uint8Array;
  count: number;
}

interface Rules<Item, Request> {
  kind: RecordKind<Item>;
  json: (bytes: Buffer, collector: RecordCollector<Item>) => { read(): void };
  protobuf: (bytes: Buffer, collector: RecordCollector<Item>) => { read(): Generator<void, void> };
  toRequest: (items: Item[], summary: RequestSummary) => Request;
}

/**
 * Decodes the bodies of one signal in both encodings of OTLP/HTTP.
 *
 * Invalid records are omitted and counted in `rejected`; the others are returned. Attributes, events and links beyond the limits
 * are dropped and also reported in `rejected`. The caller inflates the body and limits its size. Memory and time are
 * proportional to the size. A body may have at most 100,000 records and parts of records (`MAX_RECORDS`), and 2,097,152
 * attributes, nested values and unknown fields (`MAX_ELEMENTS`).
 *
 * All methods throw `OtlpDecodeError` if the body as a whole is unreadable: it is truncated or in another encoding, its envelope
 * (resources, scopes and the lists around the records) is malformed, its records belong to another signal, a value is nested deeper than 64 levels, or it exceeds
 * one of these limits.
 */
export class RequestDecoder<Item extends object, Request> {
  constructor(private readonly rules: Rules<Item, Request>) {}

  /** Decodes a body with pauses for other work, at least after each record. JSON is decoded without pauses. */
  *steps(bytes: Buffer, encoding: OtlpEncoding, limits: OtlpLimits): Generator<void, Request> {
    const { kind, json, protobuf, toRequest } = this.rules;
    const collector = new RecordCollector(kind, limits);
    if (encoding === 'json') json(bytes, collector).read();
    else yield* protobuf(bytes, collector).read();
    return toRequest(collector.items, summaryOf(collector));
  }

  /** Decodes JSON in a worker thread. The thread that waits for it calls {@link unpack}. */
  pack(bytes: Buffer, limits: OtlpLimits): PackedRequest {
    const collector = new RecordCollector(this.rules.kind, limits);
    this.rules.json(bytes, collector).read();
    const serializer = new Serializer();
    serializer.writeHeader();
    for (const item of collector.items) serializer.writeValue(item);
    const records = serializer.releaseBuffer();
    return {
      ...summaryOf(collector),
      // a plain array can be moved to the other thread, while a Buffer is copied
      records: new Uint8Array(records.buffer, records.byteOffset, records.length),
      count: collector.items.length,
    };
  }

  /** Unpacks a request, with pauses for other work. Records share their resources and scopes as before packing. */
  *unpack({ records, count, rejected, recordCount }: PackedRequest): Generator<void, Request> {
    const deserializer = new Deserializer(records);
    deserializer.readHeader();
    const items: Item[] = [];
    while (items.length < count) {
      items.push(deserializer.readValue() as Item);
      yield;
    }
    return this.rules.toRequest(items, { rejected, recordCount });
  }
}

const summaryOf = <Item>(collector: RecordCollector<Item>): RequestSummary => ({
  rejected: collector.rejection(),
  recordCount: collector.recordCount,
});

/** Requests to `POST /v1/traces` (ExportTraceServiceRequest). */
const traces = new RequestDecoder<OtlpSpan, DecodedTraceRequest>({
  kind: SPANS,
  json: (bytes, spans) => new JsonRecordReader(bytes, 'traces', spans, readSpan),
  protobuf: (bytes, spans) => new ProtobufRecordReader(bytes, 'traces', spans, newSpan, SPAN),
  toRequest: (spans, summary) => ({ spans, ...summary }),
});

/**
 * Requests to `POST /v1/logs` (ExportLogsServiceRequest). A log record is omitted only if one of its fields is malformed, which
 * is possible only in JSON. OTLP does not define invalid log records.
 */
const logs = new RequestDecoder<OtlpLogRecord, DecodedLogsRequest>({
  kind: LOG_RECORDS,
  json: (bytes, records) => new JsonRecordReader(bytes, 'logs', records, readLogRecord),
  protobuf: (bytes, records) => new ProtobufRecordReader(bytes, 'logs', records, newLogRecord, LOG_RECORD),
  toRequest: (logRecords, summary) => ({ logRecords, ...summary }),
});

/**
 * Requests to `POST /v1/metrics` (ExportMetricsServiceRequest), with at most 2,097,152 buckets.
 *
 * Data points are omitted if they are malformed or have no value, or if the counts of a histogram do not match its bounds. All
 * points of a metric are omitted if the metric is malformed, has no name, or has data of an unknown kind. If such a metric has
 * no points, it counts as one rejected point.
 */
const metrics = new RequestDecoder<OtlpDataPoint, DecodedMetricsRequest>({
  kind: DATA_POINTS,
  json: (bytes, points) => new JsonMetricReader(bytes, points),
  protobuf: (bytes, points) => new ProtobufMetricReader(bytes, points),
  toRequest: (dataPoints, summary) => ({ dataPoints, ...summary }),
});

export const REQUEST_DECODERS = { traces, logs, metrics } satisfies Record<OtlpSignal, object>;
