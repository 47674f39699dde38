import { createHash } from 'node:crypto';
import { toJsonText } from '#platform/json';

/** Longer pairs are looked up by their digest: an index entry has a size limit. */
const PAIR_MAX = 255;
/**
 * Members with a longer path, and those after the first 10,000, are not indexed. Each pair holds its path, so a body of a
 * few MiB could otherwise become terabytes.
 */
const PATH_MAX = 1_000;
const PAIRS_MAX = 10_000;

/**
 * Returns a pair for each scalar in a config, for the filter `config=key:value`. A nested member's key is its path with
 * dots. Strings stay as they are. Other values are written as JSON.
 */
export function configPairs(config: unknown): string[] {
  const pairs: string[] = [];
  for (const [path, value] of scalars(config, '')) {
    if (pairs.length === PAIRS_MAX) break;
    pairs.push(storedPair(path, value));
  }
  return pairs;
}

type Scalar = string | number | boolean | null;

function* scalars(config: unknown, prefix: string): Generator<[path: string, Scalar]> {
  if (typeof config !== 'object' || config === null || Array.isArray(config)) return;
  for (const [member, value] of Object.entries(config) as [string, unknown][]) {
    if (prefix.length + member.length > PATH_MAX) continue;
    if (isScalar(value)) yield [prefix + member, value];
    else yield* scalars(value, `${prefix}${member}.`);
  }
}

const isScalar = (value: unknown): value is Scalar => value === null || typeof value !== 'object';

const stored = (pair: string): string =>
  pair.length <= PAIR_MAX ? pair : `sha256:${createHash('sha256').update(pair).digest('hex')}`;

/** Writes values as JSON, because `String(2 ** 60)` has other digits than responses. */
const storedPair = (path: string, value: Scalar): string =>
  stored(`${path}:${typeof value === 'string' ? value : toJsonText(value)}`);

/** `key:value` pairs, or an object of key to scalar. */
export type ConfigFilter = string[] | object;

/** A pair whose value is a number, as JSON may write it. */
const NUMBER_PAIR = /^([^]*:)(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,4})?)$/;

/**
 * Returns the stored forms of each pair of a filter: its text, and its value as a number. An experiment matches by any of
 * them. Keys and values may contain colons, because a pair is compared as a whole.
 */
export const configFilter = (filter: ConfigFilter): string[][] =>
  Array.isArray(filter)
    ? filter.map((pair: string) => [...new Set([stored(pair), ...numberPair(pair)])])
    : Object.entries(filter).map(([path, value]) => [storedPair(path, value as Scalar)]);

/** Returns the pair with its number as it is stored: `lr:0.00001` for `lr:1e-5`. */
function numberPair(pair: string): string[] {
  const [, path, digits] = NUMBER_PAIR.exec(pair) ?? [];
  const value = Number(digits);
  return path !== undefined && Number.isFinite(value) ? [storedPair(path.slice(0, -1), value)] : [];
}
