import { type Sql, sql } from './sql';

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
