import { createHash } from 'node:crypto';

/** Longer pairs are looked up by their digest: an index entry has a size limit. */
const PAIR_MAX = 255;

const pairOf = (key: string, value: string): string => {
  const pair = `${key}:${value}`;
  return pair.length <= PAIR_MAX ? pair : `sha256:${createHash('sha256').update(pair).digest('hex')}`;
};

/**
 * What the filter `config=key:value` finds an experiment by: a pair for each scalar in its config. A nested member's
 * key is its path with dots; strings stand as they are, numbers, booleans and null as JSON writes them.
 */
export function configPairs(config: unknown, prefix = ''): string[] {
  if (typeof config !== 'object' || config === null || Array.isArray(config)) return [];
  return Object.entries(config).flatMap(([member, value]: [string, unknown]) => {
    const key = prefix + member;
    if (typeof value === 'string') return [pairOf(key, value)];
    if (value === null || typeof value === 'number' || typeof value === 'boolean')
      return [pairOf(key, String(value))];
    return configPairs(value, `${key}.`);
  });
}

/** The stored form of a filter's `key:value`. Keys and values may hold colons: the pair is compared as a whole. */
export const configFilter = (pair: string): string =>
  pair.length <= PAIR_MAX ? pair : `sha256:${createHash('sha256').update(pair).digest('hex')}`;
