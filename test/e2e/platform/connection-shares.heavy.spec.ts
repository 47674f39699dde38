import { ownApp, newOrganization } from '#testing';
import { LockHolder } from '../telemetry/lock-holder.fixture';

describe('database connections', () => {
  let holder: LockHolder;
  // before the application stops, and drops the database
  afterAll(() => holder.end());
  const app = ownApp({ env: { DATABASE_POOL_SIZE: '5', LOCK_TIMEOUT_MS: '5000' } });

  beforeAll(async () => {
    holder = await LockHolder.connect(app.databaseUrl);
  });

  it('remain for records of other organizations while the writers of one wait for locks', async () => {
    const [blocked, other] = await Promise.all([newOrganization(app), newOrganization(app)]);
    const [editor, otherEditor] = await Promise.all([blocked.as('editor'), other.as('editor')]);
    const datasetOf = async ({ workspaceId }: typeof blocked, client: typeof editor) => {
      const { body } = await client.post('/eval/v1/datasets', { workspace_id: workspaceId, name: 'd' });
      return `/eval/v1/datasets/${(body as { dataset_id: string }).dataset_id}/records`;
    };
    const [path, otherPath] = [await datasetOf(blocked, editor), await datasetOf(other, otherEditor)];
    await holder.lock('experiments');
    const experiment = { workspace_id: blocked.workspaceId, name: 'e' };
    const waiting = Array.from({ length: 10 }, () => editor.post('/eval/v1/experiments', experiment));
    await holder.until(({ statements }) => statements >= 3);
    waiting.push(editor.post(path, { workspace_id: blocked.workspaceId, input: 1 }));
    const created = await otherEditor.post(otherPath, { workspace_id: other.workspaceId, input: 1 });
    expect(created.status).toBe(201);
    expect((await holder.waiting()).statements).toBe(3);
    await holder.release();
    await Promise.all(waiting);
  });

  it('remain for other organizations, new credentials and health checks while one organization waits for locks', async () => {
    const [blocked, other] = await Promise.all([newOrganization(app), newOrganization(app)]);
    const editor = await blocked.as('editor');
    const body = { workspace_id: blocked.workspaceId, name: 'd' };
    const dataset = (await editor.post('/eval/v1/datasets', body)).body as { dataset_id: string };
    await holder.lock('record_versions');
    const record = { workspace_id: blocked.workspaceId, input: 1 };
    const path = `/eval/v1/datasets/${dataset.dataset_id}/records`;
    // single records would be written in one statement
    const bulk = { workspace_id: blocked.workspaceId, items: [{ input: 1 }] };
    const writes = Array.from({ length: 20 }, () => editor.post(`${path}/bulk`, bulk));
    await holder.until(({ statements }) => statements >= 3);

    const health = await fetch(`${app.url}/health/ready`);
    const viewer = await other.as('viewer');
    const me = await viewer.get('/registry/v1/org');
    const created = await (
      await other.as('editor')
    ).post('/eval/v1/datasets', {
      workspace_id: other.workspaceId,
      name: 'of another organization',
    });
    expect([health.status, me.status, created.status]).toEqual([200, 200, 201]);
    expect((await holder.waiting()).statements).toBe(3);

    const first = await Promise.race(writes);
    expect([first.status, first.body.code]).toEqual([503, 'service_unavailable']);
    expect(first.headers.get('retry-after')).toBe('1');
    await holder.release();
    const statuses = (await Promise.all(writes)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([207, 503]));
    expect((await editor.post(path, record)).status).toBe(201);
  });
});
