/** The time that the clock in the sandbox always shows: 2000-01-01T00:00:00Z, in milliseconds since the epoch. */
export const SANDBOX_TIME_MS = Date.UTC(2000, 0, 1);

const PARTS = ['FullYear', 'Month', 'Date', 'Day', 'Hours', 'Minutes', 'Seconds'] as const;

/**
 * Stops the clock of a realm, and sets it to UTC.
 *
 * The interpreter has no clock. It takes `Date`, the time zone and the seed of `Math.random` from its host,
 * which uses only the global `Date`. With a fixed `Date`, every run of a scorer sees the same time, time zone and random
 * numbers on every machine. Use it only in a thread that runs nothing but the sandbox. Such a thread measures deadlines
 * with `performance.now()`.
 */
export function fixClock(realm: { Date: DateConstructor }): void {
  const RealDate = realm.Date;
  class FixedDate extends RealDate {
    constructor(...args: number[]) {
      if (args.length === 0) super(SANDBOX_TIME_MS);
      else if (args.length === 1) super(args[0]!);
      else super(RealDate.UTC(...(args as [number, number])));
    }
    static override now(): number {
      return SANDBOX_TIME_MS;
    }
    override getTimezoneOffset(): number {
      return 0;
    }
  }
  for (const part of PARTS) FixedDate.prototype[`get${part}`] = RealDate.prototype[`getUTC${part}`];
  realm.Date = FixedDate as DateConstructor;
}
