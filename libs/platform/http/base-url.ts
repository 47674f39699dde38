import type { Request } from 'express';
import type { Environment } from '#platform/config';

/** A name or an address, and perhaps a port. */
const HOST = /^[A-Za-z0-9.:[\]_-]{1,255}$/;

/** Returns the URL of the service as its clients know it: `PUBLIC_URL`, else the `Host` of their request. Without a slash at its end. */
export function baseUrlOf({ PUBLIC_URL }: Environment, { headers }: Pick<Request, 'headers'>): string {
  if (PUBLIC_URL !== undefined) return PUBLIC_URL.replace(/\/+$/, '');
  const { host = '' } = headers;
  return `http://${HOST.test(host) ? host : 'localhost'}`;
}
