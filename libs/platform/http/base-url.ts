import type { Request } from 'express';
import type { Environment } from '#platform/config';

/** A host name or an address, optionally with a port. */
const HOST = /^[A-Za-z0-9.:[\]_-]{1,255}$/;

/** Returns the URL at which clients reach the service, without a trailing slash: `PUBLIC_URL`, else the `Host` of a request. */
export function baseUrlOf({ PUBLIC_URL }: Environment, { headers }: Pick<Request, 'headers'>): string {
  if (PUBLIC_URL !== undefined) return PUBLIC_URL.replace(/\/+$/, '');
  const { host = '' } = headers;
  return `http://${HOST.test(host) ? host : 'localhost'}`;
}
