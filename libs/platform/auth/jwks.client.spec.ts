import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { jwksAt } from './jwks.client';

describe('jwksAt', () => {
  let server: http.Server;
  let answer: http.RequestListener;
  let address: string;

  beforeAll(async () => {
    server = http.createServer((request, response) => answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it('returns the key set', async () => {
    answer = (_, response) => response.end('{"keys":[]}');
    await expect(jwksAt(address)()).resolves.toEqual({ keys: [] });
  });

  it('fails after the deadline, before the first byte and in the middle of the body', async () => {
    answer = () => undefined;
    await expect(jwksAt(address, 50)()).rejects.toThrow(/timeout/i);
    answer = (_, response) => response.write('{"keys":');
    await expect(jwksAt(address, 200)()).rejects.toThrow();
  });

  it('stops reading a body that is too large', async () => {
    let sent = 0;
    answer = (_, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(64 * 1024, ' '))) sent += 64 * 1024;
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    };
    await expect(jwksAt(address)()).rejects.toThrow('larger than');
    expect(sent).toBeLessThan(64 * 1024 * 1024);
  });

  it('does not follow redirects', async () => {
    const requested: (string | undefined)[] = [];
    answer = (request, response) => {
      requested.push(request.url);
      response.writeHead(302, { Location: '/elsewhere' }).end();
    };
    await expect(jwksAt(address)()).rejects.toThrow();
    expect(requested).toEqual(['/jwks']);
  });

  it.each([
    ['an error status', 500, '{"keys":[]}'],
    ['a body that is not JSON', 200, '<html>'],
  ])('rejects %s', async (_, status, body) => {
    answer = (_request, response) => response.writeHead(status).end(body);
    await expect(jwksAt(address)()).rejects.toThrow();
  });
});
