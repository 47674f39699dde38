import {
  OtlpDecodeError,
  type OtlpLimits,
  type OtlpSignal,
  type PackedRequest,
  REQUEST_DECODERS,
} from '#otlp';

/** A body to read. */
export interface JsonBody {
  signal: OtlpSignal;
  bytes: Uint8Array;
  limits: OtlpLimits;
}

/** Decodes an export in JSON. Returns the error if the body cannot be decoded. */
export function readJson({ signal, bytes, limits }: JsonBody): PackedRequest | { error: string } {
  try {
    return REQUEST_DECODERS[signal].pack(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), limits);
  } catch (error) {
    if (error instanceof OtlpDecodeError) return { error: error.detail };
    throw error;
  }
}
