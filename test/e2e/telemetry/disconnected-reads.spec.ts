import { once } from 'node:events';
import http from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { HttpAdapterHost } from '@nestjs/core';
import { workspaceScope } from '#platform/auth';
import type { Problem } from '#platform/problem';
import { ownApp } from '#testing';
import { ReadLimiter } from '../../../src/telemetry/read-limiter';
import { LockHolder } from './lock-holder.fixture';
import { TRACES } from './otlp.harness';
import { ReadingWorkspace, SESSIONS } from './reading.fixture';

const READS_AT_ONCE = 4;
const CLIENTS = 12;

describe('telemetry reads of disconnected clients', () => {
  const app = ownApp({ env: { DATABASE_POOL_SIZE: String(2 * READS_AT_ONCE) } });
  let server: http.Server;
  let space: ReadingWorkspace;
  let holder: LockHolder;
  let traceId: string;
  let experiment: string;
  let headers: http.OutgoingHttpHeaders;

  beforeAll(async () => {
    server = app.get(HttpAdapterHost).httpAdapter.getHttpServer() as http.Server;
    space = await ReadingWorkspace.open(app);
    holder = await LockHolder.connect(app.databaseUrl);
    [traceId] = (await space.send([{ name: 'root', attributes: { 'session.id': 's' } }])) as [string];
    const editor = await space.organization.as('editor');
    const made = await editor.post('/eval/v1/experiments', { workspace_id: space.id, name: 'e' });
    experiment = `/eval/v1/experiments/${made.body.experiment_id}/traces`;
    const result = { workspace_id: space.id, case_id: '1', trace_id: traceId };
    expect((await editor.post(experiment.replace('traces', 'results'), result)).status).toBe(201);
    headers = {
      authorization: `Bearer ${await space.organization.token('viewer')}`,
      'x-service-workspace-id': space.id,
    };
  });
  afterAll(async () => {
    await holder.end();
  });
  afterEach(() => jest.restoreAllMocks());

  const requestOf = (method: string, path: string): http.ClientRequest => {
    const request = http.request(app.url + path, { method, headers, agent: false });
    request.on('error', () => undefined);
    return request.end();
  };

  /** Sends a request and reads the response. */
  async function ask(method: string, path: string): Promise<void> {
    const [answer] = (await once(requestOf(method, path), 'response')) as [http.IncomingMessage];
    await answer.resume().toArray();
    expect(answer.statusCode).toBe(200);
  }

  it.each<[string, string, () => string]>([
    ['traces', 'GET', () => TRACES],
    ['a trace', 'GET', () => `${TRACES}/${traceId}`],
    ['the spans of a trace', 'GET', () => `${TRACES}/${traceId}/spans`],
    ['an export of spans', 'GET', () => `${TRACES}/${traceId}/spans/export`],
    ['sessions', 'GET', () => SESSIONS],
    ['a session', 'GET', () => `${SESSIONS}/s`],
    ['the traces of a session', 'GET', () => `${SESSIONS}/s/traces`],
    ['logs', 'GET', () => '/telemetry/v1/logs'],
    ['metrics', 'GET', () => '/telemetry/v1/metrics'],
    ['the traces of an experiment', 'GET', () => experiment],
    ['a trace of an experiment', 'GET', () => `${experiment}/${traceId}`],
    ['the spans of a trace of an experiment', 'GET', () => `${experiment}/${traceId}/spans`],
    ['trace statistics of an experiment', 'POST', () => `${experiment}/stats/query`],
  ])('leave the queue without a query: %s', async (_, method, path) => {
    await ask(method, path()); // caches the caller's permissions
    const transactions = jest.spyOn(app.database, 'transaction');
    await ask(method, path());
    const ofOne = transactions.mock.calls.length;
    transactions.mockClear();

    const reads = jest.spyOn(app.get(ReadLimiter), 'read');
    const closed: Promise<unknown>[] = [];
    const note = (_request: unknown, response: http.ServerResponse): void =>
      void closed.push(once(response, 'close'));
    server.on('request', note);
    await holder.lock('traces', 'log_records', 'metric_points');
    const clients = Array.from({ length: CLIENTS }, () => requestOf(method, path()));
    while (reads.mock.calls.length < CLIENTS) await delay(10);
    await holder.until(({ statements }) => statements === READS_AT_ONCE);
    for (const client of clients) client.destroy();
    await Promise.all(closed);
    server.off('request', note);
    await holder.release();

    await ask(method, path()); // queues behind all waiting reads
    expect(transactions).toHaveBeenCalledTimes(READS_AT_ONCE + ofOne);
    const statuses = await Promise.all(
      reads.mock.results
        .slice(0, CLIENTS)
        .map(({ value }) => (value as Promise<unknown>).catch((error: unknown) => (error as Problem).status)),
    );
    expect(statuses).toEqual(Array(CLIENTS).fill(408));
  });

  it('run no further statements', async () => {
    const ending = new AbortController();
    const reported = new Error('gone');
    let next: Promise<unknown> | undefined;
    const scope = workspaceScope(space.organization.orgId, space.id, 'test', new Set());
    const reading = app.get(ReadLimiter).read(
      scope,
      'Wait.',
      async (on) => {
        await on.query('SELECT 1');
        ending.abort(reported);
        next = on.query('SELECT 2');
        return next;
      },
      { signal: ending.signal },
    );
    await expect(reading).rejects.toBe(reported);
    await expect(next).rejects.toBe(reported);
  });
});
