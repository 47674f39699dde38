import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ownApp, newOrganization, type TestOrganization } from '#testing';
import { blockExperiment, untilBlocked } from './blocked-experiment.fixture';

const EXPERIMENTS = '/eval/v1/experiments';

interface Answer {
  status: number | undefined;
  connection: string | undefined;
  reusedSocket: boolean;
}

describe('a service that stops', () => {
  // longer than a test, so that nothing here ends because of the timeout
  const app = ownApp({ env: { SHUTDOWN_SECONDS: '600' } });
  let org: TestOrganization;
  let token: string;
  let agent: http.Agent;

  beforeAll(async () => {
    org = await newOrganization(app);
    token = await org.token('editor');
    agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  });
  afterAll(() => agent.destroy());

  const create = (name: string) =>
    new Promise<Answer>((resolve, reject) => {
      const request = http.request(`${app.url}${EXPERIMENTS}`, {
        method: 'POST',
        agent,
        headers: {
          authorization: `Bearer ${token}`,
          'x-service-workspace-id': org.workspaceId,
          'content-type': 'application/json',
        },
      });
      request.on('error', reject).on('response', (response) => {
        response.resume().on('end', () =>
          resolve({
            status: response.statusCode,
            connection: response.headers.connection,
            reusedSocket: request.reusedSocket,
          }),
        );
      });
      request.end(JSON.stringify({ workspace_id: org.workspaceId, name }));
    });

  it('completes requests in progress, and closes all other connections', async () => {
    const server = app.app.getHttpServer();
    const { port } = server.address() as AddressInfo;
    const unused = net.connect(port, '127.0.0.1');
    await Promise.all([once(server, 'connection'), once(unused, 'connect')]);
    const ended = once(unused.resume(), 'close');
    expect(await create('before')).toMatchObject({ status: 201, connection: 'keep-alive' });
    const { release } = await blockExperiment(app, 'in progress');
    const inProgress = create('in progress');
    await untilBlocked(app);
    const queued = create('queued for the same connection');

    const closed = app.close();
    while (server.listening) await sleep(5);
    await expect(fetch(`http://127.0.0.1:${port}/health/live`)).rejects.toThrow('fetch failed');
    await ended;
    await release();
    expect(await inProgress).toMatchObject({ status: 201, connection: 'close', reusedSocket: true });
    await expect(queued).rejects.toThrow(/ECONNREFUSED|ECONNRESET|socket hang up/);
    await closed;
  });
});
