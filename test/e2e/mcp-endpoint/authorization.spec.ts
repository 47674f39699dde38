import { hostname, networkInterfaces } from 'node:os';
import {
  Client,
  ClientCredentialsProvider,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import {
  createTestApp,
  newOrganization,
  sharedApp,
  TestIssuer,
  type TestApp,
  type TestOrganization,
} from '#testing';

const RESOURCE = '/.well-known/oauth-protected-resource/mcp';
const SERVER = '/.well-known/oauth-authorization-server';

/** How clients find out how to log in. */
describe('the authorization of the MCP endpoint', () => {
  const app = sharedApp();
  let org: TestOrganization;

  beforeAll(async () => {
    org = await newOrganization(app);
  });

  it('lets the SDK log in with a service account and its API key', async () => {
    const { serviceAccountId, key } = await org.serviceAccount('viewer');
    const authProvider = new ClientCredentialsProvider({
      clientId: serviceAccountId,
      clientSecret: key,
      expectedIssuer: app.url,
    });
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', app.url), { authProvider }));
    const { structuredContent } = await client.callTool({ name: 'mcp__initialise', arguments: {} });
    expect(structuredContent).toMatchObject({ workspace_id: org.workspaceId });
    expect(authProvider.tokens()?.access_token).toMatch(/^ey/);
    await client.close();
  });

  it('rejects a wrong key of the SDK', async () => {
    const { serviceAccountId } = await org.serviceAccount('viewer');
    const authProvider = new ClientCredentialsProvider({
      clientId: serviceAccountId,
      clientSecret: 'rsk_wrong',
      expectedIssuer: app.url,
    });
    const client = new Client({ name: 'test', version: '1' });
    const transport = new StreamableHTTPClientTransport(new URL('/mcp', app.url), { authProvider });
    jest.spyOn(console, 'warn').mockImplementation(); // the SDK warns that it tries again
    await expect(client.connect(transport)).rejects.toMatchObject({
      code: 'invalid_client',
      message: 'The API key is unknown, revoked or expired. Check it, or create another one.',
    });
  });

  it.each([
    [undefined, 'token_missing', ''],
    ['rsk_wrong', 'invalid_api_key', 'error="invalid_token", '],
  ])('returns the URL of its metadata with 401 (token %s)', async (token, code, error) => {
    const answer = await app.api(token).post('/mcp', { jsonrpc: '2.0', id: 1, method: 'ping' });
    expect([answer.status, answer.body.code]).toEqual([401, code]);
    expect(answer.headers.get('www-authenticate')).toBe(
      `Bearer ${error}resource_metadata="${app.url}${RESOURCE}"`,
    );
    // the metadata describes only the MCP endpoint
    const other = await app.api(token).get('/mcp/v1/servers');
    expect(other.headers.get('www-authenticate')).not.toContain('resource_metadata');
  });

  it('does not send clients of other routes to the metadata of the endpoint', async () => {
    const answer = await app.api().get('/agent/v1/agents');
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
  });

  it('describes the resource and its issuers', async () => {
    const { status, body, headers } = await app.api().get(RESOURCE);
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(body).toEqual({
      resource: `${app.url}/mcp`,
      authorization_servers: [app.url, app.issuer.issuer],
      bearer_methods_supported: ['header'],
      resource_name: 'Agent registry',
      resource_documentation: `${app.url}/docs`,
    });
    expect((await app.api().get('/.well-known/oauth-protected-resource')).body).toEqual(body);
  });

  it('describes this service as an issuer', async () => {
    expect((await app.api().get(SERVER)).body).toEqual({
      issuer: app.url,
      authorization_endpoint: `${app.url}/docs`,
      token_endpoint: `${app.url}/registry/v1/tokens`,
      jwks_uri: `${app.url}/.well-known/jwks.json`,
      grant_types_supported: ['client_credentials'],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
      response_types_supported: [],
    });
  });

  it.each([
    'evil.example',
    'a"b.example',
    'evil.example:80',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '127.0.0.1@evil.example',
    '198.51.100.7',
    '0x7f.evil.example',
    '[2001:db8::7]:8080',
  ])('does not name a Host that the caller chose: %s', async (host) => {
    const answer = await app.api().post('/mcp', {}, { host });
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    for (const path of [RESOURCE, '/.well-known/oauth-protected-resource', SERVER]) {
      const { status, body } = await app.api().get(path, { host });
      expect([status, body.code, body.detail]).toEqual([
        404,
        'not_found',
        expect.stringContaining('PUBLIC_URL') as string,
      ]);
    }
  });

  it.each(['localhost', 'LOCALHOST:8080', 'registry.localhost', '127.0.0.1:1', '127.8.8.8', '[::1]:8080'])(
    'names a Host of this machine, in documents that no cache keeps: %s',
    async (host) => {
      const { body, headers } = await app.api().get(RESOURCE, { host });
      expect(body.authorization_servers[0]).toBe(`http://${host.toLowerCase()}`);
      expect(headers.get('cache-control')).toBe('no-store');
    },
  );

  it('names the addresses of this machine', async () => {
    const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
    for (const { address, family } of addresses) {
      const host = family === 'IPv6' ? `[${address}]` : address;
      expect([host, (await app.api().get(RESOURCE, { host })).status]).toEqual([host, 200]);
    }
    expect((await app.api().get(RESOURCE, { host: hostname() })).status).toBe(200);
  });

  it('accepts the resource of a token request (RFC 8707), as a form and as JSON', async () => {
    const { serviceAccountId, key } = await org.serviceAccount('viewer');
    const body = {
      grant_type: 'client_credentials',
      client_id: serviceAccountId,
      client_secret: key,
      resource: `${app.url}/mcp`,
    };
    for (const sent of [body, new URLSearchParams(body)]) {
      expect((await app.api().post('/registry/v1/tokens', sent)).status).toBe(200);
    }
  });

  describe('with a public URL and foreign issuers', () => {
    let hosted: TestApp;
    beforeAll(async () => {
      const idp = await TestIssuer.create('https://idp.example.com');
      hosted = await createTestApp({
        env: { PUBLIC_URL: 'https://registry.example.com/' },
        issuers: [idp.entry()],
      });
    });
    afterAll(() => hosted.close());

    it('names them for any Host of the request', async () => {
      const { body, headers } = await hosted.api().get(RESOURCE, { host: 'evil.example' });
      expect(headers.get('cache-control')).toBe('public, max-age=300');
      expect(body.resource).toBe('https://registry.example.com/mcp');
      expect(body.authorization_servers).toEqual(
        expect.arrayContaining(['https://registry.example.com', 'https://idp.example.com']),
      );
      expect((await hosted.api().get(SERVER)).body.issuer).toBe('https://registry.example.com');
    });
  });
});
