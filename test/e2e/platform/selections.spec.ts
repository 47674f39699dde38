import { gzipSync } from 'node:zlib';
import { type ApiClient, sharedApp, newOrganization } from '#testing';

const KIB = 1024;

/** Every POST that only reads, with its limit. */
const SELECTIONS: [path: string, limit: number][] = [
  ['/eval/v1/datasets/search', 64 * KIB],
  ['/eval/v1/experiments/search', 64 * KIB],
  ['/eval/v1/experiments/:experiment/gate', 64 * KIB],
  ['/eval/v1/experiments/:experiment/traces/stats/query', 64 * KIB],
  ['/registry/v1/search', 256 * KIB],
];

describe('a POST that only reads', () => {
  const app = sharedApp();
  let viewer: ApiClient;
  let experiment: string;

  beforeAll(async () => {
    const organization = await newOrganization(app);
    const editor = await organization.as('editor');
    viewer = await organization.as('viewer');
    const created = await editor.post('/eval/v1/experiments', {
      workspace_id: editor.workspaceId,
      name: 'one',
    });
    experiment = created.body.experiment_id as string;
  });

  const bodyOf = (path: string) =>
    path.endsWith('gate')
      ? { rules: [{ scorer: 'any', min_count: 1 }] }
      : path.startsWith('/registry')
        ? { query: 'any', mode: 'keyword' }
        : {};
  const storedKeys = () => app.database.query('SELECT request_id FROM idempotency_keys ORDER BY 1');
  const send = (path: string, text: string | Uint8Array, headers?: Record<string, string>) =>
    viewer.post(path.replace(':experiment', experiment), text, headers);

  it.each(SELECTIONS)('accepts a body within its limit: %s, %d bytes', async (path, limit) => {
    const text = JSON.stringify(bodyOf(path));
    expect((await send(path, text.padEnd(limit))).status).toBe(200);
    const large = await send(path, text.padEnd(limit + 1));
    expect([large.status, large.body.code]).toEqual([413, 'payload_too_large']);
    expect(large.body.detail).toContain(`exceeds ${limit / 1024} KiB`);
    const bomb = await send(path, gzipSync(text.padEnd(limit + 1)), { 'content-encoding': 'gzip' });
    expect([bomb.status, bomb.body.code]).toEqual([413, 'compressed_payload_too_large']);
  });

  it.each(SELECTIONS)('ignores any Idempotency-Key: %s', async (path) => {
    const before = await storedKeys();
    const text = JSON.stringify(bodyOf(path));
    for (const key of ['one', 'one', 'k'.repeat(256)]) {
      const answer = await send(path, text, { 'idempotency-key': key });
      expect([answer.status, answer.headers.get('idempotency-replayed')]).toEqual([200, null]);
    }
    expect((await send(path, `${text} `, { 'idempotency-key': 'one' })).status).toBe(200);
    expect(await storedKeys()).toEqual(before);
  });

  it.each(['/registry/v1/tokens', '/registry/v1/tokens/revoke'])(
    'has a larger limit than a POST to %s, which accepts 16 KiB',
    async (path) => {
      const large = await viewer.post(path, '{}'.padEnd(16 * KIB + 1));
      expect([large.status, large.body.code]).toEqual([413, 'payload_too_large']);
      const complete = await viewer.post(path, '{}'.padEnd(16 * KIB));
      expect([complete.status, complete.body.code]).toEqual([400, 'invalid_request']);
    },
  );
});
