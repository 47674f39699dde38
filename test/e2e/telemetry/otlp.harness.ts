import http from 'node:http';
import { parse, type Type } from 'protobufjs';
import { jsonExport, protobufExport, type TestSpan } from '#testing';

export const PROTOBUF = 'application/x-protobuf';
export const JSON_MEDIA = 'application/json';
export const TRACES = '/telemetry/v1/traces';

/** The parts of google/rpc/status.proto, error_details.proto and trace_service.proto that responses need. */
const { root } = parse(`
  syntax = "proto3";
  message Any { string type_url = 1; bytes value = 2; }
  message Status { int32 code = 1; string message = 2; repeated Any details = 3; }
  message ErrorInfo { string reason = 1; string domain = 2; }
  message PartialSuccess { int64 rejected_spans = 1; string error_message = 2; }
  message ExportResponse { PartialSuccess partial_success = 1; }
`);

const decode = <Decoded>(type: string, bytes: Uint8Array): Decoded => {
  const message: Type = root.lookupType(type);
  return message.toObject(message.decode(bytes), { longs: Number, bytes: Buffer }) as Decoded;
};

/** An error as google.rpc.Status. */
export interface RpcError {
  code: number;
  message: string;
  /** The reason in its ErrorInfo. */
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

/** Decoders of response bodies. */
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
  /** Whether to send without a length. */
  isChunked?: boolean;
}

/** A minimal exporter that sends bytes unchanged. */
export class RawExporter {
  constructor(
    readonly url: string,
    readonly token: string | undefined,
    readonly workspaceId: string | undefined,
  ) {}

  json(spans: readonly TestSpan[]): Promise<ExportAnswer> {
    return this.send(jsonExport(spans), { media: JSON_MEDIA });
  }

  protobuf(spans: readonly TestSpan[]): Promise<ExportAnswer> {
    return this.send(protobufExport(spans));
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
            ...(options.isChunked ? { 'transfer-encoding': 'chunked' } : { 'content-length': body.length }),
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

/** Returns the items in an order that depends on the seed. */
export function shuffled<Item>(items: readonly Item[], seed: number): Item[] {
  let state = seed + 1;
  const random = (): number => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
  return items
    .map((item) => ({ item, key: random() }))
    .sort((one, other) => one.key - other.key)
    .map(({ item }) => item);
}
