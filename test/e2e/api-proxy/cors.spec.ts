import { type ApiClient, ownApp, newOrganization } from '#testing';
import { rawExchange, register, Upstream } from './upstream.fixture';

const PAGE = 'https://app.example.com';

const app = ownApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8', CORS_ORIGINS: PAGE } });
let admin: ApiClient;
let key: string;
let upstream: Upstream;
let path: string;

beforeAll(async () => {
  const org = await newOrganization(app);
  admin = await org.member('admin');
  key = (await org.serviceAccount('runtime')).key;
  upstream = await Upstream.listen();
  path = await register(admin, org.workspaceId, { base_url: upstream.url });
});
afterAll(async () => {
  await upstream.close();
});
beforeEach(() => {
  upstream.received.splice(0);
  upstream.answer = (_request, response) =>
    response
      .setHeader('Access-Control-Allow-Origin', '*')
      .setHeader('Access-Control-Allow-Credentials', 'true')
      .setHeader('Access-Control-Expose-Headers', 'X-Theirs')
      .setHeader('Vary', 'Accept-Language')
      .end('ok');
});

/** Sends a request as a page would. @returns the status and the headers of the response */
async function sendFromPage(
  method: string,
  origin: string,
  more: readonly string[] = [],
): Promise<[number, Headers]> {
  const head = [`${method} ${path}/x HTTP/1.1`, 'Host: h', `Origin: ${origin}`, ...more, 'Connection: close'];
  const answer = await rawExchange(app, [...head, '', ''].join('\r\n'));
  const [start = '', ...lines] = answer.split('\r\n\r\n')[0]!.split('\r\n');
  const headers = new Headers(
    lines.map((line): [string, string] => [line.split(': ', 1)[0]!, line.replace(/^[^:]*: /, '')]),
  );
  return [Number(start.split(' ')[1]), headers];
}

const corsOf = (headers: Headers): Record<string, string> =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-')));

describe('a page from an origin in CORS_ORIGINS', () => {
  it('gets its preflight response from the service, without a credential', async () => {
    const [status, headers] = await sendFromPage('OPTIONS', PAGE, [
      'Access-Control-Request-Method: PATCH',
      'Access-Control-Request-Headers: authorization',
    ]);
    expect(status).toBe(204);
    expect(corsOf(headers)).toMatchObject({
      'access-control-allow-origin': PAGE,
      'access-control-allow-headers': 'authorization',
    });
    expect(upstream.received).toEqual([]);
  });

  it.each(['GET', 'POST', 'OPTIONS'])(
    'may read the response to %s, with the CORS headers of the service',
    async (method) => {
      const [status, headers] = await sendFromPage(method, PAGE, [
        `Authorization: Bearer ${key}`,
        'Content-Length: 0',
      ]);
      expect(status).toBe(200);
      expect(upstream.last.method).toBe(method);
      expect(corsOf(headers)).toEqual({
        'access-control-allow-origin': PAGE,
        'access-control-expose-headers': expect.stringMatching(/Proxy-Status(?!.*X-Theirs)/) as string,
      });
      expect(headers.get('vary')).toBe('Origin, Accept-Language');
    },
  );

  it('may read problems', async () => {
    const [status, headers] = await sendFromPage('GET', PAGE);
    expect([status, headers.get('access-control-allow-origin')]).toEqual([401, PAGE]);
  });
});

it.each(['GET', 'OPTIONS'])(
  'does not let a page from another origin read the response to %s',
  async (method) => {
    const [status, headers] = await sendFromPage(method, 'https://evil.example', [
      `Authorization: Bearer ${key}`,
    ]);
    expect(status).toBe(200);
    expect(headers.has('access-control-allow-origin')).toBe(false);
    expect(headers.get('vary')).toBe('Origin, Accept-Language');
  },
);
