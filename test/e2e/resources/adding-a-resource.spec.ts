import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ApiClient, ownApp, newOrganization } from '#testing';
import { CHECKLIST_ITEMS } from '../../../examples/adding-a-resource/checklist-items.migration';
import { migrate } from '../../../src/database/migrate';
import { ChecklistModule } from '../../../examples/adding-a-resource/checklist.module';

/** The example of docs/guides/adding-a-resource.md, as a part of the service. */
describe('a resource that a developer adds', () => {
  const app = ownApp({ areas: [ChecklistModule] });
  let evaluator: ApiClient;
  let workspace_id: string;

  beforeAll(async () => {
    await migrate(app.databaseUrl, { migrations: [CHECKLIST_ITEMS], release: CHECKLIST_ITEMS.release });
    const org = await newOrganization(app);
    workspace_id = org.workspaceId;
    evaluator = new ApiClient(app.url, await org.token('evaluator'), workspace_id);
  });

  it('follows the rules of all resources', async () => {
    const created = await evaluator.post('/eval/v1/checklist-items', {
      workspace_id,
      name: 'License is clear',
    });
    expect(created).toMatchObject({ status: 201, body: { name: 'License is clear', is_required: true } });
    const item = created.headers.get('location')!;
    const unchanged = await evaluator.patch(item, created.body);
    expect(unchanged).toMatchObject({ status: 200, body: created.body });
    const stale = await evaluator.patch(item, { is_required: false }, { 'if-match': '"0"' });
    expect(stale).toMatchObject({ status: 412, body: { code: 'precondition_failed' } });
    const changed = await evaluator.patch(item, { is_required: false }, { 'if-match': '"1"' });
    expect([changed.status, changed.headers.get('etag')]).toEqual([200, '"2"']);
    const other = await evaluator.patch(item, { item_id: 'item_other' });
    expect(other).toMatchObject({ status: 422, body: { code: 'immutable_field' } });
    const duplicate = await evaluator.post('/eval/v1/checklist-items', {
      workspace_id,
      name: 'License is clear',
    });
    expect(duplicate.status).toBe(409);
    expect(duplicate.body.detail).toContain(created.body.item_id);
    expect((await evaluator.post(`${item}/archive`)).body.archived_at).not.toBeNull();
    expect((await evaluator.get('/eval/v1/checklist-items')).body.items).toEqual([]);
    expect((await evaluator.post(`${item}/restore`)).body).toMatchObject({
      is_required: false,
      archived_at: null,
    });
    expect((await evaluator.get('/eval/v1/checklist-items?name=License%20is%20clear')).body.page.total).toBe(
      1,
    );
  });

  it('is quoted in the documentation', () => {
    const page = readFileSync(path.resolve('docs/guides/adding-a-resource.md'), 'utf8');
    const folder = path.resolve('examples/adding-a-resource');
    const mentioned = readdirSync(folder).filter((file) =>
      page.includes(`examples/adding-a-resource/${file}`),
    );
    expect(mentioned.sort()).toEqual(readdirSync(folder).sort());
    const service = readFileSync(path.join(folder, 'checklist-item.service.ts'), 'utf8');
    expect(page).toContain(service.slice(service.indexOf('const CHECKLIST_ITEM')).trim());
  });
});
