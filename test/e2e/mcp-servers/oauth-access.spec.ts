import { Environment } from '#platform/config';
import { sharedApp } from '#testing';
import { FakeMcpServer, fakeTool } from './fake-mcp-server.fixture';
import { SERVERS, ServersFixture } from './servers.fixture';

const SECRET = 'cs-5b1e-not-to-be-shown';
const BASIC = `Basic ${Buffer.from(`registry:${SECRET}`).toString('base64')}`;

describe('a connection with OAuth client credentials', () => {
  const app = sharedApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });
  let on: ServersFixture;
  let remote: FakeMcpServer;
  /** The token that the server accepts. */
  let valid: string;
  /** The tokens that the token endpoint has issued. */
  let issued: string[];
  let lifetime: number;

  beforeEach(async () => {
    on = await ServersFixture.create(app);
    remote = await FakeMcpServer.start();
    remote.offer([fakeTool('a')]);
    issued = [];
    valid = 'token-1';
    lifetime = 3600;
    remote.intercept = ({ url, headers }, response) => {
      if (url !== '/token') {
        if (headers.authorization === `Bearer ${valid}`) return false;
        response.writeHead(401).end();
        return true;
      }
      const isClient = headers.authorization === BASIC;
      if (isClient) issued.push(`token-${issued.length + 1}`);
      const answer = isClient
        ? { access_token: issued.at(-1), token_type: 'Bearer', expires_in: lifetime }
        : { error: 'invalid_client' };
      response.writeHead(isClient ? 200 : 401, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify(answer));
      return true;
    };
  });
  afterEach(() => remote.close());

  const registered = async (auth: object = {}): Promise<string> => {
    const oauth = {
      type: 'oauth',
      token_url: `${remote.origin}/token`,
      client_id: 'registry',
      client_secret: SECRET,
    };
    const answer = await on.register({ url: remote.url, auth: { ...oauth, ...auth } });
    expect(answer.status).toBe(201);
    return `${SERVERS}/${answer.body.server_id}`;
  };
  const test = async (path: string): Promise<any> => (await on.editor.post(`${path}/test`)).body;
  const tokenRequests = () => remote.requests.filter(({ path }) => path === '/token');

  it('gets a token once, and uses it until it expires', async () => {
    const path = await registered({ scope: 'mcp:read' });
    for (let n = 0; n < 3; n++) expect(await test(path)).toMatchObject({ ok: true });
    expect(issued).toEqual(['token-1']);
    const form = new URLSearchParams(tokenRequests()[0]!.body);
    expect(Object.fromEntries(form)).toEqual({
      grant_type: 'client_credentials',
      scope: 'mcp:read',
      resource: remote.url,
    });
  });

  it('gets another token when the first one has expired', async () => {
    lifetime = 0;
    const path = await registered();
    expect(await test(path)).toMatchObject({ ok: true });
    valid = 'token-2';
    expect(await test(path)).toMatchObject({ ok: true });
    expect(issued).toEqual(['token-1', 'token-2']);
  });

  it('gets another token when the server has revoked the first one', async () => {
    const path = await registered();
    expect(await test(path)).toMatchObject({ ok: true });
    valid = 'token-2';
    expect(await test(path)).toMatchObject({ ok: true });
    expect(issued).toEqual(['token-1', 'token-2']);
  });

  it('tries twice, then reports a server that rejects every token', async () => {
    valid = 'none';
    const { error } = await test(await registered());
    // the secret is right, because the token endpoint accepted it
    expect(error).toEqual({
      kind: 'unauthorized',
      message:
        'The server refused access (HTTP 401). The token endpoint issued a token, so check `auth.scope` and `auth.token_url`.',
    });
    expect(issued).toEqual(['token-1', 'token-2']);
  });

  it('keeps the token and does not try again if the server returns 403', async () => {
    const path = await registered();
    expect(await test(path)).toMatchObject({ ok: true });
    const { intercept } = remote;
    let forbidden = 0;
    remote.intercept = (request, response, body) => {
      if (request.url === '/token') return intercept(request, response, body);
      forbidden += 1;
      response.writeHead(403).end();
      return true;
    };
    const { error } = await test(path);
    expect(error).toEqual({ kind: 'unauthorized', message: expect.stringContaining('HTTP 403') as string });
    expect(forbidden).toBe(1);
    remote.intercept = intercept;
    expect(await test(path)).toMatchObject({ ok: true });
    expect(issued).toEqual(['token-1']);
  });

  it('reports a token endpoint that rejects the client', async () => {
    const { error } = await test(await registered({ client_secret: 'wrong-secret' }));
    expect(error).toEqual({
      kind: 'unauthorized',
      message:
        'The token endpoint rejected the client (invalid_client). Check `auth.client_id` and `auth.client_secret`.',
    });
    expect(remote.count('tools/list')).toBe(0);
  });

  it('reports a token endpoint that hangs', async () => {
    app.get(Environment).MCP_TIMEOUT_MS = 1_500;
    try {
      remote.intercept = ({ url }) => url === '/token';
      const { error } = await test(await registered());
      expect(error).toEqual({
        kind: 'timeout',
        message: 'The token endpoint did not respond within 1.5 s.',
      });
    } finally {
      app.get(Environment).MCP_TIMEOUT_MS = 20_000;
    }
  });

  it('reports a token endpoint at a private address, and never calls it', async () => {
    const { error } = await test(await registered({ token_url: 'http://10.0.0.7/token' }));
    expect(error.kind).toBe('blocked_address');
    expect(error.message).toMatch(/token endpoint is not public.*OUTBOUND_ALLOW/);
    expect(remote.requests).toEqual([]);
  });
});
