import { randomBytes } from 'node:crypto';
import http from 'node:http';
import { parse, Type } from 'protobufjs';
import { Writer } from 'protobufjs/minimal';

export const PROTOBUF = 'application/x-protobuf';
export const JSON_MEDIA = 'application/json';
export const TRACES = '/telemetry/v1/traces';

export const newTraceId = (): string => randomBytes(16).toString('hex');
export const newSpanId = (): string => randomBytes(8).toString('hex');

export type Attributes = Record<string, string | number | boolean>;

/** A span of a test. Times in nanoseconds since 1970. */
export interface TestSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name?: string;
  start?: bigint;
  end?: bigint;
  attributes?: Attributes;
  isError?: boolean;
}

export const START = 1_795_132_800_000_000_000n; // 2026-11-20T00:00:00Z
export const MS = 1_000_000n;

export const newSpan = (overrides: Partial<TestSpan> = {}): TestSpan => ({
  traceId: newTraceId(),
  spanId: newSpanId(),
  name: 'step',
  start: START,
  end: START + 5n * MS,
  ...overrides,
});

const SERVICE = { 'service.name': 'shop' };

/** An ExportTraceServiceRequest in the JSON mapping. */
export function jsonBody(spans: readonly TestSpan[], resource: Attributes = SERVICE): Buffer {
  const body = {
    resourceSpans: [
      {
        resource: { attributes: jsonAttributes(resource) },
        scopeSpans: [
          {
            scope: { name: 'test', version: '1' },
            spans: spans.map((span) => ({
              traceId: span.traceId,
              spanId: span.spanId,
              parentSpanId: span.parentSpanId ?? '',
              name: span.name ?? '',
              kind: 3,
              startTimeUnixNano: String(span.start ?? START),
              endTimeUnixNano: String(span.end ?? START),
              attributes: jsonAttributes(span.attributes ?? {}),
              status: span.isError ? { code: 2, message: 'failed' } : {},
            })),
          },
        ],
      },
    ],
  };
  return Buffer.from(JSON.stringify(body));
}

const jsonAttributes = (attributes: Attributes) =>
  Object.entries(attributes).map(([key, value]) => ({
    key,
    value:
      typeof value === 'string'
        ? { stringValue: value }
        : typeof value === 'boolean'
          ? { boolValue: value }
          : Number.isInteger(value)
            ? { intValue: String(value) }
            : { doubleValue: value },
  }));

/** The same in protobuf (the numbers are field numbers of trace_service.proto, trace.proto and common.proto). */
export function protobufBody(spans: readonly TestSpan[], resource: Attributes = SERVICE): Buffer {
  const writer = Writer.create();
  message(writer, 1, () => {
    message(writer, 1, () => writeAttributes(writer, 1, resource));
    message(writer, 2, () => {
      message(writer, 1, () => writer.uint32(tag(1, 2)).string('test').uint32(tag(2, 2)).string('1'));
      for (const span of spans) message(writer, 2, () => writeSpan(writer, span));
    });
  });
  return Buffer.from(writer.finish());
}

const tag = (field: number, wireType: number): number => (field << 3) | wireType;

function message(writer: Writer, field: number, content: () => void): void {
  writer.uint32(tag(field, 2)).fork();
  content();
  writer.ldelim();
}

function writeSpan(writer: Writer, span: TestSpan): void {
  writer.uint32(tag(1, 2)).bytes(Buffer.from(span.traceId, 'hex'));
  writer.uint32(tag(2, 2)).bytes(Buffer.from(span.spanId, 'hex'));
  if (span.parentSpanId) writer.uint32(tag(4, 2)).bytes(Buffer.from(span.parentSpanId, 'hex'));
  writer.uint32(tag(5, 2)).string(span.name ?? '');
  writer.uint32(tag(6, 0)).int32(3);
  fixed64(writer, 7, span.start ?? START);
  fixed64(writer, 8, span.end ?? START);
  writeAttributes(writer, 9, span.attributes ?? {});
  if (span.isError) {
    message(writer, 15, () => writer.uint32(tag(2, 2)).string('failed').uint32(tag(3, 0)).int32(2));
  }
}

function fixed64(writer: Writer, field: number, value: bigint): void {
  const low = Number(BigInt.asIntN(32, value));
  const high = Number(BigInt.asIntN(32, value >> 32n));
  writer.uint32(tag(field, 1)).fixed64({ low, high, unsigned: true } as never);
}

function writeAttributes(writer: Writer, field: number, attributes: Attributes): void {
  for (const [key, value] of Object.entries(attributes)) {
    message(writer, field, () => {
      writer.uint32(tag(1, 2)).string(key);
      message(writer, 2, () => {
        if (typeof value === 'string') writer.uint32(tag(1, 2)).string(value);
        else if (typeof value === 'boolean') writer.uint32(tag(2, 0)).bool(value);
        else if (Number.isInteger(value)) writer.uint32(tag(3, 0)).int64(value);
        else writer.uint32(tag(4, 1)).double(value);
      });
    });
  }
}

/** google/rpc/status.proto and error_details.proto, and trace_service.proto, as far as answers need them. */
const { root } = parse(`
  syntax = "proto3";
  message Any { string type_url = 1; bytes value = 2; }
  message Status { int32 code = 1; string message = 2; repeated Any details = 3; }
  message ErrorInfo { string reason = 1; string domain = 2; }
  message PartialSuccess { int64 rejected_spans = 1; string error_message = 2; }
  message ExportResponse { PartialSuccess partial_success = 1; }
`);

const decode = <Decoded>(type: string, bytes: Uint8Array): Decoded => {
  const found: Type = root.lookupType(type);
  return found.toObject(found.decode(bytes), { longs: Number, bytes: Buffer }) as Decoded;
};

/** An error as a google.rpc.Status tells it. */
export interface RpcError {
  code: number;
  message: string;
  /** The reason of its ErrorInfo. */
  reason?: string;
}

function decodeStatus(bytes: Uint8Array): RpcError {
  const { code, message, details } = decode<{
    code: number;
    message: string;
    details?: { typeUrl: string; value: Buffer }[];
  }>('Status', bytes);
  const info = details?.find(({ typeUrl }) => typeUrl === 'type.googleapis.com/google.rpc.ErrorInfo');
  return { code, message, reason: info && decode<{ reason: string }>('ErrorInfo', info.value).reason };
}

export interface ExportAnswer {
  status: number;
  headers: http.IncomingHttpHeaders;
  bytes: Buffer;
}

/** The body of an answer, in whichever of the two forms it is. */
export const answered = {
  json: <Body = any>({ bytes }: ExportAnswer): Body => JSON.parse(bytes.toString()) as Body,
  status: ({ bytes }: ExportAnswer): RpcError => decodeStatus(bytes),
  partialSuccess: ({ bytes }: ExportAnswer) =>
    decode<{ partialSuccess?: { rejectedSpans: number; errorMessage: string } }>('ExportResponse', bytes)
      .partialSuccess,
};

export interface ExportOptions {
  media?: string;
  encoding?: string;
  path?: string;
  method?: string;
  headers?: Record<string, string>;
  /** Sent without a length. */
  isChunked?: boolean;
}

/** An exporter made by hand: sends the very bytes it is given. */
export class RawExporter {
  constructor(
    readonly url: string,
    readonly token: string | undefined,
    readonly workspaceId: string | undefined,
  ) {}

  json(spans: readonly TestSpan[]): Promise<ExportAnswer> {
    return this.send(jsonBody(spans), { media: JSON_MEDIA });
  }

  protobuf(spans: readonly TestSpan[]): Promise<ExportAnswer> {
    return this.send(protobufBody(spans));
  }

  send(body: Buffer, options: ExportOptions = {}): Promise<ExportAnswer> {
    const { media = PROTOBUF, encoding, path = TRACES, method = 'POST' } = options;
    return new Promise((resolve, reject) => {
      const request = http.request(
        this.url + path,
        {
          method,
          agent: false,
          headers: {
            ...(this.token !== undefined && { authorization: `Bearer ${this.token}` }),
            ...(this.workspaceId !== undefined && { 'x-service-workspace-id': this.workspaceId }),
            ...(media !== '' && { 'content-type': media }),
            ...(encoding !== undefined && { 'content-encoding': encoding }),
            ...(!options.isChunked && { 'content-length': body.length }),
            ...options.headers,
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              bytes: Buffer.concat(chunks),
            });
          });
        },
      );
      request.on('error', reject);
      request.end(body);
    });
  }
}
