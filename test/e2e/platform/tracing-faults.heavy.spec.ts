import { type ApiClient, sharedApp, newOrganization } from '#testing';
import type { TestOrganization } from '#testing';
import { ServiceProcess, TraceEndpoint, tracedTo } from './tracing.fixture';

const EXPERIMENTS = '/eval/v1/experiments';
const UNSENT = 'traces cannot be sent and are dropped';

/** A failing trace endpoint must not affect requests or processes. */
describe('a trace endpoint', () => {
  const app = sharedApp();
  let org: TestOrganization;
  let endpoint: TraceEndpoint;
  let api: ServiceProcess;
  let client: ApiClient;

  beforeAll(async () => {
    org = await newOrganization(app);
  });
  beforeEach(async () => {
    endpoint = await TraceEndpoint.listen();
  });
  afterEach(async () => {
    await api.kill();
    await endpoint.close();
  });

  async function start(env: Record<string, string> = {}): Promise<void> {
    api = await ServiceProcess.start('main', app, tracedTo(endpoint, env));
    client = api.caller(await org.token('viewer'), org.workspaceId);
  }

  async function sendRequests(times = 1): Promise<void> {
    for (let time = 0; time < times; time += 1) expect((await client.get(EXPERIMENTS)).status).toBe(200);
  }

  const warnings = () => api.lines.filter(({ msg }) => msg === UNSENT);

  it('is logged once if it rejects traces, and once more when it recovers', async () => {
    endpoint.status = 400;
    await start();
    for (let sent = 1; sent <= 3; sent += 1) {
      await sendRequests();
      await endpoint.received(({ kind }) => kind === 'server', sent);
    }
    expect(warnings()).toHaveLength(1);
    expect(warnings()[0]).toMatchObject({ level: 'warn' });
    endpoint.status = 200;
    await sendRequests();
    await api.line(({ msg }) => msg === 'traces can be sent again');
    expect(warnings()).toHaveLength(1);
    expect(await api.stop()).toBe(0);
  });

  it('does not affect requests if it is unreachable', async () => {
    await endpoint.close();
    await start({ OTEL_EXPORTER_OTLP_TIMEOUT: '200' });
    await sendRequests();
    await api.line(({ msg }) => msg === UNSENT);
    await sendRequests();
    expect(await api.stop()).toBe(0);
    expect(warnings()).toHaveLength(1);
  });

  it('delays neither responses nor the shutdown if it hangs, and takes a limited amount of memory', async () => {
    let release: (status: number) => void = () => undefined;
    endpoint.status = new Promise((resolve) => (release = resolve));
    const never = '600000';
    await start({
      OTEL_BSP_MAX_QUEUE_SIZE: '8',
      OTEL_BSP_EXPORT_TIMEOUT: never,
      OTEL_EXPORTER_OTLP_TIMEOUT: never,
      SHUTDOWN_SECONDS: '6',
    });
    await sendRequests();
    await endpoint.received(() => true);
    await sendRequests(30);
    const inFlight = endpoint.spans.length;
    release(200);
    await endpoint.received(() => true, inFlight + 1); // the queued spans
    const earlier = new Set(endpoint.spans.map(({ traceId }) => traceId));
    await sendRequests();
    await endpoint.received(({ traceId }) => !earlier.has(traceId)); // the queue has room again
    endpoint.status = new Promise(() => undefined);
    await sendRequests();
    expect(inFlight).toBeLessThanOrEqual(8);
    expect(await api.stop()).toBe(0);
    // the first batch, the queued spans, and the spans that followed
    expect(endpoint.spans.length).toBeLessThanOrEqual(8 * 3);
  });

  it('gets pending spans when the process stops', async () => {
    await start({ OTEL_BSP_SCHEDULE_DELAY: '3600000' });
    await sendRequests();
    expect(endpoint.exports).toEqual([]);
    expect(await api.stop()).toBe(0);
    expect(endpoint.spans.filter(({ kind }) => kind === 'server')).toHaveLength(1);
  });
});
