import { raw, type Sql, sql } from '#platform/db';
import { firstMillisecond } from '#platform/http';
import { firstIdAt, ID_PREFIXES } from '#platform/ids';

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Returns the conditions that rows were created at or after a time, and before another. Most ids contain that time too, unless
 * a clock was set back. The bounds on these ids are a day wider. They let a list in id order start at the right place
 * instead of reading all newer rows.
 *
 * @param id the expression of the row's id @param createdAt the expression of its time of creation
 */
export function createdWithin(
  id: string,
  createdAt: string,
  { since, until }: { since?: string | undefined; until?: string | undefined },
): Sql[] {
  const prefix = ID_PREFIXES[id.replace(/^.*\./, '')];
  const within = (operator: '>=' | '<', time: Date, margin: number): Sql => {
    const bound = sql`${raw(createdAt)} ${raw(operator)} ${time}`;
    if (!prefix) return bound;
    return sql`${bound} AND ${raw(id)} ${raw(operator)} ${firstIdAt(prefix, time.getTime() + margin)}`;
  };
  return [
    ...(since === undefined ? [] : [within('>=', firstMillisecond(since), -DAY_MS)]),
    ...(until === undefined ? [] : [within('<', firstMillisecond(until), DAY_MS)]),
  ];
}
