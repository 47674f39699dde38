import { sharedApp, ownApp, newOrganization, type TestOrganization } from '#testing';

const PAGE = 'https://console.example.com';
const PATH = '/registry/v1/workspaces';

describe('a page of an origin in CORS_ORIGINS', () => {
  const app = ownApp({ env: { CORS_ORIGINS: PAGE } });
  const closed = sharedApp();
  let organization: TestOrganization;

  beforeAll(async () => {
    organization = await newOrganization(app);
  });

  it('may use every method and request header of the API', async () => {
    const preflight = await app.api().request('OPTIONS', PATH, {
      headers: {
        origin: PAGE,
        'access-control-request-method': 'PATCH',
        'access-control-request-headers': 'authorization,if-match',
      },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-origin')).toBe(PAGE);
    expect(preflight.headers.get('access-control-allow-methods')).toContain('PATCH');
    expect(preflight.headers.get('access-control-allow-headers')).toBe('authorization,if-match');
  });

  it('may read responses and problems with their headers, compressed or not', async () => {
    for (const [caller, status] of [
      [await organization.member('viewer'), 200],
      [app.api(), 401],
    ] as const) {
      const answer = await caller.get(PATH, { origin: PAGE });
      expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([status, PAGE]);
      expect(answer.headers.get('access-control-expose-headers')).toMatch(/ETag.*X-Request-Id/);
      expect(answer.headers.get('vary')).toMatch(/^Origin\b/);
    }
  });

  it('has access, unlike pages of other origins', async () => {
    const viewer = await organization.member('viewer');
    const answer = await viewer.get(PATH, { origin: 'https://evil.example' });
    expect([answer.status, answer.headers.has('access-control-allow-origin')]).toEqual([200, false]);
  });

  it('has no access without the setting', async () => {
    const answer = await closed.api().get('/health/live', { origin: PAGE });
    expect([answer.status, answer.headers.has('access-control-allow-origin')]).toEqual([200, false]);
  });
});
