/**
 * A time of microseconds since 1970, to the last of them: a product of an integer and an interval would go through a
 * double, which is not exact from the year 2255 on.
 *
 * @param integer an expression, or a parameter
 */
export const timeOfMicroseconds = (integer: string): string =>
  `timestamptz '1970-01-01 00:00:00+00' + (${integer}::bigint::text || ' microseconds')::interval`;
