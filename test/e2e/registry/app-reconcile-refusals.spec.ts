import { ownApp } from '#testing';
import { APPS, AppsFixture, server, SERVERS } from './apps.fixture';

describe('a reconcile that fails', () => {
  const app = ownApp();
  let on: AppsFixture;

  beforeEach(async () => {
    on = await AppsFixture.create(app);
  });

  it('takes over no other resource: a taken name returns 422, and the app and its resources report it', async () => {
    const own = { workspace_id: on.org.workspaceId, name: 'own', url: 'https://x.example/' };
    await on.editor.post(SERVERS, own);
    await on.reconciled(server('of another'));
    const slug = await on.reconciled(server('a'), server('b'));
    const resources = [server('a', { description: 'new' }), server('own'), server('of another'), server('c')];
    await on.patch(slug, { resources });
    const before = await on.everything();
    const answer = await on.reconcile(slug);
    expect([answer.status, answer.body.code]).toEqual([422, 'validation_failed']);
    expect(answer.body.errors.map((one: any) => one.pointer)).toEqual([
      '/resources/1/name',
      '/resources/2/name',
    ]);
    expect(await on.everything()).toEqual(before);
    const failed = await on.read(slug);
    expect(failed).toMatchObject({
      sync_state: 'failed',
      sync_error: {
        code: 'validation_failed',
        detail: answer.body.detail,
        errors: answer.body.errors,
        at: expect.any(String) as string,
      },
    });
    // the same failure again changes nothing
    await on.reconcile(slug);
    expect((await on.read(slug)).generation).toBe(failed.generation);
    expect((await on.read(slug)).sync_error).toEqual(failed.sync_error);
    await on.patch(slug, { resources: [server('a'), server('c')] });
    expect(await on.read(slug)).toMatchObject({ sync_state: 'pending', sync_error: null });
    expect((await on.reconcile(slug)).body.live_count).toBe(2);
    expect(await on.read(slug)).toMatchObject({ sync_state: 'synced', sync_error: null });
  });

  it('marks the resource whose declaration cannot be applied', async () => {
    const slug = await on.reconciled(server('a'), server('b'));
    const [a] = await on.serversOf(slug);
    await on.editor.patch(`${SERVERS}/${a.server_id}`, { name: 'free' });
    await on.editor.post(SERVERS, { workspace_id: on.org.workspaceId, name: 'a', url: 'https://x.example/' });
    expect((await on.reconcile(slug)).status).toBe(422);
    const states = (await on.serversOf(slug)).map(({ name, sync_state }) => [name, sync_state]);
    expect(states).toEqual([
      ['b', 'synced'],
      ['free', 'failed'],
    ]);
  });

  it('clears the error of a corrected resource while others still fail', async () => {
    const slug = await on.reconciled(server('a'), server('b'));
    const others: string[] = [];
    for (const { server_id, name } of await on.serversOf(slug)) {
      await on.editor.patch(`${SERVERS}/${server_id}`, { name: `free ${name}` });
      const url = 'https://x.example/';
      const own = await on.editor.post(SERVERS, { workspace_id: on.org.workspaceId, name, url });
      others.push(own.body.server_id as string);
    }
    const states = async () => (await on.serversOf(slug)).map(({ sync_state }) => sync_state as string);
    await on.reconcile(slug);
    expect(await states()).toEqual(['failed', 'failed']);
    await on.admin.post(`${SERVERS}/${others[0]}/archive`);
    expect((await on.reconcile(slug)).status).toBe(422);
    expect(await states()).toEqual(['pending', 'failed']);
  });

  it('refuses stored declarations that are no longer valid', async () => {
    const slug = await on.reconciled(server('a'));
    await app.database.query(`UPDATE apps SET resources = $2 WHERE app = $1 AND org_id = $3`, [
      slug,
      JSON.stringify([server('a'), server('b', { url: 'gopher://x' })]),
      on.org.orgId,
    ]);
    const before = await on.everything();
    const answer = await on.reconcile(slug);
    expect([answer.status, answer.body.errors[0].pointer]).toEqual([422, '/resources/1/spec/url']);
    expect(await on.everything()).toEqual(before);
    expect((await on.read(slug)).sync_state).toBe('failed');
  });

  it('changes nothing and reveals nothing after an internal error', async () => {
    const slug = await on.reconciled(server('a'));
    await on.patch(slug, { resources: [server('b'), server('breaks')] });
    const before = await on.everything();
    await app.database.query(
      `ALTER TABLE mcp_servers ADD CONSTRAINT broken_inside CHECK (name <> 'breaks' OR generation / 0 = 1)`,
    );
    try {
      const answer = await on.reconcile(slug);
      expect([answer.status, answer.body.code]).toEqual([500, 'internal_error']);
      expect(await on.everything()).toEqual(before);
      const { sync_state, sync_error } = await on.read(slug);
      expect([sync_state, sync_error.code]).toEqual(['failed', 'internal_error']);
      expect(JSON.stringify(sync_error)).not.toMatch(/mcp_servers|broken|division|zero/);
    } finally {
      await app.database.query('ALTER TABLE mcp_servers DROP CONSTRAINT broken_inside');
    }
    expect((await on.reconcile(slug)).body.live_count).toBe(2);
    expect((await on.read(slug)).sync_error).toBeNull();
  });

  it('is refused in a workspace that was archived meanwhile', async () => {
    const workspace_id = await on.org.newWorkspace();
    const { body } = await on.declare({ workspace_id, resources: [server('a')] });
    await on.admin.post(`/registry/v1/workspaces/${workspace_id}/archive`);
    const answer = await on.reconcile(body.app);
    expect([answer.status, answer.body.code]).toEqual([409, 'conflict']);
    expect(await on.read(body.app)).toMatchObject({ sync_state: 'pending', sync_error: null });
    expect((await on.editor.patch(`${APPS}/${body.app}`, { display_name: 'x' })).status).toBe(409);
    expect((await on.admin.post(`${APPS}/${body.app}/archive`)).status).toBe(409);
  });
});
