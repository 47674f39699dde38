import { sharedApp, newOrganization, type ApiClient } from '#testing';

describe('a path', () => {
  const app = sharedApp();
  let editor: ApiClient;

  beforeAll(async () => {
    editor = await (await newOrganization(app)).as('editor');
  });

  it.each([
    '/eval/v1/datasets',
    '/registry/v1/me',
    '/telemetry/v1/traces',
    '/openapi.json',
    '/llms.txt',
    '/docs',
    '/docs/start.js',
    '/docs/assets/swagger-ui.css',
    '/.well-known/jwks.json',
    '/health/live',
  ])('exists only in this case: %s', async (path) => {
    expect((await editor.get(path)).status).toBe(200);
    const first = path.search(/[a-z]/);
    const others = [
      path.toUpperCase(),
      path.slice(0, first) + path[first]!.toUpperCase() + path.slice(first + 1),
    ];
    for (const other of others) {
      const { status, body } = await editor.get(other);
      expect([other, status, body.code]).toEqual([other, 404, 'not_found']);
      // in another case, no method exists
      const method = await editor.delete(other);
      expect([other, method.status, method.headers.get('allow')]).toEqual([other, 404, null]);
    }
  });

  it('keeps the case of its parameters', async () => {
    const created = await editor.post('/eval/v1/datasets', {
      workspace_id: editor.workspaceId,
      name: 'cased',
    });
    const path = created.headers.get('location')!;
    expect((await editor.get(path)).status).toBe(200);
    expect((await editor.get(path.replace('/datasets/', '/Datasets/'))).status).toBe(404);
    expect((await editor.get(`${path}/`)).status).toBe(200);
  });

  it('returns 405 for another method', async () => {
    for (const path of ['/docs', '/docs/assets/swagger-ui.css', '/openapi.json']) {
      const answer = await editor.delete(path);
      expect([path, answer.status, answer.headers.get('allow')]).toEqual([path, 405, 'GET, HEAD']);
    }
  });
});
