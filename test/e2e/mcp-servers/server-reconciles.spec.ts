import { sharedApp } from '#testing';
import { agent, APPS, AppsFixture, server, SERVERS, skill } from '../registry/apps.fixture';

/** Audit log, drift and sync of the servers that apps declare. */
describe('MCP servers that an app declares', () => {
  const app = sharedApp();
  let on: AppsFixture;

  beforeEach(async () => {
    on = await AppsFixture.create(app);
  });

  const entries = async (query: string): Promise<any[]> =>
    (await on.admin.get(`/registry/v1/audit-log?limit=100&${query}`)).body.items;
  const tool = (name: string) => ({ name, input_schema: {} });
  const countsOf = async () => {
    const [{ changes }] = await entries('action=reconcile');
    return Object.fromEntries(changes.map((one: any) => [one.member, one.after]));
  };

  it('are audited by name when created', async () => {
    const slug = await on.reconciled(server('a', { tools: [tool('x')] }));
    const [one] = await on.serversOf(slug);
    expect(
      (await entries(`resource_id=${one.server_id}`)).map(({ action, changes }) => [action, changes]),
    ).toEqual([['create', [{ member: 'name', after: 'a' }]]]);
    expect(await countsOf()).toEqual({ created: 1, updated: 0, restored: 0, archived: 0 });
  });

  it('are audited once when their tools and other members change', async () => {
    const slug = await on.reconciled(
      server('both', { tools: [tool('x')] }),
      server('same', { tools: [tool('x')] }),
      server('tools', { tools: [tool('x')] }),
    );
    const [both, same, tools] = await on.serversOf(slug);
    await on.patch(slug, {
      resources: [
        server('both', { tools: [tool('y')], url: 'https://mcp.example.com/v2?{query}' }),
        server('same', { tools: [tool('x')] }),
        server('tools', { tools: [tool('x'), tool('y')] }),
      ],
    });
    await on.reconcile(slug);
    const updates = async (one: any) =>
      (await entries(`resource_id=${one.server_id}&action=update`)).map(({ changes }) => changes);
    expect([await updates(both), await updates(same), await updates(tools)]).toEqual([
      [
        [
          { member: 'url', before: 'https://mcp.example.com/mcp', after: 'https://mcp.example.com/v2' },
          { member: 'tools' },
        ],
      ],
      [],
      [[{ member: 'tools' }]],
    ]);
    expect(await countsOf()).toEqual({ created: 0, updated: 2, restored: 0, archived: 0 });
    const before = await on.everything();
    await on.reconcile(slug);
    expect(await on.everything()).toEqual(before);
  });

  it('drift with every change except a new secret', async () => {
    const slug = await on.reconciled(server('a', { auth: { type: 'bearer' } }));
    const [one] = await on.serversOf(slug);
    const path = `${SERVERS}/${one.server_id}`;
    const state = async (body: object) => (await on.editor.patch(path, body)).body.sync_state as string;
    expect(await state({ auth: { value: 'tok' } })).toBe('synced');
    expect(await state({ auth: { type: 'header', header: 'X-Key', value: 'tok' } })).toBe('drifted');
    expect(await state({ auth: { value: 'other' } })).toBe('drifted');
    await on.reconcile(slug);
    expect(await state({ tools: [tool('x')] })).toBe('drifted');
    await on.reconcile(slug);
    expect(await state({ auth: { value: 'more' }, tools: [tool('y')] })).toBe('drifted');
    await on.reconcile(slug);
    expect(await state({ auth: { value: 'again' }, metadata: { a: 1 } })).toBe('drifted');
  });

  it('are synced when a reconcile archives them, like agents and skills', async () => {
    const slug = await on.reconciled(server('a'), skill('b'), agent('c'));
    await on.patch(slug, { resources: [] });
    const lists = [SERVERS, '/skill/v1/skills', '/agent/v1/agents'];
    const states = () =>
      Promise.all(
        lists.map(async (list) => {
          const [one] = (await on.editor.get(`${list}?app=${slug}&include_archived=true`)).body.items;
          return [one.sync_state, one.archived_at !== null];
        }),
      );
    expect(await states()).toEqual([
      ['pending', false],
      ['pending', false],
      ['pending', false],
    ]);
    await on.reconcile(slug);
    expect(await states()).toEqual([
      ['synced', true],
      ['synced', true],
      ['synced', true],
    ]);
  });

  it('cannot be declared with more than 10,000 tools in an app', async () => {
    const tools = Array.from({ length: 1_000 }, (_, i) => tool(`t${i}`));
    const resources = Array.from({ length: 11 }, (_, i) => server(`s${i}`, { tools }));
    const { status, body } = await on.declare({ resources: resources.slice(0, 10) });
    expect(status).toBe(201);
    const answers = [
      await on.declare({ resources }),
      await on.editor.patch(`${APPS}/${body.app}`, { resources }),
    ];
    for (const answer of answers) {
      expect([answer.status, answer.body.errors]).toEqual([
        400,
        [{ pointer: '/resources/10/spec/tools', detail: expect.stringContaining('10000') as string }],
      ]);
    }
  });
});
