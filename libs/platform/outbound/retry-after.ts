type Headers = Readonly<Record<string, string | string[] | undefined>>;

/**
 * Returns the wait that a server requests, in ms, from `retry-after-ms` or from `Retry-After` as seconds or a date (RFC 9110,
 * section 10.2.3). Undefined if neither header is present and valid.
 */
export function retryAfterMs(headers: Headers, now = Date.now()): number | undefined {
  const ms = Number(single(headers['retry-after-ms']) || NaN);
  if (ms >= 0) return ms;
  const value = single(headers['retry-after'])?.trim();
  if (!value) return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

const single = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value;
