import tag, { empty, join, raw, type Sql } from 'sql-template-tag';
import type { PreparedStatement, SqlExecutor } from './executor';

/**
 * A statement, or a part of one, with each value where it is used: ``sql`SELECT name FROM agents WHERE agent_id = ${id}` ``.
 * Values always travel as parameters. Parts nest; `raw` inserts text that comes from the code, never from a caller.
 */
export const sql = tag;

export { empty, join, raw, type Sql };

/** Names a statement of a hot path, so that PostgreSQL parses and plans it once per connection. Its text must never vary. */
export const prepared = (name: string, { text, values }: Sql): PreparedStatement => ({ name, text, values });

/** Runs a statement that is prepared by name, and returns its first row, or null. */
export const firstRow = async <Row>(on: SqlExecutor, name: string, statement: Sql): Promise<Row | null> =>
  (await on.query<Row>(prepared(name, statement)))[0] ?? null;

/**
 * Converts microseconds since 1970 into a time, exactly. Multiplying an integer with an interval would go through a
 * double, which is not exact from the year 2255 on.
 *
 * @param integer an expression, or a value
 */
export const microsecondsToTime = (integer: Sql): Sql =>
  sql`timestamptz '1970-01-01 00:00:00+00' + (${integer}::bigint::text || ' microseconds')::interval`;

/** Returns the minute of a time, as the generated columns of minutes contain it. */
export const minuteOf = (time: Sql): Sql => sql`date_bin('1 minute', ${time}, '2000-01-01T00:00:00Z')`;

/** Converts a time into microseconds since 1970. */
export const timeToMicroseconds = (time: Sql): Sql => sql`(extract(epoch FROM ${time}) * 1000000)::bigint`;
