import type { Growth, Seeds } from './lists.harness';

/** Copies in the parent whose list is read, and in each other one. */
export const MANY = 1_500;
export const OTHERS = 500;

/** Selects a few of the copies. */
export const IS_RARE = 'n % 500 = 7';
export const rarely = (rare: string, common: string): string =>
  `CASE WHEN ${IS_RARE} THEN ${rare} ELSE ${common} END`;
/** A value that is common in all workspaces but `beside`, where no copy has it. */
export const elsewhere = ({ beside }: Seeds, common: string, instead: string): string =>
  `CASE seed.workspace_id WHEN '${beside.workspace_id}' THEN ${instead} ELSE ${common} END`;
/** An id of about 2026. Those of all parents are mixed, as where they grow together. */
export const idOf = (prefix: string, n = 'n'): string =>
  `'${prefix}_01k' || lpad((${n} * 7919 % 1000003)::text, 23, '0')`;
/** The id of a copy. */
export const idAt = (prefix: string, n: number): string =>
  `${prefix}_01k${String((n * 7919) % 1_000_003).padStart(23, '0')}`;
/** A name with a word that is common or rare. */
export const named = (column = 'seed.name', separator = ' '): string =>
  `${column} || '${separator}' || ${rarely("'rare'", "'common'")} || '${separator}' || n`;
export const LATER = `seed.updated_at + n * interval '1 s'`;

/** Copies of the rows with an id, in each of the workspaces. */
export const inEach = (
  { ids, beside, foreign }: Seeds,
  table: string,
  key: string,
  values: Growth['values'],
  id = key,
): Growth[] =>
  [ids, beside, foreign].map((of, index) => ({
    table,
    of: `seed.${key} = '${of[id]}'`,
    copies: index === 0 ? MANY : OTHERS,
    values,
  }));
