/** OTLP/HTTP: requests decoded, answers encoded. Knows nothing of HTTP, of the service or of its database. */
export { OtlpDecodeError } from './otlp.errors';
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
export { SPAN_KINDS, STATUS_CODES } from './otlp.types';
export {
  encodeExportTraceResponse,
  encodeStatus,
  ERROR_DOMAIN,
  type PartialSuccess,
  rpcCodeOf,
  type RpcStatus,
} from './response.encoder';
export { MAX_VALUE_DEPTH, setMember, storableText } from './stored-value';
export { decodeTraceRequest } from './trace-request.decoder';
