import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { connect } from 'node:net';
import path from 'node:path';
import { readEnvironment } from '#platform/config';
import { Database } from '#platform/db';
import { HealthChecks } from '#platform/health';
import { setLogLevel } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { RELEASE } from '#platform/release';
import { createTestApp, newOrganization, sharedApp, TcpProxy, type TestApp } from '#testing';
import { QueueDepthRepository } from '../../../libs/platform/jobs/queue-depth.repository';
import { MetricsServer } from '../../../libs/platform/metrics-server/metrics.server';
import { ScoreRunRepository } from '../../../src/evaluation/scoring/score-runs/score-run.repository';
import { TraceFeedRepository } from '../../../src/telemetry';
import { scrape, seriesOf } from '../../worker/metrics.fixture';
import { nodesOf, planOf } from '../evaluation/plans.harness';
import { blockExperiment, untilBlocked } from './blocked-experiment.fixture';

/** Longer than values are cached, in milliseconds. */
const AFTER_CACHE_MS = 60_000;

describe('GET /metrics', () => {
  const without = sharedApp();
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp({ env: { METRICS_PORT: '0' } });
  });
  afterAll(() => app.close());

  const healthOf = async (from: TestApp): Promise<Record<string, number>> => {
    const statusOf = async (check: string): Promise<number> =>
      (await fetch(`http://127.0.0.1:${from.get(MetricsServer).port}/health/${check}`)).status;
    return { live: await statusOf('live'), ready: await statusOf('ready') };
  };
  const base = (): string => `http://127.0.0.1:${app.get(MetricsServer).port}`;

  it('returns the Prometheus format, with process metrics, on a separate port', async () => {
    const answer = await fetch(`${base()}/metrics`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    const text = await answer.text();
    expect(text).toMatch(/^# TYPE process_cpu_user_seconds_total counter$/m);
    expect(text).toMatch(/^# TYPE registry_http_requests_total counter$/m);
    expect((await app.api().get('/metrics')).status).toBe(404);
    const head = await fetch(`${base()}/metrics?a=b`, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
  });

  it('shares its port with the health checks alone', async () => {
    expect(await healthOf(app)).toEqual({ live: 200, ready: 200 });
    expect((await fetch(`${base()}/`)).status).toBe(404);
    const posted = await fetch(`${base()}/metrics`, { method: 'POST', body: 'a' });
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  it('counts requests by route pattern, without paths or tenants', async () => {
    const organization = await newOrganization(app);
    const editor = await organization.as('editor');
    const created = await editor.post('/eval/v1/datasets', {
      workspace_id: organization.workspaceId,
      name: 'secret',
    });
    const before = await scrape(app.app);
    await editor.get(`/eval/v1/datasets/${created.body.dataset_id}`);
    await editor.get('/eval/v1/datasets/ds_unknown');
    await editor.get('/eval/v1/nothing/a');
    await editor.get('/eval/v1/nothing/b');
    const after = await scrape(app.app);
    const growthOf = (labels: string): number =>
      (seriesOf(after, 'registry_http_requests_total')[labels] ?? 0) -
      (seriesOf(before, 'registry_http_requests_total')[labels] ?? 0);
    const route = 'method=GET,route=/eval/v1/datasets/:dataset_id';
    expect(growthOf(`${route},status=2xx`)).toBe(1);
    expect(growthOf(`${route},status=4xx`)).toBe(1);
    expect(growthOf('method=GET,route=none,status=4xx')).toBe(2);
    const count = 'registry_http_request_duration_seconds_count';
    expect(after.values.get(`${count}{method="GET",route="/eval/v1/datasets/:dataset_id"}`)).toBeGreaterThan(
      1,
    );
    const ids = [
      organization.workspaceId,
      organization.orgId,
      created.body.dataset_id as string,
      'secret',
      'nothing',
    ];
    expect(ids.filter((id) => after.text.includes(id))).toEqual([]);
  });

  it('counts aborted requests', async () => {
    const organization = await newOrganization(app);
    const blocked = await blockExperiment(app, 'left');
    const request = http.request(`${app.url}/eval/v1/experiments`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await organization.token('editor')}`,
        'x-service-workspace-id': organization.workspaceId,
        'content-type': 'application/json',
      },
    });
    request.on('error', () => undefined);
    request.end(JSON.stringify({ workspace_id: organization.workspaceId, name: 'left' }));
    await untilBlocked(app);
    request.destroy();
    const aborted = 'method=POST,route=/eval/v1/experiments,status=aborted';
    while (!seriesOf(await scrape(app.app), 'registry_http_requests_total')[aborted]) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await blocked.release();
  });

  it('prevents the start if its port is in use, and names the port', async () => {
    const usedPort = { METRICS_PORT: String(app.get(MetricsServer).port) };
    const another = new MetricsServer(readEnvironment(usedPort), new Metrics(), app.get(HealthChecks));
    await expect(another.onApplicationBootstrap()).rejects.toThrow(
      `Port ${usedPort.METRICS_PORT} is in use; set METRICS_PORT to another port.`,
    );
    expect(another.port).toBeNull();
  });

  it('shows the release, and work that waits because all connections of a pool are in use', async () => {
    const small = await createTestApp({
      env: { METRICS_PORT: '0', DATABASE_POOL_SIZE: '2' },
      databaseUrl: app.databaseUrl,
    });
    let end = (): void => undefined;
    try {
      const database = small.get(Database);
      const held = database.transaction(() => new Promise<void>((resolve) => (end = resolve)));
      const waiting = database.query('SELECT 1');
      const { values } = await scrape(small.app);
      expect(values.get(`registry_build_info{release="${RELEASE}",node="${process.version}"}`)).toBe(1);
      expect(values.get('registry_pool_size')).toBe(2);
      expect(values.get('registry_pool_in_use')).toBeGreaterThanOrEqual(1);
      expect(values.get('registry_pool_waiting')).toBeGreaterThanOrEqual(1);
      end();
      await Promise.all([held, waiting]);
    } finally {
      end();
      await small.close();
    }
  });

  it('exists only if it is configured', () => {
    expect(without.get(MetricsServer).port).toBeNull();
  });

  it('is separate for each application of a process, and exists until it stops', async () => {
    // on Linux, every address of 127.0.0.0/8 is a loopback address
    const elsewhere = (from: TestApp): Promise<Response> =>
      fetch(`http://127.0.0.2:${from.get(MetricsServer).port}/metrics`);
    const env = { METRICS_PORT: '0', METRICS_HOST: '0.0.0.0' };
    const other = await createTestApp({ env, databaseUrl: app.databaseUrl });
    const port = other.get(MetricsServer).port!;
    try {
      expect(seriesOf(await scrape(other.app), 'registry_http_requests_total')).toEqual({});
      // only METRICS_HOST opens it to other addresses than 127.0.0.1
      expect((await elsewhere(other)).status).toBe(200);
      await expect(elsewhere(app)).rejects.toThrow();
      const open = connect(port, '127.0.0.1');
      await once(open, 'connect');
      const ended = once(open, 'close');
      await other.close();
      await ended;
    } finally {
      await other.close();
    }
    const rejected = connect(port, '127.0.0.1');
    const [error] = (await once(rejected, 'error')) as [NodeJS.ErrnoException];
    expect(error.code).toBe('ECONNREFUSED');
  });

  it('omits the metrics of the database while the database is unavailable', async () => {
    const proxy = await TcpProxy.to(app.databaseUrl);
    const cut = await createTestApp({
      env: { METRICS_PORT: '0', DATABASE_URL: proxy.url },
      databaseUrl: app.databaseUrl,
    });
    setLogLevel('silent');
    try {
      expect(seriesOf(await scrape(cut.app), 'registry_metrics_source_up')).toEqual({
        'source=jobs': 1,
        'source=pool': 1,
        'source=score_runs': 1,
        'source=scoring_rules': 1,
        'source=workers': 1,
      });
      proxy.cut();
      await cut.api().get('/health/ready');
      expect(await healthOf(cut)).toEqual({ live: 200, ready: 503 });
      let text = '';
      const now = performance.now.bind(performance);
      const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + AFTER_CACHE_MS);
      for (let up = 1; up > 0;) {
        const away = await scrape(cut.app);
        up = seriesOf(away, 'registry_metrics_source_up')['source=score_runs']!;
        text = away.text;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      clock.mockRestore();
      expect(text).not.toMatch(/^registry_score_runs[{ ]/m);
      expect(text).not.toMatch(/^registry_score_runs_oldest_queued_age_seconds/m);
      expect(text).toMatch(/^registry_http_requests_total\{.*route="\/health\/ready",status="5xx"\} 1$/m);
    } finally {
      await cut.close();
      await proxy.close();
    }
  }, 60_000);

  it('reads the metrics of the database by index', async () => {
    const spy = jest.spyOn(app.database, 'query');
    await app.get(ScoreRunRepository).countOpen();
    await app.get(QueueDepthRepository).read([{ name: 'score-run', subject: 'score_run_id' }]);
    await app.get(TraceFeedRepository).backlog([], 1);
    const statements = spy.mock.calls as unknown as [{ text: string; values: unknown[] }][];
    spy.mockRestore();
    const indexes = await app.database.transaction(async (tx) => {
      await tx.query('SET LOCAL enable_seqscan = off');
      const plans = await Promise.all(statements.map(([{ text, values }]) => planOf(tx, text, values)));
      return plans.map((plan) => nodesOf(plan).flatMap((node) => node['Index Name'] ?? []));
    });
    expect(indexes).toEqual([
      [expect.stringMatching(/^score_runs_(unfinished|open)$/)],
      ['job_ready_idx', 'job_active_idx', 'job_delayed_idx', 'job_finished_idx', 'job_ready_idx'],
      ['traces_by_arrival', 'traces_by_arrival'],
    ]);
  });

  it('has exactly the metrics that docs/reference/metrics-and-logs.md explains', async () => {
    const page = readFileSync(path.resolve('docs/reference/metrics-and-logs.md'), 'utf8');
    const reported = [...page.matchAll(/^\| `(registry_\w+)`/gm)].map(([, name]) => name);
    const { text } = await scrape(app.app);
    const there = [...text.matchAll(/^# TYPE (registry_\w+) /gm)].map(([, name]) => name);
    // one exists only if the queues are in Redis, the others only in workers
    const elsewhere = [
      'registry_job_outbox',
      'registry_backfill_rows_done',
      'registry_backfill_rows_estimated',
    ];
    expect(reported.sort()).toEqual([...there, ...elsewhere].sort());
  });
});
