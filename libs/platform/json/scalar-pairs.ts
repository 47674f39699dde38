import { createHash } from 'node:crypto';
import { toJsonText } from './json.writer';
import { canonicalNumber } from './number.rule';
import { isJsonObject, RawJson } from './raw-json';

/** Longer pairs are replaced by their digest, because an index entry has a size limit. */
const PAIR_MAX = 255;
/**
 * Members with a longer path, and members after the first 10,000, are omitted. Each pair contains its path, so a value of a
 * few MiB could otherwise become terabytes.
 */
const PATH_MAX = 1_000;
const PAIRS_MAX = 10_000;

/** A scalar member. A `RawJson` is a number that JavaScript would change. */
export type Scalar = string | number | boolean | null | RawJson;

/**
 * Returns a pair for each scalar member of an object, for an index. A nested member's key is its path with dots. Omits the
 * elements of lists.
 */
export function scalarPairs(value: unknown): string[] {
  const pairs: string[] = [];
  for (const [path, scalar] of scalars(value, '')) {
    if (pairs.length === PAIRS_MAX) break;
    pairs.push(scalarPair(path, scalar));
  }
  return pairs;
}

/**
 * Returns a pair as `scalarPairs` does: strings unchanged, and other values as JSON, with numbers in their canonical form.
 */
export const scalarPair = (path: string, value: Scalar): string =>
  shortPair(`${path}:${typeof value === 'string' ? value : textOf(value)}`);

const textOf = (value: Exclude<Scalar, string>): string => {
  const text = toJsonText(value);
  return typeof value === 'object' && value !== null ? canonicalNumber(text) : text;
};

/** Returns a pair, or its digest if it is too long for an index or contains a NUL character, which cannot be indexed. */
export const shortPair = (pair: string): string =>
  pair.length <= PAIR_MAX && !pair.includes('\0')
    ? pair
    : `sha256:${createHash('sha256').update(pair).digest('hex')}`;

function* scalars(value: unknown, prefix: string): Generator<[path: string, Scalar]> {
  if (!isJsonObject(value)) return;
  for (const [member, inner] of Object.entries(value)) {
    if (prefix.length + member.length > PATH_MAX) continue;
    if (isScalar(inner)) yield [prefix + member, inner];
    else yield* scalars(inner, `${prefix}${member}.`);
  }
}

const isScalar = (value: unknown): value is Scalar =>
  value === null || typeof value !== 'object' || value instanceof RawJson;
