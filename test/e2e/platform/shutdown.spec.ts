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
  const app = ownApp({ env: { SHUTDOWN_SECONDS: '600' } });
  let org: TestOrganization;
  let token: string;
  let agent: http.Agent;

  beforeEach(async () => {
    // longer than a test, so that nothing here ends because of the timeout
    org = await newOrganization(app);
    token = await org.token('editor');
    agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  });
  afterEach(async () => {
    agent.destroy();
    await app.close();
  });

  const untilDeaf = async () => {
    while (app.app.getHttpServer().listening) await sleep(5);
  };
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

  it('completes requests in progress, accepts no new ones, and ends after the last response', async () => {
    expect(await create('before')).toMatchObject({ status: 201, connection: 'keep-alive' });
    const { release } = await blockExperiment(app, 'in progress');
    const { port } = app.app.getHttpServer().address() as AddressInfo;
    const inProgress = create('in progress');
    await untilBlocked(app);
    const closed = app.close();
    await untilDeaf();
    await expect(fetch(`http://127.0.0.1:${port}/health/live`)).rejects.toThrow('fetch failed');
    await release();
    expect(await inProgress).toMatchObject({ status: 201, reusedSocket: true });
    await expect(create('after')).rejects.toThrow(/ECONNREFUSED|ECONNRESET|socket hang up/);
    await closed;
  });

  it('sends Connection: close on busy connections', async () => {
    const { release } = await blockExperiment(app, 'last');
    const last = create('last');
    await untilBlocked(app);
    const queued = create('queued for the same connection');
    const closed = app.close();
    await untilDeaf();
    await release();
    expect(await last).toMatchObject({ status: 201, connection: 'close' });
    await expect(queued).rejects.toThrow(/ECONNREFUSED|ECONNRESET|socket hang up/);
    await closed;
  });

  it('does not wait for idle connections', async () => {
    const { port } = app.app.getHttpServer().address() as AddressInfo;
    const unused = net.connect(port, '127.0.0.1');
    await Promise.all([once(app.app.getHttpServer(), 'connection'), once(unused, 'connect')]);
    const ended = once(unused.resume(), 'close');
    await app.close();
    await ended;
  });
});
