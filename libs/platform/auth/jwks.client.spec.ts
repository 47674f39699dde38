import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { jwksAt } from './jwks.client';

describe('a key set fetched from its issuer', () => {
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

  it('is read', async () => {
    answer = (_, response) => response.end('{"keys":[]}');
    await expect(jwksAt(address)()).resolves.toEqual({ keys: [] });
  });

  it('is given up when it does not come in time, be it before the first byte or in the middle', async () => {
    answer = () => undefined;
    await expect(jwksAt(address, 50)()).rejects.toThrow(/timeout/i);
    answer = (_, response) => response.write('{"keys":');
    await expect(jwksAt(address, 200)()).rejects.toThrow();
  });

  it('is given up when it is larger than any key set, long before its end', async () => {
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

  it('is not looked for where the issuer redirects to', async () => {
    const asked: (string | undefined)[] = [];
    answer = (request, response) => {
      asked.push(request.url);
      response.writeHead(302, { Location: '/elsewhere' }).end();
    };
    await expect(jwksAt(address)()).rejects.toThrow();
    expect(asked).toEqual(['/jwks']);
  });

  it.each([
    ['an error', 500, '{"keys":[]}'],
    ['something that is not JSON', 200, '<html>'],
  ])('is not taken from %s', async (_, status, body) => {
    answer = (_request, response) => response.writeHead(status).end(body);
    await expect(jwksAt(address)()).rejects.toThrow();
  });
});
