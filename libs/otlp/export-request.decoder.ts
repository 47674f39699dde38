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
 * A span that OTLP calls invalid, or that has a malformed field, is left out and counted in `rejected`; the others
 * are returned. The body is expected already inflated, and limited in size by the caller: memory and time are
 * proportional to it, and it may hold at most 100,000 resources, scopes, spans, events and links together (`MAX_RECORDS`).
 *
 * @throws OtlpDecodeError when the body as a whole cannot be read: it is cut off or not of its encoding, the envelope
 *   (resource, scope and lists around the spans) does not have the form OTLP gives it, an attribute value is nested
 *   deeper than 64 levels, or there are too many records
 */
export function decodeTraceRequest(bytes: Buffer, encoding: OtlpEncoding): DecodedTraceRequest {
  const spans = new RecordCollector(SPANS);
  const Reader = encoding === 'json' ? JsonTraceReader : ProtobufTraceReader;
  new Reader(bytes, spans).read();
  return { spans: spans.items, rejected: spans.rejection(), recordCount: spans.recordCount };
}

/**
 * Decodes the body of `POST /v1/logs` (an ExportLogsServiceRequest), as {@link decodeTraceRequest} does that of traces.
 *
 * A log record is left out only where a field of it is malformed, which JSON alone allows: OTLP calls none invalid.
 *
 * @throws OtlpDecodeError likewise
 */
export function decodeLogsRequest(bytes: Buffer, encoding: OtlpEncoding): DecodedLogsRequest {
  const records = new RecordCollector(LOG_RECORDS);
  const Reader = encoding === 'json' ? JsonLogReader : ProtobufLogReader;
  new Reader(bytes, records).read();
  return { logRecords: records.items, rejected: records.rejection(), recordCount: records.recordCount };
}

/**
 * Decodes the body of `POST /v1/metrics` (an ExportMetricsServiceRequest), as {@link decodeTraceRequest} does that of
 * traces.
 *
 * Left out are data points that are malformed or say nothing (a number without a value; a histogram whose counts do not
 * go with its bounds), and all points of a metric that is malformed, has no name, or data of a kind that is not known.
 * Such a metric counts once where it has no points.
 *
 * @throws OtlpDecodeError likewise, and when its histograms have more than 2,097,152 buckets together
 */
export function decodeMetricsRequest(bytes: Buffer, encoding: OtlpEncoding): DecodedMetricsRequest {
  const points = new RecordCollector(DATA_POINTS);
  const Reader = encoding === 'json' ? JsonMetricReader : ProtobufMetricReader;
  new Reader(bytes, points).read();
  return { dataPoints: points.items, rejected: points.rejection(), recordCount: points.recordCount };
}
