import { Writer } from 'protobufjs/minimal';
import type { OtlpEncoding } from './otlp.types';

/** Tells the sender what was left out of a request that was otherwise stored (ExportTracePartialSuccess). */
export interface PartialSuccess {
  rejectedSpans: number;
  /** Plain English. With 0 rejected spans it is a warning. */
  errorMessage: string;
}

/** The same of log records (ExportLogsPartialSuccess). */
export interface LogsPartialSuccess {
  rejectedLogRecords: number;
  /** Plain English. With 0 rejected log records it is a warning. */
  errorMessage: string;
}

/** The same of data points (ExportMetricsPartialSuccess). */
export interface MetricsPartialSuccess {
  rejectedDataPoints: number;
  /** Plain English. With 0 rejected data points it is a warning. */
  errorMessage: string;
}

/** `domain` of the ErrorInfo in an {@link encodeStatus}: whose problem codes its `reason` belongs to. */
export const ERROR_DOMAIN = 'agent-registry-service';

const ERROR_INFO_TYPE = 'type.googleapis.com/google.rpc.ErrorInfo';
const BAD_REQUEST_TYPE = 'type.googleapis.com/google.rpc.BadRequest';

const INVALID_ARGUMENT = 3;

/**
 * The codes of google.rpc.Code by HTTP status, from the comments of google/rpc/code.proto, which name the HTTP status
 * of each; those that it does not name have the nearest meaning.
 */
const RPC_CODES: Readonly<Record<number, number>> = {
  400: INVALID_ARGUMENT,
  401: 16, // UNAUTHENTICATED
  403: 7, // PERMISSION_DENIED
  404: 5, // NOT_FOUND
  405: 12, // UNIMPLEMENTED
  408: 4, // DEADLINE_EXCEEDED
  409: 10, // ABORTED
  412: 9, // FAILED_PRECONDITION
  413: INVALID_ARGUMENT,
  415: INVALID_ARGUMENT,
  422: INVALID_ARGUMENT,
  429: 8, // RESOURCE_EXHAUSTED
  500: 13, // INTERNAL
  501: 12, // UNIMPLEMENTED
  503: 14, // UNAVAILABLE
  504: 4, // DEADLINE_EXCEEDED
};

const UNKNOWN = 2;

/** The google.rpc.Code that goes with an HTTP status; 2 (UNKNOWN) for one that has none. */
export function rpcCodeOf(httpStatus: number): number {
  return RPC_CODES[httpStatus] ?? UNKNOWN;
}

/**
 * The body of a 200 (ExportTraceServiceResponse of trace_service.proto). `partialSuccess` is left unset when there is
 * nothing to report, as OTLP requires of a full success.
 */
export function encodeExportTraceResponse(
  encoding: OtlpEncoding,
  partial: PartialSuccess | undefined,
): Buffer {
  return encodeExportResponse(encoding, 'rejectedSpans', partial?.rejectedSpans, partial?.errorMessage);
}

/** The same for logs (ExportLogsServiceResponse of logs_service.proto). */
export function encodeExportLogsResponse(
  encoding: OtlpEncoding,
  partial: LogsPartialSuccess | undefined,
): Buffer {
  const { rejectedLogRecords, errorMessage } = partial ?? {};
  return encodeExportResponse(encoding, 'rejectedLogRecords', rejectedLogRecords, errorMessage);
}

/** The same for metrics (ExportMetricsServiceResponse of metrics_service.proto). */
export function encodeExportMetricsResponse(
  encoding: OtlpEncoding,
  partial: MetricsPartialSuccess | undefined,
): Buffer {
  const { rejectedDataPoints, errorMessage } = partial ?? {};
  return encodeExportResponse(encoding, 'rejectedDataPoints', rejectedDataPoints, errorMessage);
}

/** The three messages differ in how JSON calls the number of what was left out, and in nothing else. */
function encodeExportResponse(
  encoding: OtlpEncoding,
  member: string,
  rejected = 0,
  errorMessage = '',
): Buffer {
  const isPartial = rejected > 0 || errorMessage !== '';
  if (encoding === 'json') {
    const body = isPartial ? { partialSuccess: { [member]: String(rejected), errorMessage } } : {};
    return Buffer.from(JSON.stringify(body));
  }
  const writer = Writer.create();
  if (isPartial) {
    writer.uint32(10).fork(); // partial_success = 1
    writer.uint32(8).int64(rejected); // rejected_spans, rejected_log_records, rejected_data_points = 1
    writer.uint32(18).string(errorMessage); // error_message = 2
    writer.ldelim();
  }
  return Buffer.from(writer.finish());
}

/** What went wrong, for {@link encodeStatus}. */
export interface RpcStatus {
  /** A google.rpc.Code, see {@link rpcCodeOf}. */
  code: number;
  /** Plain English. */
  message: string;
  /** The `code` member that the problem body of a JSON answer would have. */
  problemCode: string;
}

/**
 * The body of every 4xx and 5xx to a protobuf request: google.rpc.Status (google/rpc/status.proto), with an ErrorInfo
 * among the details that holds the problem code as its `reason`. Where the fault is in the request's data
 * (INVALID_ARGUMENT) OTLP wants a BadRequest there too; its one violation names no field.
 */
export function encodeStatus({ code, message, problemCode }: RpcStatus): Buffer {
  const writer = Writer.create();
  writer.uint32(8).int32(code); // code = 1
  writer.uint32(18).string(message); // message = 2
  // ErrorInfo: reason = 1, domain = 2
  const errorInfo = Writer.create().uint32(10).string(problemCode).uint32(18).string(ERROR_DOMAIN).finish();
  detail(writer, ERROR_INFO_TYPE, errorInfo);
  if (code === INVALID_ARGUMENT) {
    // BadRequest: field_violations = 1, of which description = 2
    const badRequest = Writer.create().uint32(10).fork().uint32(18).string(message).ldelim().finish();
    detail(writer, BAD_REQUEST_TYPE, badRequest);
  }
  return Buffer.from(writer.finish());
}

/** Adds to `details` (field 3) an Any: type_url = 1, value = 2. */
function detail(writer: Writer, typeUrl: string, value: Uint8Array): void {
  writer.uint32(26).fork();
  writer.uint32(10).string(typeUrl);
  writer.uint32(18).bytes(value);
  writer.ldelim();
}
