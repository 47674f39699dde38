import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { Injectable } from '@nestjs/common';
import ipaddr from 'ipaddr.js';
import { Environment, type IpAddress, type IpRange, isIn } from '#platform/config';

/** Length in bytes of the network part of an IPv6 address (/64). One client usually has all addresses of a network. */
const NETWORK_BYTES = 8;

/** A port that a proxy adds to an address. */
const WITH_PORT = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/;

/** Finds the client of a request behind the proxies of `TRUSTED_PROXIES`. */
@Injectable()
export class ClientAddresses {
  private readonly trusted: readonly IpRange[];

  constructor(environment: Environment) {
    this.trusted = environment.TRUSTED_PROXIES;
  }

  /**
   * Returns the address by which the requests of a client are counted: an IPv4 address, or the /64 of an IPv6 address.
   * Follows `X-Forwarded-For` from its end as long as trusted proxies wrote it.
   */
  of(request: Pick<IncomingMessage, 'socket' | 'headers'>): string {
    const address = this.resolve(request);
    return address ? networkOf(address) : 'unknown';
  }

  /** Returns the complete address of a client, found in the same way. */
  exact(request: Pick<IncomingMessage, 'socket' | 'headers'>): string | undefined {
    // without proxies, the address of the socket needs no parsing
    if (this.trusted.length === 0) return request.socket.remoteAddress?.replace(/^::ffff:(?=[\d.]+$)/, '');
    return this.resolve(request)?.toString();
  }

  private resolve({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): IpAddress | undefined {
    let address = parse(socket.remoteAddress ?? '');
    if (!address) return undefined;
    const hops = [headers['x-forwarded-for'] ?? []].flat().join().split(',');
    while (isIn(address, this.trusted)) {
      const hop = parse(hops.pop()?.trim() ?? '');
      if (!hop) break;
      address = hop;
    }
    return address;
  }
}

/** Parses an address, with or without a port. IPv4-mapped IPv6 becomes IPv4. */
function parse(text: string): IpAddress | undefined {
  const [, bracketed, plain] = WITH_PORT.exec(text) ?? [];
  const address = bracketed ?? plain ?? text;
  return isIP(address) ? ipaddr.process(address) : undefined;
}

function networkOf(address: IpAddress): string {
  if (address.kind() === 'ipv4') return address.toString();
  const network = address.toByteArray().fill(0, NETWORK_BYTES);
  return `${ipaddr.fromByteArray(network).toString()}/64`;
}
