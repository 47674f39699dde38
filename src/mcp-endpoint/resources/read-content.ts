import { isUtf8 } from 'node:buffer';
import type { ReadResourceResult } from '@modelcontextprotocol/server';
import { ProtocolError, ProtocolErrorCode } from '../protocol-error';

/** The maximum size of a resource that can be read, in bytes. */
export const RESOURCE_BYTES = 1024 * 1024;

/** The content of a resource. */
export interface ReadContent {
  /** At most `RESOURCE_BYTES`. */
  bytes: Buffer;
  /** The size of the whole resource, in bytes. */
  size: number;
  mimeType: string;
  /** How to read the resource otherwise if it is too large. */
  hint: string;
}

/** Returns the content of a resource as text, or in base64 if it is not text. */
export function contentsOf(uri: string, { bytes, size, mimeType, hint }: ReadContent): ReadResourceResult {
  if (size > RESOURCE_BYTES) {
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `The resource has ${size} bytes, and at most ${RESOURCE_BYTES} can be read at once. ${hint}`,
    );
  }
  const isText = isUtf8(bytes) && !bytes.includes(0);
  const content = isText ? { text: bytes.toString('utf8') } : { blob: bytes.toString('base64') };
  return { contents: [{ uri, mimeType, ...content }] };
}
