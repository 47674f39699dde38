// The tasks of `JsonThreads`: work on JSON that takes time in proportion to its size.
import { createHash } from 'node:crypto';
import {
  canonicalJson,
  estimateMemory,
  hiddenCharacters,
  type HiddenCharacters,
  type JsonChange,
  jsonChanges,
  JsonInputError,
  type Outline,
  parseJson,
  RawJson,
  scalarPairs,
  schemaWords,
} from '#platform/json';
import { type Condensed, condense, TooManyValues } from './outline';

export type ParsedPart =
  | { kind: 'parsed'; value: Condensed }
  | { kind: 'invalid'; pointer: string; detail: string }
  | { kind: 'complex' }
  | { kind: 'costly' };

/** Maximum memory of a parsed body, in bytes. Ordinary JSON of 10 MiB takes less. */
const MEMORY_MAX = 100 * 1024 * 1024;

/** Parses a body like `parseJson`. */
export function parse({ bytes, outline }: { bytes: Uint8Array; outline: Outline }): ParsedPart {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (estimateMemory(body) > MEMORY_MAX) return { kind: 'costly' };
  try {
    return { kind: 'parsed', value: condense(parseJson(body, outline), outline) };
  } catch (error) {
    if (error instanceof TooManyValues) return { kind: 'complex' };
    if (!(error instanceof JsonInputError)) throw error;
    return { kind: 'invalid', pointer: error.pointer, detail: error.detail };
  }
}

/** Returns the SHA-256 of the canonical form of each text. */
export const digests = (texts: readonly string[]): string[] =>
  texts.map((text) =>
    createHash('sha256')
      .update(canonicalJson(new RawJson(text)))
      .digest('hex'),
  );

/** Two texts to compare. Null means that there is no value. */
export interface JsonPair {
  before: string | null;
  after: string | null;
}

export interface ComparedJson {
  changes: JsonChange[];
  isTruncated: boolean;
  /** The hidden characters of the second value. */
  hidden: HiddenCharacters | null;
}

/** Compares the values of each pair. */
export const compare = (pairs: readonly JsonPair[]): ComparedJson[] =>
  pairs.map(({ before, after }) => {
    const [from, to] = [before, after].map((text) =>
      text === null ? undefined : new RawJson(text).parseExactly(),
    );
    return { ...jsonChanges(from, to), hidden: hiddenCharacters(to) };
  });

/** Returns the names and descriptions of the properties of each JSON Schema. */
export const words = ({ texts, max }: { texts: readonly string[]; max: number }): string[] =>
  texts.map((text) => schemaWords(new RawJson(text).parse(), max));

/** Returns the pairs of the scalars in an object. */
export const pairs = (text: string): string[] => scalarPairs(new RawJson(text).parseExactly());
