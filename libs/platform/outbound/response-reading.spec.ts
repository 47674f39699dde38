import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import ipaddr from 'ipaddr.js';
import { type Dispatcher, request } from 'undici';
import { outboundFailure } from './outbound-errors';
import { OutboundHttp } from './outbound-http';

const KIB = 1024;
/** Bytes of a body that undici buffers before it waits for the reader. */
const BUFFERED = 64 * KIB;
const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
const END = '0\r\n\r\n';

/** Returns a body whose chunks have one byte each. */
const inSingleBytes = (text: string): string => text.replace(/[^]/g, '1\r\n$&\r\n') + END;

describe('responses of servers', () => {
  const http = new OutboundHttp([ipaddr.parseCIDR('127.0.0.1/32')]);
  let server: Server;
  let sockets: Socket[];
  beforeEach(() => {
    sockets = [];
  });
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  afterAll(() => http.onApplicationShutdown());

  /** Starts a server that answers each request with these bytes, and then closes the connection if `ends`. */
  async function respond(bytes: string, ends = false): Promise<string> {
    server = createServer((socket) => {
      sockets.push(socket);
      const answer = (): unknown => (ends ? socket.end(bytes) : socket.write(bytes));
      socket.on('data', answer).on('error', () => undefined);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
  const get = (url: string): Promise<Dispatcher.ResponseData> =>
    request(url, { dispatcher: http.dispatcher });

  /** Waits until undici waits for the reader of a body. */
  async function untilBuffered({ body }: Dispatcher.ResponseData): Promise<void> {
    while (body.readableLength < BUFFERED) await nextTurn();
  }

  it.each([
    ['that ends with its connection', 'HTTP/1.0 200 OK\r\n\r\n'],
    ['after which the connection closes', `HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n`],
    ['with a length', `HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 1000000\r\n\r\n`],
  ])('a reset of an unread response %s is an error of this response', async (_, head) => {
    const response = await get(await respond(head + 'x'.repeat(BUFFERED)));
    await untilBuffered(response);
    const failed = once(response.body, 'error') as Promise<[Error]>;
    sockets[0]!.resetAndDestroy();
    expect(outboundFailure((await failed)[0])).toBe('unreachable');
  });

  it.each([2 * BUFFERED, 150_000, 400_000])(
    'are complete if %d bytes end with their connection before a slow reader has read them',
    async (bytes) => {
      const url = await respond(`HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n${'x'.repeat(bytes)}`, true);
      const response = await get(url);
      await untilBuffered(response);
      for (let turns = 0; turns < 20; turns++) await nextTurn();
      expect((await response.body.text()).length).toBe(bytes);
    },
  );

  it('are complete if many end with their connections while they wait for their turns', async () => {
    const bytes = 3_000_000;
    const url = await respond(`HTTP/1.0 200 OK\r\n\r\n${'x'.repeat(bytes)}`, true);
    const read = async (): Promise<number> => (await (await get(url)).body.text()).length;
    expect(new Set(await Promise.all(Array.from({ length: 32 }, read)))).toEqual(new Set([bytes]));
  });

  it('are complete after a reader that was slow', async () => {
    const text = Array.from({ length: 2 * BUFFERED }, (_, n) => String(n % 10)).join('');
    const url = await respond(CHUNKED + inSingleBytes(text));
    for (let one = 0; one < 2; one++) {
      const response = await get(url);
      await untilBuffered(response);
      expect((await response.body.text()) === text).toBe(true);
      // until undici uses the connection again
      await nextTurn();
      await nextTurn();
    }
    expect(sockets).toHaveLength(1);
  });

  it('are complete if large and small chunks alternate', async () => {
    const parts = Array.from({ length: 2_000 }, (_, n) => String(n).padEnd(n % 3 === 0 ? 300 : 3, '.'));
    const chunks = parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('');
    const { body } = await get(await respond(CHUNKED + chunks + END));
    expect(await body.text()).toBe(parts.join(''));
  });

  it('arrive as joined chunks, although the server sends single bytes', async () => {
    const bytes = 20_000;
    const { body } = await get(await respond(CHUNKED + inSingleBytes('x'.repeat(bytes))));
    let chunks = 0;
    for await (const _ of body) chunks++;
    expect(chunks).toBeLessThan(bytes / 100);
  });

  it('let the event loop do other work while they arrive in single bytes', async () => {
    const { body } = await get(await respond(CHUNKED + inSingleBytes('x'.repeat(100_000))));
    let turns = 0;
    let isRead = false;
    const text = body.text().finally(() => (isRead = true));
    while (!isRead) {
      await nextTurn();
      turns++;
    }
    expect((await text).length).toBe(100_000);
    expect(turns).toBeGreaterThan(50);
  });

  it('may have some informational responses before them', async () => {
    const response = await get(
      await respond('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(9) + CHUNKED + inSingleBytes('Hi')),
    );
    expect(await response.body.text()).toBe('Hi');
  });

  it('fail after endless informational responses', async () => {
    const url = await respond('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1_000));
    expect(await get(url).then(() => null, outboundFailure)).toBe('protocol');
  });
});
