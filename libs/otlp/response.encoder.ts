import { Writer } from 'protobufjs/minimal';
import type { OtlpEncoding, OtlpRejection } from './otlp.types';

/** JSON names of the number of rejected items: the only difference between the responses. */
const REJECTED = {
  traces: 'rejectedSpans',
  logs: 'rejectedLogRecords',
  metrics: 'rejectedDataPoints',
} as const;

export type OtlpSignal = keyof typeof REJECTED;

/** `domain` of the ErrorInfo in {@link encodeStatus}: the owner of the problem codes in `reason`. */
const ERROR_DOMAIN = 'agent-registry-service';

const ERROR_INFO_TYPE = 'type.googleapis.com/google.rpc.ErrorInfo';
const BAD_REQUEST_TYPE = 'type.googleapis.com/google.rpc.BadRequest';

const INVALID_ARGUMENT = 3;

/**
 * The codes of google.rpc.Code by HTTP status, from the comments in google/rpc/code.proto. Statuses that the comments do not
 * mention have the code with the closest meaning.
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

/** The code of a status that is not in `RPC_CODES`. */
const UNKNOWN = 2;

interface OtlpProblem {
  /** HTTP status. */
  status: number;
  detail: string;
  code: string;
}

/**
 * Encodes the body of a 200 (ExportTraceServiceResponse, ExportLogsServiceResponse, ExportMetricsServiceResponse).
 * `partialSuccess` is unset if nothing was rejected, as OTLP requires. Reasons without rejected items are warnings.
 */
export function encodeExportResponse(
  encoding: OtlpEncoding,
  signal: OtlpSignal,
  { count, reasons }: OtlpRejection,
): Buffer {
  const isPartial = count > 0 || reasons.length > 0;
  const errorMessage = reasons.join(' ');
  if (encoding === 'json') {
    const body = isPartial ? { partialSuccess: { [REJECTED[signal]]: String(count), errorMessage } } : {};
    return Buffer.from(JSON.stringify(body));
  }
  const writer = Writer.create();
  if (isPartial) {
    writer.uint32(10).fork(); // partial_success = 1
    writer.uint32(8).int64(count); // rejected_spans, rejected_log_records, rejected_data_points = 1
    writer.uint32(18).string(errorMessage); // error_message = 2
    writer.ldelim();
  }
  return Buffer.from(writer.finish());
}

/**
 * Encodes the body of every 4xx and 5xx response to a protobuf request: google.rpc.Status (google/rpc/status.proto), with the
 * problem code as the `reason` of an ErrorInfo. For invalid data (INVALID_ARGUMENT), OTLP also requires a BadRequest. Its only
 * violation names no field.
 *
 * @param problem the members of the problem body in JSON
 */
export function encodeStatus({ status, detail: message, code: problemCode }: OtlpProblem): Buffer {
  const code = RPC_CODES[status] ?? UNKNOWN;
  const writer = Writer.create();
  writer.uint32(8).int32(code); // code = 1
  writer.uint32(18).string(message); // message = 2
  // ErrorInfo: reason = 1, domain = 2
  const errorInfo = Writer.create().uint32(10).string(problemCode).uint32(18).string(ERROR_DOMAIN).finish();
  detail(writer, ERROR_INFO_TYPE, errorInfo);
  if (code === INVALID_ARGUMENT) {
    // BadRequest: field_violations = 1, with description = 2
    const badRequest = Writer.create().uint32(10).fork().uint32(18).string(message).ldelim().finish();
    detail(writer, BAD_REQUEST_TYPE, badRequest);
  }
  return Buffer.from(writer.finish());
}

/** Adds an Any to `details` (field 3): type_url = 1, value = 2. */
function detail(writer: Writer, typeUrl: string, value: Uint8Array): void {
  writer.uint32(26).fork();
  writer.uint32(10).string(typeUrl);
  writer.uint32(18).bytes(value);
  writer.ldelim();
}
