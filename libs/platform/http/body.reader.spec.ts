import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { ByteBudget } from '#platform/concurrency';
import type { Problem } from '#platform/problem';
import { readBody, receiveBody } from './body.reader';
import type { ContentCoding } from './content-headers';
import type { ServiceRequest } from './request-context';

const LIMIT = 2_000;
const STALL_MS = 300;

describe('the body of a request', () => {
  const budget = new ByteBudget({ total: 1_000_000 });
  const outcomes: Promise<string>[] = [];
  let server: http.Server;

  /** Responds with the size of the body, or with the status and code of its rejection. */
  async function answer(incoming: http.IncomingMessage): Promise<string> {
    const request = incoming as ServiceRequest;
    const lease = budget.acquire('a');
    try {
      const stallMs = request.headers.expires === undefined ? 60_000 : STALL_MS;
      if (request.url !== '/streamed') {
        const timeoutMs = request.url === '/slow' ? 300 : 60_000;
        const codings: ContentCoding[] = request.headers['content-encoding'] === 'gzip' ? ['gzip'] : [];
        const rules = { limit: LIMIT, codings, lease, timeoutMs, stallMs };
        return String((await readBody(request, rules)).length);
      }
      let size = 0;
      for await (const chunk of receiveBody(request, LIMIT, { stallMs })) size += chunk.length;
      return String(size);
    } catch (error) {
      const { status, code } = error as Problem;
      return `${status} ${code}`;
    } finally {
      lease.release();
    }
  }

  beforeAll(async () => {
    server = http.createServer((request, response) => {
      const outcome = answer(request);
      outcomes.push(outcome);
      void outcome.then((text) => response.end(text));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  function send(path: string, head: string): net.Socket {
    const socket = net.connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.setEncoding('utf8').on('error', () => undefined);
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${head}\r\n\r\n`);
    return socket;
  }
  async function answered(socket: net.Socket): Promise<string> {
    let text = '';
    socket.on('data', (chunk: string) => (text += chunk));
    await once(socket, 'close');
    return text.split('\r\n').find((line) => /^\d+( \w+)?$/.test(line)) ?? text;
  }
  const CHUNKED = 'Transfer-Encoding: chunked';

  it.each(['/whole', '/streamed'])('is received at %s in chunks of one byte', async (path) => {
    const socket = send(path, CHUNKED);
    socket.write('1\r\nx\r\n'.repeat(LIMIT) + '0\r\n\r\n');
    expect(await answered(socket)).toBe(String(LIMIT));
  });

  it.each(['/whole', '/streamed'])(
    'is rejected with 413 at %s if it is too large, with or without a declared length',
    async (path) => {
      const announced = send(path, `Content-Length: ${LIMIT + 1}`);
      announced.write('x'.repeat(LIMIT + 1));
      expect(await answered(announced)).toBe('413 payload_too_large');
      const chunked = send(path, CHUNKED);
      chunked.write('1\r\nx\r\n'.repeat(LIMIT + 1) + '0\r\n\r\n');
      expect(await answered(chunked)).toBe('413 payload_too_large');
    },
  );

  it('is received in the chunks in which it arrives, if it is small and its size is known', async () => {
    const socket = send('/whole', 'Content-Length: 6');
    for (const piece of ['ab', 'cd', 'ef']) {
      socket.write(piece);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(await answered(socket)).toBe('6');
    expect(await answered(send('/whole', 'Content-Length: 0'))).toBe('0');
  });

  it.each([
    [CHUNKED, Buffer.alloc(1000)],
    ['Content-Length: 1000', Buffer.alloc(1000)],
    [`${CHUNKED}\r\nContent-Encoding: gzip`, gzipSync(randomBytes(1000))],
  ])(
    'is rejected with 408 if it is read whole and takes too long, although it never stalls (%s)',
    async (head, body) => {
      const socket = send('/slow', head);
      let at = 0;
      const trickle = setInterval(() => {
        const byte = body.subarray(at, ++at);
        const chunk = Buffer.concat([Buffer.from('1\r\n'), byte, Buffer.from('\r\n')]);
        socket.write(head.startsWith(CHUNKED) ? chunk : byte);
      }, 20);
      expect(await answered(socket)).toBe('408 request_timeout');
      clearInterval(trickle);
    },
  );

  it.each([
    ['/whole', 'Content-Length: 1000'],
    ['/whole', CHUNKED],
    ['/streamed', CHUNKED],
  ])('is rejected with 408 at %s if it stalls (%s)', async (path, head) => {
    const socket = send(path, `Expires: soon\r\n${head}`);
    socket.write(head === CHUNKED ? '1\r\nx\r\n' : 'x');
    expect(await answered(socket)).toBe('408 request_timeout');
  });

  it('keeps its bytes reserved until the lease is released', async () => {
    const socket = send('/whole', 'Content-Length: 1000');
    socket.write('x');
    while (budget.used !== 1000) await new Promise((resolve) => setTimeout(resolve, 5));
    socket.write('x'.repeat(999));
    expect(await answered(socket)).toBe('1000');
    expect(budget.used).toBe(0);
  });

  it.each(['/whole', '/streamed'])('is abandoned at %s when the connection breaks', async (path) => {
    const arrival = once(server, 'request');
    const socket = send(path, 'Content-Length: 1000');
    socket.write('x');
    await arrival;
    socket.destroy();
    expect(await outcomes.at(-1)).toBe('400 invalid_request');
  });
});
