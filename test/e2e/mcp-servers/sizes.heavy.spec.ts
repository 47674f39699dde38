import { sharedApp } from '#testing';
import { AppsFixture, server } from '../registry/apps.fixture';
import { FakeMcpServer, fakeTool, fakeTools } from './fake-mcp-server.fixture';
import { namesIn, SERVERS, ServersFixture } from './servers.fixture';

const MIB = 1024 * 1024;

describe('a tool list of 100 MiB', () => {
  const app = sharedApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });
  let on: ServersFixture;
  let remote: FakeMcpServer;

  beforeAll(async () => {
    on = await ServersFixture.create(app);
  });
  beforeEach(async () => {
    remote = await FakeMcpServer.start();
    remote.offer([fakeTool('a')]);
  });
  afterEach(() => remote.close());

  it.each(['application/json', 'text/event-stream'])('is cut off after 16 MiB: %s', async (type) => {
    const path = `${SERVERS}/${(await on.register({ url: remote.url })).body.server_id}`;
    expect((await on.editor.post(`${path}/test`)).body.ok).toBe(true);
    let sent = 0;
    remote.intercept = (_request, response, body) => {
      if (!body.includes('"tools/list"')) return false;
      response.writeHead(200, { 'Content-Type': type });
      response.write(type === 'application/json' ? '{"result": {"tools": [' : 'data: {"result": {"tools": [');
      const tool = `${JSON.stringify(fakeTool('x', { description: 'd'.repeat(MIB / 4) }))},`;
      const more = (): void => {
        while (sent < 100 * MIB && !response.destroyed) {
          sent += tool.length;
          if (!response.write(tool)) return void response.once('drain', more);
        }
        response.end();
      };
      more();
      return true;
    };
    const message = 'The responses of the server exceed 16 MiB.';
    expect((await on.editor.post(`${path}/test`)).body).toEqual({
      ok: false,
      error: { kind: 'protocol', message },
    });
    expect(await on.editor.post(`${path}/refresh`)).toMatchObject({ status: 503, body: { detail: message } });
    expect(namesIn(await on.editor.get(`${path}/tools`))).toEqual(['a']);
    // each of the two requests read at most 16 MiB, plus the buffers of the sockets
    expect(sent).toBeLessThan(60 * MIB);
  });
});

describe('a server with many tools', () => {
  const app = sharedApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });

  it('can list 5,000 tools with rich schemas, which are refreshed and found unchanged', async () => {
    const on = await ServersFixture.create(app);
    const remote = await FakeMcpServer.start('sessions');
    const parameter = {
      type: 'string',
      description: 'Which one, of {these}: [a, b, c].',
      enum: ['a', 'b', 'c'],
    };
    const properties = Object.fromEntries(Array.from({ length: 6 }, (_, i) => [`parameter_${i}`, parameter]));
    const inputSchema = { type: 'object', properties, required: Object.keys(properties) };
    remote.offer(fakeTools(5_000, { description: 'd'.repeat(200), inputSchema }), 500);
    const path = `${SERVERS}/${(await on.register({ url: remote.url })).body.server_id}`;
    const { body: first } = await on.editor.post(`${path}/refresh`);
    expect([first.added.length, first.unchanged_count]).toEqual([5_000, 0]);
    const { body: second } = await on.editor.post(`${path}/refresh`);
    expect(second).toEqual({ added: [], updated: [], archived: [], unchanged_count: 5_000 });
    expect((await on.editor.get(`${path}/tools?limit=0`)).body.page.total).toBe(5_000);
    await remote.close();
  });

  it('is created from an app with 10,000 tools', async () => {
    const on = await AppsFixture.create(app);
    const tools = Array.from({ length: 1_000 }, (_, i) => ({ name: `t${i}`, input_schema: {} }));
    const slug = await on.reconciled(...Array.from({ length: 10 }, (_, i) => server(`s${i}`, { tools })));
    expect(await on.serversOf(slug)).toHaveLength(10);
  });
});
