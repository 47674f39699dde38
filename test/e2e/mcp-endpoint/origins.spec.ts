import { createTestApp, sharedApp, newOrganization, type TestApp } from '#testing';

const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };
const ACCEPT = { accept: 'application/json, text/event-stream' };

const pingOf = async (app: TestApp, headers: Record<string, string>): Promise<number> => {
  const org = await newOrganization(app);
  const member = await org.member('viewer');
  return (await member.post('/mcp', PING, { ...ACCEPT, ...headers })).status;
};

/** Which web pages may call the MCP endpoint. */
describe('the Origin of requests to the MCP endpoint', () => {
  describe('without PUBLIC_URL', () => {
    const app = sharedApp();

    it.each([
      'https://evil.example.com',
      'http://localhost.evil.example.com',
      'http://127.0.0.1.nip.io',
      'null',
      'file://',
    ])('is rejected if it is %s, even with the Host of DNS rebinding', async (origin) => {
      expect(await pingOf(app, { origin })).toBe(403);
      expect(await pingOf(app, { origin, host: 'evil.example.com' })).toBe(403);
    });

    it.each(['http://localhost:3000', 'http://127.0.0.1:8080', 'http://[::1]'])(
      'is accepted if it is %s',
      async (origin) => expect(await pingOf(app, { origin })).toBe(200),
    );

    it('is not required', async () => expect(await pingOf(app, {})).toBe(200));

    it('is rejected with a problem', async () => {
      const org = await newOrganization(app);
      const { body } = await (
        await org.member('viewer')
      ).post('/mcp', PING, {
        ...ACCEPT,
        origin: 'https://evil.example.com',
      });
      expect(body.code).toBe('forbidden');
    });
  });

  describe('with PUBLIC_URL and CORS_ORIGINS', () => {
    let app: TestApp;
    beforeAll(async () => {
      const env = {
        PUBLIC_URL: 'https://registry.example.com',
        CORS_ORIGINS: 'https://app.example.com, https://tools.example.com',
      };
      app = await createTestApp({ env });
    });
    afterAll(() => app.close());

    it.each([
      ['https://registry.example.com', 200],
      ['https://tools.example.com', 200],
      ['http://registry.example.com', 403],
      ['https://app.example.com:8443', 403],
      ['http://localhost:3000', 403],
    ])('is checked: %s returns %i', async (origin, status) =>
      expect(await pingOf(app, { origin })).toBe(status),
    );

    it('lets browsers send the headers of the protocol', async () => {
      const requested = 'authorization,content-type,mcp-protocol-version,mcp-session-id,mcp-method,mcp-name';
      const preflight = (origin: string) =>
        app.api().request('OPTIONS', '/mcp', {
          headers: {
            origin,
            'access-control-request-method': 'POST',
            'access-control-request-headers': requested,
          },
        });
      const { status, headers } = await preflight('https://app.example.com');
      expect(status).toBe(204);
      expect(headers.get('access-control-allow-origin')).toBe('https://app.example.com');
      expect(headers.get('access-control-allow-headers')).toBe(requested);
      expect(headers.get('access-control-allow-methods')).toContain('POST');
      const other = await preflight('https://evil.example.com');
      expect(other.headers.get('access-control-allow-origin')).toBeNull();
    });

    it('lets browsers read responses', async () => {
      const { headers } = await app.api().get('/agent/v1/agents', { origin: 'https://app.example.com' });
      expect(headers.get('access-control-allow-origin')).toBe('https://app.example.com');
      expect(headers.get('vary')).toContain('Origin');
      expect(headers.get('access-control-expose-headers')).toContain('WWW-Authenticate');
      const other = await app.api().get('/agent/v1/agents', { origin: 'https://evil.example.com' });
      expect(other.headers.get('access-control-allow-origin')).toBeNull();
    });
  });
});
