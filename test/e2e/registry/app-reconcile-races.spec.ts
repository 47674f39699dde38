import { sharedApp, type TestApp } from '#testing';
import { agent, APPS, AppsFixture, server, SERVERS, skill } from './apps.fixture';

/** A reconcile and any other operation on the app run one after the other. */
describe('concurrent reconciles of an app', () => {
  const app = sharedApp();
  let other: TestApp;
  let on: AppsFixture;

  beforeAll(async () => {
    other = await app.another();
    on = await AppsFixture.create(app);
  });
  afterAll(async () => {
    await other.close();
  });

  /** Resolves when this many statements wait for a lock. */
  const waiting = async (count: number): Promise<void> => {
    for (;;) {
      const rows = await app.database.query(
        `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      if (rows.length >= count) return;
    }
  };

  /** Runs `during` while a lock on the app's server blocks a reconcile within its transaction. */
  async function whileReconciling<Result>(
    slug: string,
    during: () => Promise<Result>,
  ): Promise<{ reconciled: { status: number; body: any }; result: Result }> {
    const [one] = await on.serversOf(slug);
    const reconciling = await app.database.transaction(async (tx) => {
      await tx.query('SELECT 1 FROM mcp_servers WHERE server_id = $1 FOR UPDATE', [one.server_id]);
      const reconciled = on.reconcile(slug);
      await waiting(1);
      return { reconciled, result: await during() };
    });
    return { reconciled: await reconciling.reconciled, result: reconciling.result };
  }

  it('are refused with 409 while one is running', async () => {
    const slug = await on.reconciled(server('a'));
    await on.patch(slug, { resources: [server('a', { description: 'new' }), server('b'), server('c')] });
    const elsewhere = other.api(await on.org.token('admin'));
    const { reconciled, result } = await whileReconciling(slug, () => on.reconcile(slug, elsewhere));
    expect([result.status, result.body.code]).toEqual([409, 'conflict']);
    expect([reconciled.status, reconciled.body.live_count]).toEqual([200, 3]);
    expect((await on.serversOf(slug)).length).toBe(3);
    expect((await on.read(slug)).sync_error).toBeNull();
    expect((await on.reconcile(slug, elsewhere)).body.live_count).toBe(3);
  });

  it('do not block other apps', async () => {
    const [slug, free] = [await on.reconciled(server('x')), await on.reconciled(server('y'))];
    await on.patch(slug, { resources: [] });
    const { reconciled, result } = await whileReconciling(slug, () => on.reconcile(free));
    expect([reconciled.status, result.status]).toEqual([200, 200]);
  });

  it('run before a concurrent change of the app', async () => {
    const slug = await on.reconciled(server('p'));
    await on.patch(slug, { resources: [server('p', { description: 'first' })] });
    const { reconciled, result } = await whileReconciling(slug, async () => {
      const patching = on.patch(slug, { resources: [server('p', { description: 'second' })] });
      await waiting(2);
      return { patching };
    });
    expect(reconciled.status).toBe(200);
    await result.patching;
    expect((await on.read(slug)).sync_state).toBe('pending');
    expect(await on.serversOf(slug)).toMatchObject([{ description: 'first', sync_state: 'pending' }]);
  });

  it('do not mark an app as failed that was changed meanwhile', async () => {
    const slug = await on.reconciled(server('r'), server('s'));
    await on.editor.post(SERVERS, {
      workspace_id: on.org.workspaceId,
      name: 'own',
      url: 'https://x.example/',
    });
    await on.patch(slug, { resources: [server('r'), server('own')] });
    const { reconciled, result } = await whileReconciling(slug, async () => {
      const patching = on.patch(slug, { resources: [server('r')] });
      await waiting(2);
      return { patching };
    });
    expect(reconciled.status).toBe(422);
    await result.patching;
    expect(await on.read(slug)).toMatchObject({ sync_state: 'pending', sync_error: null });
  });

  it('do not mark an app as failed that was reconciled meanwhile', async () => {
    const slug = await on.reconciled(server('t'), server('u'));
    const own = { workspace_id: on.org.workspaceId, name: 'mine', url: 'https://x.example/' };
    await on.editor.post(SERVERS, own);
    await on.patch(slug, { resources: [server('t'), server('mine')] });
    const { generation } = await on.read(slug);
    // another process reconciled the unchanged app before this one could record its failure
    const { reconciled, result } = await whileReconciling(slug, async () => {
      const reconciledElsewhere = app.database.transaction(async (tx) => {
        // PostgreSQL grants a lock of the table in the order of requests, unlike the lock of a row
        await tx.query('LOCK TABLE apps IN EXCLUSIVE MODE');
        await tx.query('UPDATE apps SET last_reconciled_at = now() WHERE app = $1 AND org_id = $2', [
          slug,
          on.org.orgId,
        ]);
        await waiting(1);
      });
      await waiting(2);
      return { reconciledElsewhere };
    });
    await result.reconciledElsewhere;
    expect(reconciled.status).toBe(422);
    expect(await on.read(slug)).toMatchObject({ sync_state: 'pending', sync_error: null, generation });
  });

  it.each([
    ['a server', SERVERS, { url: 'https://x.example/' }, server],
    ['a skill', '/skill/v1/skills', { description: 'Does it.', instructions: 'Do it.' }, skill],
    ['an agent', '/agent/v1/agents', {}, agent],
  ])('return 422 if the name of %s is taken meanwhile', async (what, path, body, declared) => {
    const name = `taken-${what.replace(/\W/g, '-')}`;
    const { body: made } = await on.declare({ resources: [declared(`${name}-not`), declared(name)] });
    // another client has inserted the resource, and is about to insert its search document
    const { making, reconciling } = await app.database.transaction(async (tx) => {
      await tx.query('LOCK TABLE search_documents IN SHARE MODE');
      const posted = on.editor.post(path, { workspace_id: on.org.workspaceId, name, ...body });
      await waiting(1);
      const reconciled = on.reconcile(made.app);
      await waiting(2);
      return { making: posted, reconciling: reconciled };
    });
    expect((await making).status).toBe(201);
    const refused = await reconciling;
    expect([refused.status, refused.body.code]).toEqual([422, 'validation_failed']);
    expect(refused.body.errors).toMatchObject([{ pointer: '/resources' }]);
    expect((await on.editor.get(`${path}?app=${made.app}`)).body.page.total).toBe(0);
    const { sync_state, sync_error } = await on.read(made.app);
    expect([sync_state, sync_error.code]).toEqual(['failed', 'validation_failed']);
    expect((await on.reconcile(made.app)).body.errors).toMatchObject([{ pointer: '/resources/1/name' }]);
  });

  it('return 422 if a restored server name is taken meanwhile', async () => {
    const slug = await on.reconciled(server('renamed'));
    const [one] = await on.serversOf(slug);
    await on.editor.patch(`${SERVERS}/${one.server_id}`, { name: 'by hand' });
    const { making, reconciling } = await app.database.transaction(async (tx) => {
      await tx.query('LOCK TABLE search_documents IN SHARE MODE');
      const named = { workspace_id: on.org.workspaceId, name: 'renamed', url: 'https://x.example/' };
      const posted = on.editor.post(SERVERS, named);
      await waiting(1);
      const reconciled = on.reconcile(slug);
      await waiting(2);
      return { making: posted, reconciling: reconciled };
    });
    expect([(await making).status, (await reconciling).status]).toEqual([201, 422]);
    expect(await on.serversOf(slug)).toMatchObject([{ name: 'by hand', sync_state: 'drifted' }]);
  });

  it('run either before or after the workspace is archived', async () => {
    const workspace_id = await on.org.newWorkspace();
    const { body } = await on.declare({ workspace_id, resources: [server('a')] });
    await on.reconcile(body.app);
    await on.editor.patch(`${SERVERS}/${(await on.serversOf(body.app))[0].server_id}`, { description: 'x' });
    const { reconciled, result } = await whileReconciling(body.app, async () => {
      const archiving = on.admin.post(`/registry/v1/workspaces/${workspace_id}/archive`);
      await waiting(2);
      return { archiving };
    });
    expect([reconciled.status, (await result.archiving).status]).toEqual([200, 200]);
    expect((await on.reconcile(body.app)).status).toBe(409);
  });

  it('complete after their client disconnects', async () => {
    const slug = await on.reconciled(server('q'));
    await on.patch(slug, { resources: [server('q', { description: 'new' })] });
    const [one] = await on.serversOf(slug);
    const leaving = new AbortController();
    const headers = { authorization: `Bearer ${await on.org.token('admin')}` };
    await app.database.transaction(async (tx) => {
      await tx.query('SELECT 1 FROM mcp_servers WHERE server_id = $1 FOR UPDATE', [one.server_id]);
      const request = fetch(`${app.url}${APPS}/${slug}/reconcile`, {
        method: 'POST',
        headers,
        signal: leaving.signal,
      });
      await waiting(1);
      leaving.abort();
      await expect(request).rejects.toThrow('aborted');
      expect((await on.read(slug)).sync_state).toBe('pending');
    });
    while ((await on.read(slug)).sync_state === 'pending');
    expect(await on.read(slug)).toMatchObject({ sync_state: 'synced', sync_error: null });
    expect(await on.serversOf(slug)).toMatchObject([{ description: 'new' }]);
  });
});
