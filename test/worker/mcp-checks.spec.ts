import { ownApp, createTestWorker, type TestWorker, until } from '#testing';
import { CheckRepository } from '../../src/mcp-servers/servers/checks/check.repository';
import { CheckScheduler } from '../../src/mcp-servers/servers/checks/check.scheduler';
import { FakeMcpServer, fakeTool } from '../e2e/mcp-servers/fake-mcp-server.fixture';
import { namesIn, SERVERS, ServersFixture } from '../e2e/mcp-servers/servers.fixture';
import { AppsFixture, server } from '../e2e/registry/apps.fixture';
import { scrape, seriesOf } from './metrics.fixture';

const ENV = { OUTBOUND_ALLOW: '127.0.0.0/8', MCP_TIMEOUT_MS: '25000' };

describe('the workers', () => {
  const app = ownApp({ env: ENV });
  let workers: TestWorker[];
  let on: ServersFixture;
  let remote: FakeMcpServer;

  beforeAll(async () => {
    workers = [await createTestWorker(app), await createTestWorker(app)];
    // The tests start the checks.
    for (const worker of workers) await worker.stopPeriodicTasks();
  });
  afterAll(async () => {
    for (const worker of workers) await worker.close();
  });
  beforeEach(async () => {
    // The servers of earlier tests no longer exist, and would only delay this test.
    await app.database.query("UPDATE mcp_servers SET next_check_at = now() + interval '1 day'");
    on = await ServersFixture.create(app);
    remote = await FakeMcpServer.start();
    remote.offer([fakeTool('a')]);
  });
  afterEach(() => remote.close());

  const checkDue = () => Promise.all(workers.map((worker) => worker.get(CheckScheduler).checkDue()));
  const registered = async (body: object = {}, fixture = on): Promise<string> => {
    const answer = await fixture.register({ url: remote.url, ...body });
    return `${SERVERS}/${answer.body.server_id}`;
  };
  const due = (orgId = on.org.orgId) =>
    app.database.query(
      `UPDATE mcp_servers SET next_check_at = now() - interval '1 second' WHERE org_id = $1`,
      [orgId],
    );
  const checksOf = async (path: string, query = ''): Promise<any[]> =>
    (await on.editor.get(`${path}/checks?limit=500${query}`)).body.items;
  const healthOf = async (path: string): Promise<any> => (await on.editor.get(path)).body.health;

  it('check a new server at once, then once per interval, each time by one worker', async () => {
    const path = await registered();
    await checkDue();
    await checkDue();
    expect(await checksOf(path)).toEqual([
      {
        server_id: path.split('/').at(-1),
        check_ordinal: 1,
        trigger: 'schedule',
        ok: true,
        checked_at: expect.any(String) as string,
        latency_ms: expect.any(Number) as number,
        protocol_version: '2026-07-28',
        server_info: { name: 'fake', version: '1.2.3', title: null },
        error: null,
        tools: { added_count: 1, updated_count: 0, archived_count: 0, unchanged_count: 0 },
        skipped: [],
      },
    ]);
    expect(namesIn(await on.editor.get(`${path}/tools`))).toEqual(['a']);
    await due();
    await checkDue();
    expect((await checksOf(path)).map(({ check_ordinal }) => check_ordinal)).toEqual([2, 1]);
  });

  it('list the tools of servers that an app declares, and keep them when the app is reconciled', async () => {
    const apps = await AppsFixture.create(app);
    const declared = (name: string) =>
      server(name, { url: remote.url, tools: [{ name: 'guess', input_schema: {} }] });
    const slug = await apps.reconciled(declared('one'));
    await checkDue();
    const [one] = await apps.serversOf(slug);
    const toolsOf = async () => namesIn(await apps.editor.get(`${SERVERS}/${one.server_id}/tools`));
    expect(await toolsOf()).toEqual(['a']);
    expect(one).toMatchObject({ sync_state: 'synced', health: { status: 'healthy' } });
    const before = (await apps.serversOf(slug))[0];
    await apps.patch(slug, { resources: [declared('one')], description: 'again' });
    await apps.reconcile(slug);
    expect(await toolsOf()).toEqual(['a']);
    expect((await apps.serversOf(slug))[0]).toMatchObject({ health: before.health });
  });

  it('record failures, and the recovery', async () => {
    const path = await registered();
    expect(await healthOf(path)).toEqual({
      status: 'unknown',
      checked_at: null,
      latency_ms: null,
      error: null,
    });
    remote.intercept = (_, response) => {
      response.writeHead(500).end();
      return true;
    };
    await checkDue();
    const error = { kind: 'protocol', message: 'The server returned HTTP 500.' };
    expect(await healthOf(path)).toMatchObject({ status: 'unhealthy', latency_ms: null, error });
    remote.intercept = () => false;
    await due();
    await checkDue();
    expect(await healthOf(path)).toMatchObject({ status: 'healthy', error: null });
    expect((await checksOf(path)).map(({ ok, error }) => [ok, error?.kind])).toEqual([
      [true, undefined],
      [false, 'protocol'],
    ]);
    expect((await checksOf(path, '&ok=false')).map(({ check_ordinal }) => check_ordinal)).toEqual([1]);
    expect((await checksOf(path, '&ok=true')).map(({ check_ordinal }) => check_ordinal)).toEqual([2]);
  });

  it('filter servers by their health', async () => {
    await registered({ name: 'bad', url: `${remote.origin.replace('http', 'https')}/mcp` });
    await registered({ name: 'good' });
    await checkDue();
    await registered({ name: 'new' });
    const named = async (health: string) => namesIn(await on.editor.get(`${SERVERS}?health=${health}`));
    expect([await named('unhealthy'), await named('healthy'), await named('unknown')]).toEqual([
      ['bad'],
      ['good'],
      ['new'],
    ]);
    expect((await on.editor.get(`${SERVERS}?health=x`)).status).toBe(422);
  });

  it('check a server again at once after a change of its URL, and forget its health', async () => {
    const path = await registered();
    await checkDue();
    await on.editor.patch(path, { description: 'Not the URL' });
    expect((await healthOf(path)).status).toBe('healthy');
    await on.editor.patch(path, { url: `${remote.url}?v=2` });
    expect((await healthOf(path)).status).toBe('unknown');
    await checkDue();
    expect((await healthOf(path)).status).toBe('healthy');
    expect(await checksOf(path)).toHaveLength(2);
  });

  it('check no archived servers, and none of archived workspaces', async () => {
    const path = await registered();
    await on.admin.post(`${path}/archive`);
    const other = await on.org.newWorkspace();
    await registered({ workspace_id: other });
    await (await on.org.member('owner')).post(`/registry/v1/workspaces/${other}/archive`);
    await checkDue();
    expect(remote.requests).toEqual([]);
  });

  it('check the servers of others while those of one organization hang', async () => {
    const hanging = await FakeMcpServer.start();
    hanging.intercept = () => true;
    for (let i = 0; i < 8; i++) await on.register({ url: hanging.url });
    // While checks are running, a worker looks for due servers every five seconds.
    const { setTimeout } = globalThis;
    const sped = jest.spyOn(globalThis, 'setTimeout');
    sped.mockImplementation(((run: () => void, ms: number) =>
      setTimeout(run, ms === 5_000 ? 50 : ms)) as never);
    const checking = workers[0]!.get(CheckScheduler).checkDue();
    try {
      await until(() => hanging.requests.length >= 4);
      const other = await ServersFixture.create(app);
      await registered({}, other);
      await until(() => remote.requests.length > 0);
      expect(hanging.requests).toHaveLength(4);
      expect((await on.editor.get(`${SERVERS}?health=unknown&limit=0`)).body.page.total).toBe(8);
    } finally {
      await app.database.query("UPDATE mcp_servers SET next_check_at = now() + interval '1 day'");
      await hanging.close();
      await checking;
      sped.mockRestore();
    }
  });

  it('claim each server once, and let organizations take turns', async () => {
    for (let i = 0; i < 6; i++) await registered();
    const other = await ServersFixture.create(app);
    await registered({}, other);
    await due();
    await app.database.query('UPDATE mcp_servers SET next_check_at = now() WHERE org_id = $1', [
      other.org.orgId,
    ]);
    const checks = workers[0]!.get(CheckRepository);
    const claim = async (busy: string[] = []) =>
      (await checks.claimDue(3, 2, busy, 300)).map(({ org_id }) => org_id);
    const [many, one] = [on.org.orgId, other.org.orgId];
    expect((await claim()).sort()).toEqual([many, many, one].sort());
    expect(await claim([many])).toEqual([]);
    expect([await claim(), await claim(), await claim()]).toEqual([[many, many], [many, many], []]);
  });

  it('delete old checks, and keep the others', async () => {
    const path = await registered();
    for (let i = 0; i < 3; i++) await on.editor.post(`${path}/test`);
    await app.database.query(
      `UPDATE mcp_server_checks SET checked_at = now() - interval '8 days' WHERE server_id = $1 AND check_ordinal < 3`,
      [path.split('/').at(-1)],
    );
    await workers[0]!.get(CheckRepository).deleteExpired(7);
    expect((await checksOf(path)).map(({ check_ordinal, trigger }) => [check_ordinal, trigger])).toEqual([
      [3, 'request'],
    ]);
  });

  it('check by themselves, unless the schedule is off', async () => {
    const path = await registered();
    const off = await createTestWorker(app, { MCP_CHECK_INTERVAL_SECONDS: '0' });
    const on1 = await createTestWorker(app, { MCP_CHECK_INTERVAL_SECONDS: '1', METRICS_PORT: '0' });
    try {
      await until(async () => (await checksOf(path)).length >= 2);
      const counted = seriesOf(await scrape(on1), 'registry_mcp_server_checks_total');
      expect(counted['trigger=schedule,outcome=ok']).toBeGreaterThanOrEqual(2);
      await on1.close();
      const before = await checksOf(path);
      await due();
      await off.close();
      expect(await checksOf(path)).toEqual(before);
    } finally {
      await on1.close();
      await off.close();
    }
  });
});
