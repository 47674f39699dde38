import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import ipaddr from 'ipaddr.js';
import { OutboundHttp } from '#platform/outbound';
import { KeyRing, SecretBox } from '#platform/secrets';
import { SERVER_SECRET } from '../servers/server.entity';
import { type OAuthTarget, OAuthTokens } from './oauth-tokens';
import { ServerFailure } from './server-failure';

const SECRET = 'cs:1%+~&=/x';

interface TokenRequest {
  headers: IncomingHttpHeaders;
  form: Record<string, string>;
  /** Resolves when the response is sent or the connection is closed. */
  closed: Promise<unknown>;
}
interface TokenResponse {
  status?: number;
  body: unknown;
  headers?: Record<string, string>;
}
type Respond = (request: TokenRequest) => TokenResponse | Promise<TokenResponse> | null;

/** A token endpoint that records its requests. If `respond` returns null, it never responds. */
class TokenServer {
  readonly requests: TokenRequest[] = [];
  private waiting: { count: number; resolve: () => void } | null = null;

  private constructor(
    readonly url: string,
    private readonly server: Server,
    public respond: Respond,
  ) {}

  static async start(): Promise<TokenServer> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const started = new TokenServer(`http://127.0.0.1:${port}/token`, server, () => ({ body: {} }));
    server.on('request', (incoming, response) => {
      void (async () => {
        const text = Buffer.concat((await incoming.toArray()) as Buffer[]).toString();
        const request = {
          headers: incoming.headers,
          form: Object.fromEntries(new URLSearchParams(text)),
          closed: once(response, 'close'),
        };
        started.requests.push(request);
        if (started.requests.length === started.waiting?.count) started.waiting.resolve();
        const answer = await started.respond(request);
        if (answer === null) return;
        const { status = 200, body, headers = { 'content-type': 'application/json' } } = answer;
        response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
      })();
    });
    return started;
  }

  received(count: number): Promise<void> {
    if (this.requests.length >= count) return Promise.resolve();
    return new Promise((resolve) => (this.waiting = { count, resolve }));
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}

describe('OAuthTokens', () => {
  const box = new SecretBox(
    new KeyRing({ SECRETS_KEY: randomBytes(32).toString('base64'), SECRETS_KEYS: undefined }),
  );
  const sealed = (serverId: string): string => box.seal(SECRET, SERVER_SECRET.of(serverId));
  let endpoint: TokenServer;
  let outbound: OutboundHttp;
  let tokens: OAuthTokens;

  beforeEach(async () => {
    endpoint = await TokenServer.start();
    outbound = new OutboundHttp([ipaddr.parseCIDR('127.0.0.0/8')]);
    tokens = new OAuthTokens(box);
    let made = 0;
    endpoint.respond = () => ({
      body: { access_token: `t${++made}`, token_type: 'Bearer', expires_in: 3600 },
    });
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await outbound.onApplicationShutdown();
    await endpoint.stop();
  });

  const target = (changes: Partial<OAuthTarget> = {}): OAuthTarget => ({
    server_id: 'mcps_1',
    url: 'https://mcp.example.com/mcp?api_key=k9',
    auth_token_url: endpoint.url,
    auth_client_id: 'client:1',
    auth_scope: 'mcp:read mcp:call',
    auth_secret: sealed('mcps_1'),
    ...changes,
  });
  const token = (server: OAuthTarget, signal = new AbortController().signal, http?: typeof fetch) =>
    tokens.token(server, http ?? outbound.fetcher({ signal, maxBytes: 1024 * 1024 }), signal);
  const failure = async (server: OAuthTarget): Promise<ServerFailure> => {
    const error: unknown = await token(server).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ServerFailure);
    expect(inspect(error, { depth: 10 })).not.toContain(SECRET);
    return error as ServerFailure;
  };
  const pass = (ms: number): void => {
    const now = performance.now() + ms;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
  };

  it('sends form-encoded client credentials with HTTP Basic, for the resource without its query', async () => {
    expect(await token(target())).toBe('t1');
    const [{ headers, form }] = endpoint.requests as [TokenRequest];
    const [scheme, credentials] = headers.authorization!.split(' ');
    const decoded = Buffer.from(credentials!, 'base64').toString();
    expect([scheme, decoded]).toEqual(['Basic', 'client%3A1:cs%3A1%25%2B%7E%26%3D%2Fx']);
    expect(headers['content-type']).toBe('application/x-www-form-urlencoded');
    expect(form).toEqual({
      grant_type: 'client_credentials',
      resource: 'https://mcp.example.com/mcp',
      scope: 'mcp:read mcp:call',
    });
  });

  it('sends no scope if none is set', async () => {
    await token(target({ auth_scope: null }));
    expect(endpoint.requests[0]!.form).not.toHaveProperty('scope');
  });

  it.each([
    [401, 'invalid_client'],
    [400, 'invalid_client'],
    [400, 'invalid_request'],
  ])('sends the credentials in the body if Basic returns %i %s', async (status, error) => {
    endpoint.respond = ({ headers }) =>
      headers.authorization ? { status, body: { error } } : { body: { access_token: 'by-body' } };
    expect(await token(target())).toBe('by-body');
    expect(endpoint.requests[1]!.form).toMatchObject({ client_id: 'client:1', client_secret: SECRET });
  });

  it('reports why Basic was rejected if the endpoint does not accept credentials in the body', async () => {
    endpoint.respond = ({ headers }) =>
      headers.authorization
        ? { status: 401, body: { error: 'invalid_client' } }
        : { status: 400, body: { error: 'invalid_request' } };
    expect((await failure(target())).message).toContain('invalid_client');
  });

  it('reuses a token until shortly before it expires', async () => {
    const server = target();
    expect([await token(server), await token(server)]).toEqual(['t1', 't1']);
    pass(3_560_000);
    expect(await token(server)).toBe('t1');
    pass(15_000);
    expect(await token(server)).toBe('t2');
    expect(endpoint.requests).toHaveLength(2);
  });

  it.each([
    ['no lifetime', undefined, 269_000, 2_000],
    ['a lifetime as a string', '600', 569_000, 2_000],
    ['a short lifetime', 20, 9_000, 2_000],
    ['a lifetime of years', 1e9, 86_369_000, 2_000],
  ])('renews a token with %s', async (_, expires_in, usable, more) => {
    let made = 0;
    endpoint.respond = () => ({ body: { access_token: `t${++made}`, expires_in } });
    const server = target();
    await token(server);
    pass(usable);
    expect(await token(server)).toBe('t1');
    pass(more);
    expect(await token(server)).toBe('t2');
  });

  it.each([0, -1, 'soon'])('does not reuse a token with the lifetime %p', async (expires_in) => {
    endpoint.respond = () => ({ body: { access_token: 't', expires_in } });
    const server = target();
    await token(server);
    await token(server);
    expect(endpoint.requests).toHaveLength(2);
  });

  it('requests another token for another server, secret, client, scope, URL or token URL', async () => {
    const server = target();
    const others: Partial<OAuthTarget>[] = [
      { server_id: 'mcps_2', auth_secret: sealed('mcps_2') },
      { auth_secret: sealed('mcps_1') },
      { auth_client_id: 'other' },
      { auth_scope: null },
      { url: 'https://other.example.com/' },
      { auth_token_url: `${endpoint.url}/other` },
    ];
    const all = [await token(server)];
    for (const other of others) all.push(await token({ ...server, ...other }));
    expect(new Set(all).size).toBe(7);
  });

  it('forgets a token that the server rejected, but not one that was renewed in the meantime', async () => {
    const server = target();
    const rejected = await token(server);
    tokens.forget(server, rejected);
    expect(await token(server)).toBe('t2');
    tokens.forget(server, rejected);
    expect(await token(server)).toBe('t2');
    tokens.forget(server);
    expect(await token(server)).toBe('t3');
  });

  it('sends one request for concurrent callers', async () => {
    const server = target();
    const all = await Promise.all([token(server), token(server), token(server)]);
    expect([all, endpoint.requests.length]).toEqual([['t1', 't1', 't1'], 1]);
  });

  it('gets a token even if the caller that requested it first has left', async () => {
    const server = target();
    endpoint.respond = () =>
      endpoint.requests.length === 1 ? null : { body: { access_token: 'of-the-second' } };
    const first = new AbortController();
    const left = token(server, first.signal);
    await endpoint.received(1);
    const stayed = token(server);
    first.abort(new Error('left'));
    await expect(left).rejects.toThrow('left');
    expect(await stayed).toBe('of-the-second');
  });

  it('aborts a request that no caller waits for', async () => {
    endpoint.respond = () => null;
    const caller = new AbortController();
    const left = token(
      target(),
      caller.signal,
      outbound.fetcher({ signal: new AbortController().signal, maxBytes: 1 }),
    );
    await endpoint.received(1);
    caller.abort(new Error('left'));
    await expect(left).rejects.toThrow('left');
    await endpoint.requests[0]!.closed;
  });

  it.each<[string, TokenResponse, string, string]>([
    [
      'an invalid client',
      { status: 401, body: { error: 'invalid_client' } },
      'unauthorized',
      'invalid_client',
    ],
    [
      'an invalid scope',
      { status: 400, body: { error: 'invalid_scope' } },
      'unauthorized',
      'Check `auth.scope`',
    ],
    ['denied access', { status: 403, body: 'no' }, 'unauthorized', 'HTTP 403'],
    ['an unknown error code', { status: 400, body: { error: SECRET } }, 'unauthorized', 'HTTP 400'],
    ['HTML', { status: 400, body: `<p>${SECRET}</p>` }, 'unauthorized', 'HTTP 400'],
    ['null', { status: 400, body: null }, 'unauthorized', 'HTTP 400'],
    ['a missing endpoint', { status: 404, body: 'no' }, 'protocol', 'HTTP 404'],
    ['an unavailable endpoint', { status: 503, body: 'no' }, 'protocol', 'HTTP 503'],
    ['too many requests', { status: 429, body: {} }, 'protocol', 'HTTP 429'],
    ['HTML with status 200', { body: `<p>${SECRET}</p>` }, 'protocol', 'access token'],
    ['no token', { body: {} }, 'protocol', 'access token'],
    ['a token with a line break', { body: { access_token: 'a\r\nb: c' } }, 'protocol', 'access token'],
    ['a token that is too long', { body: { access_token: 'x'.repeat(16_385) } }, 'protocol', 'access token'],
    ['another token type', { body: { access_token: 'a', token_type: 'DPoP' } }, 'protocol', 'Bearer'],
    ['a body that is too large', { body: 'x'.repeat(65_537) }, 'protocol', 'too large'],
    [
      'a redirect',
      { status: 302, body: '', headers: { location: 'http://evil.example/' } },
      'protocol',
      'redirect',
    ],
  ])('reports a failed request: %s', async (_, answer, kind, message) => {
    endpoint.respond = () => answer;
    expect(await failure(target())).toMatchObject({
      kind,
      message: expect.stringContaining(message) as string,
    });
  });

  it('reports an endpoint that cannot be reached', async () => {
    expect(await failure(target({ auth_token_url: 'http://10.0.0.1/token' }))).toMatchObject({
      kind: 'blocked_address',
    });
    const { url } = endpoint;
    await endpoint.stop();
    expect(await failure(target({ auth_token_url: url }))).toMatchObject({ kind: 'unreachable' });
    endpoint = await TokenServer.start();
  });

  it('sends nothing if the secret is missing', async () => {
    const { kind, message } = await failure(target({ auth_secret: null }));
    expect([kind, message]).toEqual(['unauthorized', expect.stringContaining('auth.client_secret')]);
    expect(endpoint.requests).toEqual([]);
  });

  it('requests again after a failure', async () => {
    const server = target();
    const { respond } = endpoint;
    endpoint.respond = () => ({ status: 503, body: {} });
    await failure(server);
    endpoint.respond = respond;
    expect(await token(server)).toBe('t1');
  });
});
