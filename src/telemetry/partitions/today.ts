/** The day of the database's clock. */
export const TODAY = `(clock_timestamp() AT TIME ZONE 'UTC')::date`;
