type Headers = Readonly<Record<string, string | string[] | undefined>>;

const NUMBER = /^\d+(?:\.\d+)?$/;
/** The three forms of a date (RFC 9110, section 5.6.7) begin with the day of the week. `Date.parse` also accepts others. */
const DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /;

/** The longest wait: a server that requests more, such as a number of 30 digits, is asked again after a day. */
const MAX_MS = 24 * 3_600_000;

/** The longest wait that a client can be told, in ms. Nobody waits for longer than a year. */
const FORWARDED_MAX_MS = 366 * 24 * 3_600_000;

/**
 * Returns the wait that a server requests, in ms, from `retry-after-ms` or from `Retry-After` as seconds or a date (RFC 9110,
 * section 10.2.3), at most a day. Undefined if neither header is present and valid.
 */
export function retryAfterMs(headers: Headers, now = Date.now()): number | undefined {
  const ms = single(headers['retry-after-ms'])?.trim() ?? '';
  const waitMs = NUMBER.test(ms) ? Number(ms) : waitOf(single(headers['retry-after'])?.trim() ?? '', now);
  return waitMs === undefined ? undefined : Math.min(waitMs, MAX_MS);
}

/** Returns whether a `Retry-After` is seconds or a date, and at most a year away. */
export function isForwardableRetryAfter(value: string): boolean {
  const waitMs = waitOf(value.trim(), Date.now());
  return waitMs !== undefined && waitMs <= FORWARDED_MAX_MS;
}

function waitOf(value: string, now: number): number | undefined {
  if (NUMBER.test(value)) return Number(value) * 1000;
  if (!DATE.test(value)) return undefined;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

const single = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value;
