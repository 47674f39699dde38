import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { type IpAddress, type IpRange, isIn } from '#platform/config';

const ranges = (...texts: readonly string[]): readonly IpRange[] =>
  texts.map((text) => ipaddr.parseCIDR(text));

/**
 * IPv4 ranges that no tenant may call. The list is explicit, because `ipaddr.js` classifies some of them as unicast. See the
 * IANA IPv4 special-purpose address registry.
 */
const BLOCKED_IPV4 = ranges(
  '0.0.0.0/8', // this host, this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // carrier-grade NAT, and the metadata address 100.100.100.200
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // the metadata address of Azure, which is otherwise a public address
  '169.254.0.0/16', // link-local, and the metadata address 169.254.169.254
  '172.16.0.0/12', // private
  '192.0.0.0/24', // IETF protocol assignments, and the metadata address 192.0.0.192
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // AMT relays
  '192.88.99.0/24', // relays of 6to4
  '192.168.0.0/16', // private
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarking
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, and broadcast
);

/**
 * The only IPv6 range that IANA assigns to public hosts. Outside of it are loopback, unspecified, unique-local (including
 * fd00:ec2::254, a metadata address), link-local, site-local, multicast, IPv4-compatible and local NAT64 addresses.
 */
const GLOBAL_UNICAST = ranges('2000::/3');
/** Parts of the global unicast range that are not public hosts. */
const BLOCKED_IPV6 = ranges(
  '2001::/23', // IETF protocol assignments: Teredo, benchmarking, ORCHID
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4, which is deprecated and can lead to any IPv4 address
  '2620:4f:8000::/48', // AS112
  '3fff::/20', // documentation
);
/** Addresses that a gateway translates to the IPv4 address in their last 32 bits (RFC 6052). */
const NAT64 = ranges('64:ff9b::/96');

/** Decides which addresses may be called for tenants: public hosts, and ranges that the operator allows. */
export class AddressPolicy {
  /** @param allowed ranges that may be called although they are not public */
  constructor(private readonly allowed: readonly IpRange[]) {}

  /** Tells whether an IPv4 or IPv6 address may be called. IPv4-mapped IPv6 counts as IPv4. False for any other text. */
  allows(text: string): boolean {
    const address = addressOf(text);
    return address !== null && (isIn(address, this.allowed) || isPublic(address));
  }
}

function addressOf(text: string): IpAddress | null {
  const family = isIP(text);
  if (family === 0) return null;
  // `ipaddr.js` cannot parse some IPv6 addresses that end like IPv4, which a URL normalizes. A zone is not part of a URL.
  return family === 4
    ? ipaddr.IPv4.parse(text)
    : ipaddr.process(new URL(`http://[${text.replace(/%.*$/s, '')}]`).hostname.slice(1, -1));
}

function isPublic(address: IpAddress): boolean {
  if (address.kind() === 'ipv4') return !isIn(address, BLOCKED_IPV4);
  if (isIn(address, NAT64)) return isPublic(new ipaddr.IPv4(address.toByteArray().slice(12)));
  return isIn(address, GLOBAL_UNICAST) && !isIn(address, BLOCKED_IPV6);
}
