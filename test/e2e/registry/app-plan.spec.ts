import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Environment } from '#platform/config';
import type { Answer } from '#testing';
import { sharedApp } from '#testing';
import { agent, APPS, AppsFixture, server, SERVERS, skill } from './apps.fixture';

const file = (name: string, content: string) => ({ kind: 'file', name, spec: { content } });

describe('the plan of an app', () => {
  const app = sharedApp();
  let on: AppsFixture;

  beforeEach(async () => {
    on = await AppsFixture.create(app);
  });

  const plan = (slug: string, by = on.admin): Promise<Answer> => by.post(`${APPS}/${slug}/plan`);

  /** Returns a digest of every table but that of the heartbeats, and the names of all stored objects. */
  async function everythingStored(): Promise<unknown> {
    const tables = await app.database.query<{ name: string }>(
      `SELECT quote_ident(table_name) AS name FROM information_schema.tables
        WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name <> 'live_processes' ORDER BY 1`,
    );
    const contents = await Promise.all(
      tables.map(({ name }) =>
        app.database.query(
          `SELECT '${name}' AS name, count(*), sum(hashtextextended(t::text, 0)) AS digest FROM ${name} t`,
        ),
      ),
    );
    const root = fileURLToPath(app.get(Environment).STORAGE_URL!);
    return { contents, objects: (await readdir(root, { recursive: true })).sort() };
  }

  it('shows the resources to create, update and archive, and a reconcile then does exactly that', async () => {
    const slug = await on.reconciled(server('kept'), server('changed'), server('dropped'), skill('writing'));
    await on.patch(slug, {
      resources: [
        server('kept'),
        server('changed', { url: 'https://other.example.com/mcp', description: 'Tickets' }),
        skill('writing', 'Do it well.'),
        skill('reading'),
        file('notes', 'x'),
        agent('helper', { model: 'gpt-5', skills: [{ skill: 'reading' }] }),
      ],
    });
    const { status, body } = await plan(slug);
    expect(status).toBe(200);
    expect(body).toEqual({
      app: slug,
      create: [
        { kind: 'file', name: 'notes', changes: [{ member: 'content', after: 'x' }] },
        {
          kind: 'skill',
          name: 'reading',
          changes: [
            { member: 'description', after: 'Does it.' },
            { member: 'instructions', after: 'Do it.' },
          ],
        },
        {
          kind: 'agent',
          name: 'helper',
          changes: [
            { member: 'model', after: 'gpt-5' },
            { member: 'skills', after: [{ skill: 'reading' }] },
          ],
        },
      ],
      update: [
        {
          kind: 'mcp_server',
          name: 'changed',
          changes: expect.arrayContaining([
            { member: 'url', before: 'https://mcp.example.com/mcp', after: 'https://other.example.com/mcp' },
            { member: 'description', before: null, after: 'Tickets' },
          ]) as unknown,
        },
        {
          kind: 'skill',
          name: 'writing',
          changes: [{ member: 'instructions', before: 'Do it.', after: 'Do it well.' }],
        },
      ],
      archive: [{ kind: 'mcp_server', name: 'dropped', changes: [] }],
      live_count: 6,
    });
    expect((await on.reconcile(slug)).body).toEqual({ app: slug, live_count: 6 });
    expect((await plan(slug)).body).toEqual({
      app: slug,
      create: [],
      update: [],
      archive: [],
      live_count: 6,
    });
  });

  it('writes no resource, version, audit entry, search document, sync_error or stored object', async () => {
    const slug = await on.reconciled(server('changed'), server('dropped'));
    const tools = [{ name: 'search', input_schema: { type: 'object' } }];
    await on.patch(slug, {
      resources: [
        server('changed', { description: 'new', tools }),
        skill('reading'),
        file('notes', 'never stored before'),
        agent('helper', { model: 'gpt-5', tools: [{ server: 'changed', tool_name: 'search' }] }),
      ],
    });
    const refused = await on.declare({ resources: [server('changed')] });
    const before = await everythingStored();
    expect((await plan(slug)).status).toBe(200);
    expect((await plan(refused.body.app as string)).status).toBe(422);
    expect(await everythingStored()).toEqual(before);
  });

  it('refuses declarations exactly as a reconcile does', async () => {
    await on.reconciled(server('taken'));
    const resources = [server('taken'), agent('lost', { model: 'gpt-5', skills: [{ skill: 'nowhere' }] })];
    for (const declared of [resources, resources.slice(1)]) {
      const slug = (await on.declare({ resources: declared })).body.app as string;
      const [planned, reconciled] = [await plan(slug), await on.reconcile(slug)];
      const { trace_id: _, ...problem } = planned.body;
      expect(planned.status).toBe(422);
      expect(reconciled.body).toMatchObject(problem);
    }
  });

  it('shows direct changes to undo, and resources to restore', async () => {
    const slug = await on.reconciled(server('renamed'), server('gone'));
    const servers = await on.serversOf(slug);
    const path = (name: string) =>
      `${SERVERS}/${servers.find((one) => one.name === name).server_id as string}`;
    await on.editor.patch(path('renamed'), { name: 'by hand', metadata: { a: 1 } });
    const archived = await on.admin.post(`${path('gone')}/archive`);
    expect((await plan(slug)).body).toMatchObject({
      create: [],
      update: [
        {
          name: 'renamed',
          changes: [{ member: 'name', before: 'by hand', after: 'renamed' }, { member: 'metadata' }],
        },
        {
          name: 'gone',
          changes: [{ member: 'archived_at', before: archived.body.archived_at, after: null }],
        },
      ],
      archive: [],
      live_count: 2,
    });
  });

  it('names long values and secrets without showing them', async () => {
    const slug = await on.reconciled(server('secret', { auth: { type: 'bearer' } }), skill('long'));
    const [{ server_id }] = await on.serversOf(slug);
    await on.editor.patch(`${SERVERS}/${server_id}`, { auth: { type: 'bearer', value: 'hunter2' } });
    await on.patch(slug, {
      resources: [
        server('secret', { auth: { type: 'header', header: 'X-Key' } }),
        skill('long', 'x'.repeat(2_000)),
      ],
    });
    const { body } = await plan(slug);
    expect(JSON.stringify(body)).not.toContain('hunter2');
    expect(body.update).toEqual([
      { kind: 'mcp_server', name: 'secret', changes: [{ member: 'auth' }] },
      { kind: 'skill', name: 'long', changes: [{ member: 'instructions' }] },
    ]);
  });

  it('requires the same role as a reconcile, and a live app', async () => {
    const slug = await on.reconciled(server('a'));
    expect((await plan(slug, on.editor)).status).toBe(403);
    expect((await plan(slug, (await AppsFixture.create(app)).admin)).status).toBe(404);
    await on.admin.post(`${APPS}/${slug}/archive`);
    expect((await plan(slug)).body).toMatchObject({ status: 409, code: 'conflict' });
  });

  it('does not block a reconcile that starts meanwhile', async () => {
    const slug = await on.reconciled(server('a'));
    await on.patch(slug, { resources: [server('a', { description: 'new' })] });
    const answers = await Promise.all([plan(slug), on.reconcile(slug), plan(slug)]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  });
});
