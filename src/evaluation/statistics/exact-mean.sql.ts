import { raw, type Sql } from '#platform/db';

/** The exact sum of a column of scores. */
export const exactSum = (score: string): string => `sum(${score}::text::numeric)`;

/**
 * A mean as text, which `Number` rounds to the double nearest to the true mean. It has 400 decimals, because PostgreSQL divides
 * to 16 digits, and fails on means that are too small for a double.
 *
 * @param total see `exactSum`
 */
export const meanText = (total: string, count: string): Sql =>
  raw(`((${total} + 0::numeric(500, 400)) / nullif(${count}, 0))::text`);
