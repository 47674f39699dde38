// The tasks of `JsonThreads`: work on JSON that takes time in proportion to its size.
import { createHash } from 'node:crypto';
import {
  canonicalJson,
  estimateMemory,
  JsonInputError,
  parseJson,
  RawJson,
  scalarPairs,
} from '#platform/json';
import { type Condensed, condense, type Outline, TooManyValues } from './outline';

export type ParsedPart =
  | { kind: 'parsed'; value: Condensed }
  | { kind: 'invalid'; pointer: string; detail: string }
  | { kind: 'complex' }
  | { kind: 'costly' };

/** Highest memory of a parsed body, in bytes. Ordinary JSON of 10 MiB takes less. */
const MEMORY_MAX = 100 * 1024 * 1024;

/** Parses a body like `parseJson`. */
export function parse({ bytes, outline }: { bytes: Uint8Array; outline: Outline }): ParsedPart {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (estimateMemory(body) > MEMORY_MAX) return { kind: 'costly' };
  try {
    return { kind: 'parsed', value: condense(parseJson(body), outline) };
  } catch (error) {
    if (error instanceof TooManyValues) return { kind: 'complex' };
    if (!(error instanceof JsonInputError)) throw error;
    return { kind: 'invalid', pointer: error.pointer, detail: error.detail };
  }
}

/** Parses JSON that was checked before. */
export function read({ text, outline }: { text: string; outline: Outline }): ParsedPart {
  try {
    return { kind: 'parsed', value: condense(new RawJson(text).parse(), outline) };
  } catch (error) {
    if (error instanceof TooManyValues) return { kind: 'complex' };
    throw error;
  }
}

/** Returns the SHA-256 of the canonical form of each text. */
export const digests = (texts: readonly string[]): string[] =>
  texts.map((text) =>
    createHash('sha256')
      .update(canonicalJson(new RawJson(text)))
      .digest('hex'),
  );

/** Returns the pairs of the scalars in an object. */
export const pairs = (text: string): string[] => scalarPairs(new RawJson(text).parse());
