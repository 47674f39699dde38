import { isIP } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';
import type { Request } from 'express';
import type { Environment } from '#platform/config';
import { Problem } from '#platform/problem';

/** A host name or an address, optionally with a port. */
const HOST = /^[A-Za-z0-9.:[\]_-]{1,255}$/;
const LOOPBACK = /^(?:(?:.+\.)?localhost|127\.[\d.]+|\[::1\])$/;

/**
 * Returns the URL at which clients reach the service, without a trailing slash: `PUBLIC_URL`, else the `Host` of a request if
 * it is a loopback address, or a name or an address of this machine. Null for another `Host`, because callers choose it, and
 * the URL tells others where to send credentials.
 */
export function baseUrlOf(
  { PUBLIC_URL }: Pick<Environment, 'PUBLIC_URL'>,
  { headers: { host = '' }, socket }: Pick<Request, 'headers' | 'socket'>,
): string | null {
  if (PUBLIC_URL !== undefined) return PUBLIC_URL.replace(/\/+$/, '');
  const url = `http://${host}`;
  if (!HOST.test(host) || !URL.canParse(url)) return null;
  const { hostname: name, origin } = new URL(url);
  return isOwnName(name, socket.localAddress) ? origin : null;
}

/** Returns the URL at which clients reach the service, see `baseUrlOf`. Throws 404 if the service does not know it. */
export function knownBaseUrl(...args: Parameters<typeof baseUrlOf>): string {
  const url = baseUrlOf(...args);
  if (url === null) throw new Problem('not_found', UNKNOWN_URL);
  return url;
}

const UNKNOWN_URL =
  'This document is not available under this host name, because the service does not know its public URL. Ask the operator to set PUBLIC_URL.';

/** @param name as `URL` writes it @param localAddress the address that the client has connected to */
function isOwnName(name: string, localAddress: string | undefined): boolean {
  if (LOOPBACK.test(name)) return true;
  const address = name.replace(/^\[|\]$/g, '');
  if (isIP(address) === 0) {
    const own = hostname().toLowerCase();
    return name === own || name === `${own}.local`;
  }
  if (address === localAddress?.replace(/^::ffff:/, '')) return true;
  return Object.values(networkInterfaces()).some((list) => list?.some((one) => one.address === address));
}
