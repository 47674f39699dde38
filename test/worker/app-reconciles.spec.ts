import { ownApp, createTestWorker, type TestWorker } from '#testing';
import { AppReconcileService } from '../../src/registry/apps/app-reconcile.service';
import { AppRepository } from '../../src/registry/apps/app.repository';
import { AppReconcileScheduler } from '../../src/registry/apps/app-reconcile.scheduler';
import { APPS, AppsFixture, server, SERVERS } from '../e2e/registry/apps.fixture';

/** The scheduled reconciles, with two workers. */
describe('the workers', () => {
  const app = ownApp();
  let workers: TestWorker[];
  let on: AppsFixture;

  beforeAll(async () => {
    workers = [await createTestWorker(app), await createTestWorker(app)];
    // The tests start the reconciles.
    for (const worker of workers) await worker.stopPeriodicTasks();
  });
  afterAll(async () => {
    for (const worker of workers) await worker.close();
  });
  beforeEach(async () => {
    on = await AppsFixture.create(app);
  });

  afterEach(() => jest.restoreAllMocks());

  const reconcileDue = () =>
    Promise.all(workers.map((worker) => worker.get(AppReconcileScheduler).reconcileDue()));
  /** Makes the apps of the organization due. */
  const due = () =>
    app.database.query(`UPDATE apps SET next_reconcile_at = now() - interval '1 second' WHERE org_id = $1`, [
      on.org.orgId,
    ]);
  const entries = async (query: string): Promise<any[]> =>
    (await on.admin.get(`/registry/v1/audit-log?limit=500&${query}`)).body.items;

  it('reconcile an app when it is due, and not before', async () => {
    const { body } = await on.declare({ resources: [server('a')] });
    await reconcileDue();
    expect(await on.read(body.app)).toMatchObject({ sync_state: 'pending', last_reconciled_at: null });
    await due();
    await reconcileDue();
    expect(await on.read(body.app)).toMatchObject({ sync_state: 'synced' });
    const [one] = await on.serversOf(body.app);
    expect(one).toMatchObject({ name: 'a', created_by: body.app_id });
    const [entry] = await entries(`resource_id=${one.server_id}`);
    expect(entry).toMatchObject({ action: 'create', principal_id: body.app_id, request_id: null });
  });

  it('reconcile each app once, with several workers', async () => {
    const many = Array.from({ length: 12 }, (_, i) => on.declare({ resources: [server(`s${i}`)] }));
    await Promise.all(many);
    const reconciles = workers.map((worker) => jest.spyOn(worker.get(AppReconcileService), 'reconcile'));
    await due();
    await Promise.all([reconcileDue(), reconcileDue(), reconcileDue()]);
    const appIds = reconciles.flatMap(({ mock }) => mock.calls.map(([, named]) => named));
    expect([appIds.length, new Set(appIds).size]).toEqual([12, 12]);
    expect((await on.editor.get(`${APPS}?sync_state=synced&limit=0`)).body.page.total).toBe(12);
    expect((await entries('action=reconcile')).length).toBe(12);
  });

  it('take turns by organization', async () => {
    const many = Array.from({ length: 6 }, (_, i) => on.declare({ resources: [server(`s${i}`)] }));
    await Promise.all(many);
    const others = [await AppsFixture.create(app), await AppsFixture.create(app)];
    const ofOthers = await Promise.all(others.map((one) => one.declare({ resources: [server('a')] })));
    // Includes reconciles by a worker's own schedule, which may be faster than the test.
    const reconciles = workers.map((worker) => jest.spyOn(worker.get(AppReconcileService), 'reconcile'));
    const late = ofOthers.map(({ body }) => body.app_id as string);
    await app.database.query(
      `UPDATE apps SET next_reconcile_at = now() - CASE WHEN app_id = ANY ($1) THEN interval '0' ELSE interval '1 s' END
       WHERE org_id = $2 OR app_id = ANY ($1)`,
      [late, on.org.orgId],
    );
    await workers[0]!.get(AppReconcileScheduler).reconcileDue();
    const appIds = reconciles
      .flatMap(({ mock }) =>
        mock.calls.map(([, named], n) => ({ named, order: mock.invocationCallOrder[n]! })),
      )
      .sort((a, b) => a.order - b.order)
      .map(({ named }) => named);
    expect(appIds).toHaveLength(8);
    expect(appIds.slice(0, 3)).toEqual(expect.arrayContaining(late));
  });

  it('serve several organizations at once', async () => {
    for (let i = 0; i < 3; i++) await on.declare({ resources: [] });
    const other = await AppsFixture.create(app);
    await other.declare({ resources: [] });
    await due();
    await app.database.query('UPDATE apps SET next_reconcile_at = now() WHERE org_id = $1', [
      other.org.orgId,
    ]);
    const apps = workers[0]!.get(AppRepository);
    const claim = async () => (await apps.claimDue(2, 300)).map(({ org_id }) => org_id).sort();
    const [many, one] = [on.org.orgId, other.org.orgId];
    expect([await claim(), await claim(), await claim()]).toEqual([[many, one].sort(), [many, many], []]);
  });

  it('repair drift', async () => {
    const slug = await on.reconciled(server('a', { description: 'Declared' }));
    const [one] = await on.serversOf(slug);
    await on.editor.patch(`${SERVERS}/${one.server_id}`, { description: 'By hand' });
    await due();
    await reconcileDue();
    expect(await on.serversOf(slug)).toMatchObject([{ description: 'Declared', sync_state: 'synced' }]);
  });

  it('continue when one fails, and retry it when it is due again', async () => {
    const existing = { workspace_id: on.org.workspaceId, name: 'taken', url: 'https://x.example/' };
    const { body: own } = await on.editor.post(SERVERS, existing);
    const { body: bad } = await on.declare({ resources: [server('taken')] });
    const { body: good } = await on.declare({ resources: [server('a')] });
    await due();
    await reconcileDue();
    expect(await on.read(bad.app)).toMatchObject({
      sync_state: 'failed',
      sync_error: { code: 'validation_failed' },
    });
    expect(await on.read(good.app)).toMatchObject({ sync_state: 'synced' });
    await on.admin.post(`${SERVERS}/${own.server_id}/archive`);
    await reconcileDue();
    expect((await on.read(bad.app)).sync_state).toBe('failed');
    await due();
    await reconcileDue();
    expect(await on.read(bad.app)).toMatchObject({ sync_state: 'synced', sync_error: null });
  });

  it('skip an app that is being changed', async () => {
    const { body: declared } = await on.declare({ resources: [server('a')] });
    const { body: free } = await on.declare({ resources: [server('b')] });
    await due();
    await app.database.transaction(async (tx) => {
      await tx.query('SELECT 1 FROM apps WHERE app_id = $1 FOR UPDATE', [declared.app_id]);
      await reconcileDue();
      expect((await on.read(free.app)).sync_state).toBe('synced');
      expect((await on.read(declared.app)).sync_state).toBe('pending');
    });
    await reconcileDue();
    expect((await on.read(declared.app)).sync_state).toBe('synced');
  });

  it('skip archived and suspended ones', async () => {
    const workspace_id = await on.org.newWorkspace();
    const { body: ofArchived } = await on.declare({ workspace_id, resources: [server('a')] });
    const { body: archived } = await on.declare({ resources: [server('b')] });
    await on.admin.post(`/registry/v1/workspaces/${workspace_id}/archive`);
    await on.admin.post(`${APPS}/${archived.app}/archive`);
    const suspended = await AppsFixture.create(app);
    await suspended.declare({ resources: [server('c')] });
    await app.database.query(`UPDATE organizations SET status = 'suspended' WHERE org_id = $1`, [
      suspended.org.orgId,
    ]);
    await due();
    await app.database.query('UPDATE apps SET next_reconcile_at = now() WHERE org_id = $1', [
      suspended.org.orgId,
    ]);
    const reconciles = workers.map((worker) => jest.spyOn(worker.get(AppReconcileService), 'reconcile'));
    await reconcileDue();
    // None is started. A started reconcile would be rejected and leave nothing behind, which is another protection.
    expect(reconciles.flatMap(({ mock }) => mock.calls)).toEqual([]);
    const made = await app.database.query('SELECT 1 FROM mcp_servers WHERE org_id = ANY ($1)', [
      [on.org.orgId, suspended.org.orgId],
    ]);
    expect(made).toEqual([]);
    expect((await on.read(ofArchived.app)).sync_error).toBeNull();
    const [row] = await app.database.query(
      'SELECT sync_state, last_reconciled_at FROM apps WHERE org_id = $1',
      [suspended.org.orgId],
    );
    expect(row).toEqual({ sync_state: 'pending', last_reconciled_at: null });
  });
});
