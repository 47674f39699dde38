import { type ApiClient, sharedApp, newOrganization, type TestOrganization } from '#testing';
import { rawExchange, register, Upstream } from './upstream.fixture';

const app = sharedApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });
let org: TestOrganization;
let admin: ApiClient;
let key: string;
let upstream: Upstream;
let path: string;
let withSlashes: string;

beforeAll(async () => {
  org = await newOrganization(app);
  admin = await org.member('admin');
  key = (await org.serviceAccount('runtime')).key;
  upstream = await Upstream.listen();
  const base_url = `${upstream.url}/tenants/t1`;
  path = await register(admin, org.workspaceId, { base_url });
  withSlashes = await register(admin, org.workspaceId, { base_url, allow_encoded_slash: true });
});
afterAll(async () => {
  await upstream.close();
});
beforeEach(() => upstream.received.splice(0));

/** Sends a target byte for byte, and returns the status and the code of the response. */
async function sendRaw(
  target: string,
  more: readonly string[] = [],
  key_ = key,
): Promise<[number, string | undefined]> {
  const head = [
    `GET ${target} HTTP/1.1`,
    'Host: h',
    `Authorization: Bearer ${key_}`,
    'Connection: close',
    ...more,
    '',
    '',
  ];
  const answer = await rawExchange(app, Buffer.from(head.join('\r\n'), 'latin1'));
  const status = Number(answer.split(' ')[1]);
  return [status, /"code":"(\w+)"/.exec(answer)?.[1]];
}

const ESCAPES: [string, string][] = [
  ['..', '..'],
  ['dot segment at the start', '../t2/x'],
  ['dot segment in the middle', 'a/../../t2/x'],
  ['dot segment at the end', 'a/..'],
  ['single dot', './a'],
  ['encoded dots', '%2e%2e/t2'],
  ['encoded dots in capitals', '%2E%2E/t2'],
  ['half encoded', '.%2e/t2'],
  ['encoded single dot', 'a/%2e/b'],
  ['encoded slash after dots', '..%2ft2'],
  ['all encoded', '%2e%2e%2ft2'],
  ['twice encoded', '%252e%252e%252ft2'],
  ['twice encoded dots', '%252e%252e/t2'],
  ['three times encoded', '%25252e%25252e/t2'],
  ['four times encoded', '%2525252e%2525252e/t2'],
  ['five times encoded', '%252525252e%252525252e/t2'],
  ['anything that still changes after three decodings', '%25252541'],
  ['parameters', '..;/t2'],
  ['parameters with a value', '..;a=b/t2'],
  ['encoded parameters', '..%3b/t2'],
  ['encoded dots with parameters', '%2e%2e;x/t2'],
  ['single dot with parameters', '.;/a'],
  ['encoded question mark', '..%3fa'],
  ['encoded fragment', 'a/..%23'],
  ['twice encoded question mark', '..%253f/t2'],
  ['backslash', '..\\t2'],
  ['backslash alone', 'a\\b'],
  ['encoded backslash', '..%5ct2'],
  ['encoded backslash in capitals', 'a%5Cb'],
  ['twice encoded backslash', '..%255ct2'],
  ['encoded NUL', 'a%00b'],
  ['NUL after dots', '..%00/t2'],
  ['twice encoded NUL', 'a%2500b'],
  ['encoded CR and LF', 'a%0d%0aX-Injected:%201'],
  ['twice encoded CR and LF', 'a%250d%250aX:1'],
  ['encoded tab', 'a%09b'],
  ['encoded DEL', 'a%7fb'],
  ['leading empty segment', '/evil.example/x'],
  ['leading encoded empty segment', '%2fevil.example'],
  ['overlong dots', '%c0%ae%c0%ae/t2'],
  ['overlong dots in three bytes', '%e0%80%ae%e0%80%ae/t2'],
  ['overlong dots in four bytes', '%f0%80%80%ae%f0%80%80%ae/t2'],
  ['overlong slash', '..%c0%aft2'],
  ['overlong backslash', '..%c1%9ct2'],
  ['full-width dots', '%ef%bc%8e%ef%bc%8e/t2'],
  ['full-width slash', '..%ef%bc%8ft2'],
  ['%u escapes', '%u002e%u002e/t2'],
  ['%u escape of a slash', '..%u002ft2'],
  ['%u escapes of full-width dots', '%uff0e%uff0e/t2'],
  ['spaces after dots', '..%20/t2'],
  ['spaces before dots', '%20../t2'],
];

describe('a path that could leave the base path', () => {
  it.each(ESCAPES)('returns 400 base_path_escaped for %s: %s', async (_, escape) => {
    expect(await sendRaw(`${path}/${escape}`)).toEqual([400, 'base_path_escaped']);
    expect(await sendRaw(`${withSlashes}/${escape}`)).toEqual([400, 'base_path_escaped']);
    expect(upstream.received).toEqual([]);
  });

  it.each(['a%2fb', 'a%2Fb', 'a%252fb', 'a%25252fb', 'a%c0%afb'])(
    'returns 400 base_path_escaped for encoded slashes, unless the API allows them: %s',
    async (slash) => {
      expect(await sendRaw(`${path}/${slash}`)).toEqual([400, 'base_path_escaped']);
      expect(upstream.received).toEqual([]);
      expect((await sendRaw(`${withSlashes}/${slash}`))[0]).toBe(200);
      expect(upstream.last.url).toBe(`/tenants/t1/${slash}`);
    },
  );

  it('returns 400 before the API is looked up, so that the response reveals nothing about it', async () => {
    expect(await sendRaw('/api/v1/apis/api_unknown/../x')).toEqual([400, 'base_path_escaped']);
    expect(await sendRaw('/api/v1/apis/../apis/x')).toEqual([404, 'not_found']);
  });

  it('returns 401 instead if the API key is invalid', async () => {
    expect(await sendRaw(`${path}/../x`, [], 'rsk_wrong')).toEqual([401, 'invalid_api_key']);
  });
});

describe('any other path', () => {
  it.each([
    '%252541',
    'a',
    'a/b/c/',
    'a//b',
    'a...b',
    '...',
    '.well-known/x',
    'a/.hidden',
    'a..b/c..',
    'v1;p=1/x',
    'a%20b',
    'a%25b',
    '100%',
    '%zz',
    '%ff%fe',
    '%E2%82%AC',
    'a+b',
    "!$&'()*,=:@~",
    'a|b^c`d{e}',
    'x'.repeat(8000),
  ])('is forwarded byte for byte: %s', async (rest) => {
    expect((await sendRaw(`${path}/${rest}`))[0]).toBe(200);
    expect(upstream.last.url).toBe(`/tenants/t1/${rest}`);
  });

  it('is forwarded byte for byte with any query', async () => {
    const query = '?a=../..%2f..\\&%00&&=;#'.replace('#', '');
    expect((await sendRaw(`${path}/x${query}`))[0]).toBe(200);
    expect(upstream.last.url).toBe(`/tenants/t1/x${query}`);
  });
});

describe('an unusual or malformed request', () => {
  it('is forwarded by its path if its target is in absolute form, and its authority has no effect', async () => {
    expect((await sendRaw(`http://evil.example${path}/x`))[0]).toBe(200);
    expect(upstream.last.url).toBe('/tenants/t1/x');
    expect(upstream.last.headers).not.toHaveProperty('x-forwarded-host');
    expect(await sendRaw(`http://evil.example${path}/../x`)).toEqual([400, 'base_path_escaped']);
  });

  it('reaches no upstream if its target is in authority or asterisk form', async () => {
    expect((await sendRaw('*'))[0]).toBeGreaterThanOrEqual(400);
    const connect = await rawExchange(
      app,
      `CONNECT evil.example:443 HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ${key}\r\n\r\n`,
    );
    expect(connect).toMatch(/^HTTP\/1\.1 405 /);
    expect(upstream.received).toEqual([]);
  });

  it.each([
    ['two Host headers', ['Host: evil.example']],
    ['Transfer-Encoding with Content-Length', ['Content-Length: 4', 'Transfer-Encoding: chunked']],
    ['two different lengths', ['Content-Length: 4', 'Content-Length: 5']],
    ['a negative length', ['Content-Length: -1']],
    ['an unknown transfer coding', ['Transfer-Encoding: xchunked']],
    ['chunked twice', ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked']],
    ['a space before the colon', ['Content-Length : 4']],
    ['a folded header', ['X-A: 1', ' Content-Length: 5']],
    ['a NUL in a header', ['X-A: a\0b']],
    ['a bare CR in a header', ['X-A: a\rX-B: b']],
  ])('returns 400 for %s, and is not forwarded', async (_, headers) => {
    expect((await sendRaw(`${path}/x`, headers))[0]).toBe(400);
    expect(upstream.received).toEqual([]);
  });

  it('returns 400 for a fragment', async () => {
    expect(await sendRaw(`${path}/x#y`)).toEqual([400, 'invalid_request']);
    expect(upstream.received).toEqual([]);
  });

  it.each(['a b', 'a\tb', 'a\0b', '\xe4', '\xc0\xae\xc0\xae/t2'])(
    'returns 400 for raw %j in its target',
    async (rest) => {
      expect((await sendRaw(`${path}/${rest}`))[0]).toBe(400);
      expect(upstream.received).toEqual([]);
    },
  );

  it('cannot hide a second request in a body', async () => {
    const inner = `GET ${path}/hidden HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ${key}\r\n\r\n`;
    const outer = `POST ${path}/outer HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`;
    expect(await rawExchange(app, outer)).toMatch(/^HTTP\/1\.1 200 /);
    expect(upstream.received.map(({ url, body }) => [url, body.toString()])).toEqual([
      ['/tenants/t1/outer', inner],
    ]);
  });
});

describe('an upgrade', () => {
  it.each(['websocket', 'WebSocket', 'tcp', 'h2c, websocket'])(
    'returns 400 if it is to %s',
    async (upgrade) => {
      expect(await sendRaw(`${path}/x`, [`Upgrade: ${upgrade}`])).toEqual([400, 'invalid_request']);
      expect(upstream.received).toEqual([]);
    },
  );

  it('is ignored if it is to HTTP/2, because clients work without it', async () => {
    expect(
      (await sendRaw(`${path}/x`, ['Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA']))[0],
    ).toBe(200);
    expect(upstream.last.headers).not.toHaveProperty('upgrade');
    expect(upstream.last.headers).not.toHaveProperty('http2-settings');
  });
});

it.each(['TRACE', 'PROPFIND', 'QUERY', 'M-SEARCH'])('never forwards %s', async (method) => {
  const head = [
    `${method} ${path}/x HTTP/1.1`,
    'Host: h',
    `Authorization: Bearer ${key}`,
    'Connection: close',
    '',
    '',
  ];
  const answer = await rawExchange(app, head.join('\r\n'));
  expect(answer).toMatch(/^HTTP\/1\.1 (405|400) /);
  expect(upstream.received).toEqual([]);
});
