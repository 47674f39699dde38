import { sharedApp } from '#testing';
import { FakeMcpServer, fakeTool } from './fake-mcp-server.fixture';
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
