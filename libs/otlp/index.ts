/** Decodes requests and encodes responses of OTLP/HTTP. Independent of HTTP, the service and its database. */
export { hasMoreElements, longDigits, parseExactly } from './exact-json';
export type { OtlpLimits } from './element.counter';
export { type PackedRequest, REQUEST_DECODERS, type RequestDecoder } from './export-request.decoder';
export { type DecodedLogsRequest, type OtlpLogRecord, SEVERITIES } from './log-record';
export {
  type DecodedMetricsRequest,
  METRIC_TYPES,
  type OtlpDataPoint,
  type OtlpExemplar,
  type OtlpMetric,
  type OtlpPointValue,
  TEMPORALITIES,
} from './metric.types';
export type {
  DecodedTraceRequest,
  OtlpAttributes,
  OtlpEncoding,
  OtlpEvent,
  OtlpLink,
  OtlpRejection,
  OtlpResource,
  OtlpScope,
  OtlpSpan,
  OtlpValue,
} from './otlp.types';
export { OtlpDecodeError } from './otlp.types';
export { encodeExportResponse, encodeStatus, type OtlpSignal } from './response.encoder';
export { MAX_VALUE_DEPTH, setMember, storableText } from './stored-value';
