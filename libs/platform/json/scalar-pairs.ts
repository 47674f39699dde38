import { createHash } from 'node:crypto';
import { toJsonText } from './json.writer';

/** Longer pairs are replaced by their digest: an index entry has a size limit. */
const PAIR_MAX = 255;
/**
 * Members with a longer path, and those after the first 10,000, are left out. Each pair holds its path, so a value of a few
 * MiB could otherwise become terabytes.
 */
const PATH_MAX = 1_000;
const PAIRS_MAX = 10_000;

export type Scalar = string | number | boolean | null;

/**
 * Returns a pair for each scalar member of an object, for an index. A nested member's key is its path with dots. Elements of
 * lists are left out.
 */
export function scalarPairs(value: unknown): string[] {
  const pairs: string[] = [];
  for (const [path, scalar] of scalars(value, '')) {
    if (pairs.length === PAIRS_MAX) break;
    pairs.push(scalarPair(path, scalar));
  }
  return pairs;
}

/** Returns a pair as `scalarPairs` does: strings stay as they are, and other values are written as JSON. */
export const scalarPair = (path: string, value: Scalar): string =>
  // `String(2 ** 60)` has other digits than responses
  shortPair(`${path}:${typeof value === 'string' ? value : toJsonText(value)}`);

/** Returns a pair, or its digest if it is long. */
export const shortPair = (pair: string): string =>
  pair.length <= PAIR_MAX ? pair : `sha256:${createHash('sha256').update(pair).digest('hex')}`;

function* scalars(value: unknown, prefix: string): Generator<[path: string, Scalar]> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
  for (const [member, inner] of Object.entries(value) as [string, unknown][]) {
    if (prefix.length + member.length > PATH_MAX) continue;
    if (isScalar(inner)) yield [prefix + member, inner];
    else yield* scalars(inner, `${prefix}${member}.`);
  }
}

const isScalar = (value: unknown): value is Scalar => value === null || typeof value !== 'object';
