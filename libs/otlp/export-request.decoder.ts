import { JsonLogReader } from './json-log.reader';
import { JsonMetricReader } from './json-metric.reader';
import { JsonTraceReader } from './json-trace.reader';
import { LOG_RECORDS } from './log-record';
import type { DecodedLogsRequest } from './log-record';
import { DATA_POINTS } from './metric.draft';
import type { DecodedMetricsRequest } from './metric.types';
import type { DecodedTraceRequest, OtlpEncoding } from './otlp.types';
import { ProtobufLogReader } from './protobuf-log.reader';
import { ProtobufMetricReader } from './protobuf-metric.reader';
import { ProtobufTraceReader } from './protobuf-trace.reader';
import { RecordCollector } from './record.collector';
import { SPANS } from './span.draft';

/**
 * Decodes the body of `POST /v1/traces` (OTLP/HTTP: an ExportTraceServiceRequest in one of two encodings).
 *
 * A span that is invalid by OTLP, or has a malformed field, is left out and counted in `rejected`. The others are returned.
 * The caller inflates the body and limits its size. Memory and time are proportional to it. It may hold at most 100,000
 * resources, scopes, spans, events and links in total (`MAX_RECORDS`).
 *
 * @throws OtlpDecodeError if the whole body is unreadable: it is truncated or in another encoding, its envelope (resources,
 *   scopes and the lists around the spans) is malformed, an attribute value is nested deeper than 64 levels, or it has too
 *   many records
 */
export function decodeTraceRequest(bytes: Buffer, encoding: OtlpEncoding): DecodedTraceRequest {
  const spans = new RecordCollector(SPANS);
  const Reader = encoding === 'json' ? JsonTraceReader : ProtobufTraceReader;
  new Reader(bytes, spans).read();
  return { spans: spans.items, rejected: spans.rejection(), recordCount: spans.recordCount };
}

/**
 * Decodes the body of `POST /v1/logs` (an ExportLogsServiceRequest) like {@link decodeTraceRequest}.
 *
 * A log record is left out only if one of its fields is malformed, which is possible in JSON only. OTLP has no invalid log
 * records.
 *
 * @throws OtlpDecodeError like {@link decodeTraceRequest}
 */
export function decodeLogsRequest(bytes: Buffer, encoding: OtlpEncoding): DecodedLogsRequest {
  const records = new RecordCollector(LOG_RECORDS);
  const Reader = encoding === 'json' ? JsonLogReader : ProtobufLogReader;
  new Reader(bytes, records).read();
  return { logRecords: records.items, rejected: records.rejection(), recordCount: records.recordCount };
}

/**
 * Decodes the body of `POST /v1/metrics` (an ExportMetricsServiceRequest) like {@link decodeTraceRequest}.
 *
 * Data points are left out if they are malformed or have no value, or if the counts of a histogram do not match its bounds.
 * All points of a metric are left out if it is malformed, has no name, or has data of an unknown kind. Such a metric counts
 * once if it has no points.
 *
 * @throws OtlpDecodeError like {@link decodeTraceRequest}, and if the histograms have more than 2,097,152 buckets in total
 */
export function decodeMetricsRequest(bytes: Buffer, encoding: OtlpEncoding): DecodedMetricsRequest {
  const points = new RecordCollector(DATA_POINTS);
  const Reader = encoding === 'json' ? JsonMetricReader : ProtobufMetricReader;
  new Reader(bytes, points).read();
  return { dataPoints: points.items, rejected: points.rejection(), recordCount: points.recordCount };
}
