/** Decodes requests and encodes responses of OTLP/HTTP. Independent of HTTP, the service and its database. */
export { longDigits, parseExactly } from './exact-json';
export { DEFAULT_LIMITS, MAX_RECORD_VALUES, type OtlpLimits } from './element.counter';
export { type PackedRequest, REQUEST_DECODERS, type RequestDecoder } from './export-request.decoder';
export { type DecodedLogsRequest, type OtlpLogRecord, SEVERITIES } from './log-record';
export {
  type DecodedMetricsRequest,
  METRIC_TYPES,
  type OtlpDataPoint,
  type OtlpExemplar,
  type OtlpMetric,
  type OtlpMetricType,
  type OtlpNumber,
  type OtlpPointValue,
  type OtlpTemporality,
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
  OtlpSpanKind,
  OtlpStatus,
  OtlpStatusCode,
  OtlpValue,
} from './otlp.types';
export { OtlpDecodeError, SPAN_KINDS, STATUS_CODES } from './otlp.types';
export {
  encodeExportResponse,
  encodeStatus,
  ERROR_DOMAIN,
  type OtlpSignal,
  rpcCodeOf,
  type RpcStatus,
} from './response.encoder';
export { MAX_VALUE_DEPTH, setMember, storableText } from './stored-value';
