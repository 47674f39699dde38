import type { RowCopies, Seeds } from './lists.harness';

/** Number of copies in the parent whose list is read, and in each other parent. */
export const MANY = 1_500;
export const OTHERS = 500;

/** Selects a few of the copies. */
export const IS_RARE = 'n % 500 = 7';
export const rarely = (rare: string, common: string): string =>
  `CASE WHEN ${IS_RARE} THEN ${rare} ELSE ${common} END`;
/** A value that is common in all workspaces except `sibling`, where no copy has it. */
export const elsewhere = ({ sibling }: Seeds, common: string, instead: string): string =>
  `CASE seed.workspace_id WHEN '${sibling.workspace_id}' THEN ${instead} ELSE ${common} END`;
/** An id from about 2026. The ids of all parents are interleaved, as if they had been created at the same time. */
export const idOf = (prefix: string, n = 'n'): string =>
  `'${prefix}_01k' || lpad((${n} * 7919 % 1000003)::text, 23, '0')`;
/** The id of a copy. */
export const idAt = (prefix: string, n: number): string =>
  `${prefix}_01k${String((n * 7919) % 1_000_003).padStart(23, '0')}`;
/** A name with a word that is common or rare. */
export const named = (column = 'seed.name', separator = ' '): string =>
  `${column} || '${separator}' || ${rarely("'rare'", "'common'")} || '${separator}' || n`;
export const LATER = `seed.updated_at + n * interval '1 s'`;

/** Copies the rows with an id in each of the workspaces. */
export const inEach = (
  { ids, sibling, foreign }: Seeds,
  table: string,
  key: string,
  values: RowCopies['values'],
  id = key,
): RowCopies[] =>
  [ids, sibling, foreign].map((of, index) => ({
    table,
    where: `seed.${key} = '${of[id]}'`,
    count: index === 0 ? MANY : OTHERS,
    values,
  }));
