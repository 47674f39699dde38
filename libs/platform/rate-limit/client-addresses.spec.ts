import type { Socket } from 'node:net';
import { readEnvironment } from '#platform/config';
import { ClientAddresses } from './client-addresses';

const find = (remoteAddress: string | undefined, forwarded?: string, TRUSTED_PROXIES = ''): string =>
  new ClientAddresses(readEnvironment({ TRUSTED_PROXIES })).of({
    socket: { remoteAddress } as Socket,
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  });

describe('the address of a client', () => {
  it.each([
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['::FFFF:CB00:7107', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['fe80::1%eth0', 'fe80::/64'],
    ['::1', '::/64'],
    [undefined, 'unknown'],
  ])('is counted for a peer at %s as %s', (address, counted) => {
    expect(find(address)).toBe(counted);
  });

  it('is not read from X-Forwarded-For unless a trusted proxy sent it', () => {
    expect(find('203.0.113.7', '198.51.100.1')).toBe('203.0.113.7');
    expect(find('203.0.113.7', '198.51.100.1', '10.0.0.0/8')).toBe('203.0.113.7');
  });

  it.each([
    ['198.51.100.1', '198.51.100.1'],
    ['6.6.6.6, 198.51.100.1', '198.51.100.1'],
    ['6.6.6.6,198.51.100.1 , 10.1.1.1,::ffff:10.2.2.2', '198.51.100.1'],
    ['10.1.1.1', '10.1.1.1'],
    ['198.51.100.1:4711', '198.51.100.1'],
    ['2001:db8::1', '2001:db8::/64'],
    ['[2001:db8::1]:443', '2001:db8::/64'],
    ['[2001:db8::1]', '2001:db8::/64'],
  ])('is found in "%s" from trusted proxies as %s', (forwarded, client) => {
    expect(find('::ffff:10.0.0.1', forwarded, '10.0.0.0/8')).toBe(client);
  });

  it.each(['', 'unknown', '1', '0x7f.1', '198.51.100.1, nobody', 'fe80::zz'])(
    'is the proxy\'s own if the proxy sends "%s"',
    (forwarded) => {
      expect(find('10.0.0.1', forwarded, '10.0.0.1,fd00::/8')).toBe('10.0.0.1');
    },
  );

  it('is found behind a proxy with an IPv6 address', () => {
    expect(find('fd00::1', '198.51.100.1', '10.0.0.1, fd00::/8')).toBe('198.51.100.1');
  });

  it.each(['proxy', '10.0.0.0/33', '10.0.0.1,', '10.0.0.1;10.0.0.2'])(
    'cannot be configured by TRUSTED_PROXIES=%s',
    (value) => {
      expect(() => readEnvironment({ TRUSTED_PROXIES: value })).toThrow(
        'TRUSTED_PROXIES: must be IP addresses and ranges such as 10.0.0.0/8, separated by commas',
      );
    },
  );
});
