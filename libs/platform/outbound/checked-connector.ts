import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import type { buildConnector } from 'undici';
import { SingleFlight } from '#platform/concurrency';
import type { AddressPolicy } from './address-policy';
import { BlockedAddressError } from './outbound-errors';
import type { Resolve } from './resolve';
import { undici } from './undici';

const CONNECT_MS = 10_000;

/**
 * Returns a connector for undici that checks the addresses it connects to. A name is resolved once for each connection, and
 * the socket can only use the addresses that were checked, so that a second DNS response changes nothing. If some addresses
 * of a name are allowed and others are not, only the allowed ones are used.
 */
export function checkedConnector(policy: AddressPolicy, resolve: Resolve): buildConnector.connector {
  const connect = undici().buildConnector({
    timeout: CONNECT_MS,
    lookup: checkedLookup(policy, shareLookups(resolve)),
  });
  return (options, callback) => {
    const host = options.hostname.replace(/^\[(.*)\]$/, '$1');
    // A socket does not look up a literal address.
    if (isIP(host) && !policy.allows(host)) callback(blocked(host), null);
    else connect(options, callback);
  };
}

function checkedLookup(policy: AddressPolicy, resolve: Resolve): LookupFunction {
  const allowedAddresses = async (hostname: string, family: unknown): Promise<LookupAddress[]> => {
    const resolved = await resolve(hostname);
    const allowed = resolved.filter(({ address }) => policy.allows(address));
    if (allowed.length === 0) throw blocked(hostname);
    const usable = family === 4 || family === 6 ? allowed.filter((one) => one.family === family) : allowed;
    return usable.length > 0 ? usable : allowed;
  };
  return (hostname, { all, family }, callback) => {
    allowedAddresses(hostname, family).then(
      (addresses) => {
        if (all) callback(null, addresses);
        else callback(null, addresses[0]!.address, addresses[0]!.family);
      },
      (error: unknown) => callback(error as Error, ''),
    );
  };
}

/** Returns a resolver that looks up a name once for all connections that wait for its addresses. */
function shareLookups(resolve: Resolve): Resolve {
  const flights = new SingleFlight<readonly LookupAddress[]>();
  return (hostname) => flights.run(hostname, undefined, () => resolve(hostname));
}

const blocked = (host: string): BlockedAddressError =>
  new BlockedAddressError(`${host} cannot be called, because its address is not public.`);
