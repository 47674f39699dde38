import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import type { Problem } from '#platform/problem';
import { exchange } from './upstream-exchange';

const REQUEST = {
  origin: 'http://api.example',
  path: '/x',
  method: 'GET',
  headers: [],
  body: null,
  timeoutMs: 1_000,
};

/** The parts of undici's handler that the tests call. */
interface Handler {
  onConnect(abort: (error?: Error) => void): void;
  onHeaders(status: number, headers: Buffer[], resume: () => void, reason: string): boolean;
  onComplete(trailers: Buffer[]): void;
  onError(error: Error): void;
}

const bytes = (...texts: string[]): Buffer[] => texts.map((text) => Buffer.from(text, 'latin1'));
const nothing = (): void => undefined;

/** Serves one request with an exchange. The test acts as its dispatcher. */
async function withExchange(
  dispatch: (handler: Handler) => void,
  work: (
    url: string,
    outcome: Promise<Problem | undefined>,
    response: () => http.ServerResponse,
  ) => Promise<void>,
): Promise<void> {
  const server = http.createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const dispatcher = { dispatch: (_: unknown, handler: unknown) => dispatch(handler as Handler) };
  let current: http.ServerResponse | undefined;
  const outcome = new Promise<Problem | undefined>((resolve) => {
    server.once('request', (_request, response) => {
      current = response;
      response.setHeader('RateLimit', '"proxy"');
      exchange(dispatcher as never, REQUEST, response, 'id').then(
        () => resolve(undefined),
        (error: unknown) => {
          resolve(error as Problem);
          response.writeHead((error as Problem).status).end();
        },
      );
    });
  });
  try {
    await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, outcome, () => current!);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe('exchange', () => {
  it.each([
    ['a header', 200, 'a\x01', 'Their Reason'],
    ['a status', 1_000, 'a', 'Their Reason'],
  ])(
    'returns 503, and nothing from the upstream, for %s that Node refuses to send',
    async (_, status, value, reason) => {
      const dispatch = (handler: Handler): void => {
        handler.onConnect(nothing);
        handler.onHeaders(status, bytes('Content-Encoding', 'gzip', 'X-A', value), nothing, reason);
      };
      await withExchange(dispatch, async (url, outcome) => {
        const [answer] = (await once(http.get(url, { agent: false }), 'response')) as [http.IncomingMessage];
        answer.resume();
        expect((await outcome)?.headers['Proxy-Status']).toBe('agent-registry; error=http_protocol_error');
        expect([answer.statusCode, answer.statusMessage]).toEqual([503, 'Service Unavailable']);
        expect(answer.headers).toMatchObject({ ratelimit: '"proxy"' });
        expect(answer.headers).not.toHaveProperty('content-encoding');
        expect(answer.headers).not.toHaveProperty('x-a');
      });
    },
  );

  it('aborts as soon as it is connected if the client has already disconnected', async () => {
    let connected!: Handler;
    const dispatch = (handler: Handler): void => void (connected = handler);
    await withExchange(dispatch, async (url, outcome, response) => {
      const socket = net.connect(Number(new URL(url).port), '127.0.0.1');
      socket.write('GET / HTTP/1.1\r\nHost: h\r\n\r\n');
      while (connected === undefined) await new Promise(setImmediate);
      socket.destroy();
      expect(await outcome).toBeUndefined();
      const aborted: unknown[] = [];
      connected.onConnect((error) => aborted.push(error));
      expect(aborted).toEqual([expect.objectContaining({ code: 'request_timeout', status: 408 })]);
      // later events from undici have no effect
      connected.onError(new Error('late'));
      connected.onComplete([]);
      expect(response().listenerCount('close')).toBe(0);
    });
  });
});
