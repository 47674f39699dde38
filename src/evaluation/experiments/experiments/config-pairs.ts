import { RawJson, type Scalar, scalarPair, shortPair } from '#platform/json';

/** `key:value` pairs, or an object of key to scalar. */
export type ConfigFilter = string[] | object;

/** A pair whose value is a number, as JSON may write it. */
const NUMBER_PAIR = /^([^]*:)(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,4})?)$/;

/**
 * Returns the stored forms of each pair of a filter: with its value as text, and as a number. An experiment matches if it
 * has any of them. Keys and values may contain colons, because a pair is compared as a whole.
 */
export const configFilter = (filter: ConfigFilter): string[][] =>
  Array.isArray(filter)
    ? filter.map((pair: string) => [...new Set([shortPair(pair), ...numberPair(pair)])])
    : Object.entries(filter).map(([path, value]) => [scalarPair(path, value as Scalar)]);

/** Returns the pair with its number as it is stored: `lr:0.00001` for `lr:1e-5`. */
function numberPair(pair: string): string[] {
  const [, path, digits] = NUMBER_PAIR.exec(pair) ?? [];
  return path !== undefined && digits !== undefined
    ? [scalarPair(path.slice(0, -1), new RawJson(digits))]
    : [];
}
