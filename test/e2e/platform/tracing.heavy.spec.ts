import http from 'node:http';
import path from 'node:path';
import type { OtlpSpan } from '#otlp';
import {
  type ApiClient,
  sharedApp,
  jsonExport,
  newOrganization,
  newSpan,
  newSpanId,
  newTraceId,
  type TestOrganization,
} from '#testing';
import { ServiceProcess, TraceEndpoint, tracedTo } from './tracing.fixture';

const EXPERIMENTS = '/eval/v1/experiments';
const SECRET = 'what-nobody-else-may-read';

/** Makes a process print its loaded packages at exit. */
const PRINT_LOADED = `--require ${path.join(__dirname, 'loaded.child.js')}`;

const isServer = (span: OtlpSpan): boolean => span.kind === 'server';
const newTraceparent = (traceId: string, flags = '01'): string => `00-${traceId}-${newSpanId()}-${flags}`;

describe('the traces of the service itself', () => {
  const app = sharedApp();
  let org: TestOrganization;
  let endpoint: TraceEndpoint;
  let api: ServiceProcess;
  let client: ApiClient;

  beforeAll(async () => {
    org = await newOrganization(app);
    endpoint = await TraceEndpoint.listen();
    api = await ServiceProcess.start('main', app, tracedTo(endpoint));
    client = api.caller(await org.token('editor'), org.workspaceId);
  });
  afterAll(async () => {
    await api.kill();
    await endpoint.close();
  });

  /** Requests a list as part of a new trace. @returns the id of the trace */
  async function sendTraced(caller: ApiClient = client, flags?: string): Promise<string> {
    const traceId = newTraceId();
    const { status } = await caller.get(EXPERIMENTS, { traceparent: newTraceparent(traceId, flags) });
    expect(status).toBe(200);
    return traceId;
  }

  /** Waits for the server span of a trace. */
  async function serverSpan(traceId: string): Promise<OtlpSpan> {
    return (await endpoint.received((span) => isServer(span) && span.traceId === traceId))[0]!;
  }

  /** Runs another process with its own endpoint, and stops it. */
  async function withProcess(
    env: (other: TraceEndpoint) => Record<string, string>,
    work: (caller: ApiClient, other: TraceEndpoint) => Promise<unknown>,
  ): Promise<{ code: number | null; errors: string; other: TraceEndpoint }> {
    const other = await TraceEndpoint.listen();
    const process = await ServiceProcess.start('main', app, tracedTo(other, env(other)));
    try {
      await work(process.caller(await org.token('editor'), org.workspaceId), other);
      return { code: await process.stop(), errors: process.errors, other };
    } finally {
      await process.kill();
      await other.close();
    }
  }

  it('have a span for each request, named by its route, and spans for its statements', async () => {
    const { body } = await client.post(EXPERIMENTS, { workspace_id: org.workspaceId, name: 'traced' });
    const traceId = newTraceId();
    const path = `${EXPERIMENTS}/${body.experiment_id}`;
    await client.get(path, { traceparent: newTraceparent(traceId) });
    const span = await serverSpan(traceId);
    expect(span).toMatchObject({
      name: `GET ${EXPERIMENTS}/{experiment_id}`,
      status: { code: 'unset' },
      attributes: {
        'http.request.method': 'GET',
        'http.route': `${EXPERIMENTS}/{experiment_id}`,
        'http.response.status_code': 200,
        'url.path': path,
        'url.scheme': 'http',
      },
      resource: {
        attributes: {
          'service.name': 'agent-registry-service',
          'service.version': '0.1.0',
          'service.instance.id': expect.any(String),
          'registry.role': 'api',
        },
      },
    });
    const statements = endpoint.spans.filter(({ parentSpanId }) => parentSpanId === span.spanId);
    expect(statements.map(({ kind }) => kind)).toContain('client');
    expect(JSON.stringify(statements.map(({ attributes }) => attributes))).toMatch(
      /FROM experiments\S* +WHERE experiment_id = \$1/,
    );
    const { url, headers } = endpoint.exports[0]!;
    expect([url, headers['content-type']]).toEqual(['/v1/traces', 'application/x-protobuf']);
  });

  it('follow the OpenTelemetry environment variables, even if only a traces endpoint is set', async () => {
    const env = {
      NODE_OPTIONS: PRINT_LOADED,
      OTEL_EXPORTER_OTLP_ENDPOINT: '',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=a%20b',
      OTEL_SERVICE_NAME: 'registry-eu',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,service.version=7',
    };
    const { code, errors, other } = await withProcess(
      ({ url }) => ({ ...env, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/here` }),
      (caller) => sendTraced(caller),
    );
    expect(code).toBe(0);
    expect(errors).toMatch(/^loaded: .*@opentelemetry\/instrumentation-pg/);
    const [sent] = other.exports;
    expect(sent!.url).toBe('/here');
    expect(sent!.headers).toMatchObject({
      'content-type': 'application/json',
      'content-encoding': 'gzip',
      'x-tenant': 'a b',
    });
    expect(sent!.spans[0]!.resource.attributes).toMatchObject({
      'service.name': 'registry-eu',
      'service.version': '7',
      'deployment.environment.name': 'test',
    });
  });

  it('continue the client’s trace, whose id is in problems and the log', async () => {
    const traceId = newTraceId();
    const traceparent = newTraceparent(traceId);
    const { body } = await client.get(`${EXPERIMENTS}/exp_none`, { traceparent });
    expect(body).toMatchObject({ status: 404, trace_id: traceId });
    expect((await serverSpan(traceId)).parentSpanId).toBe(traceparent.split('-')[2]);
    expect(await api.line(({ trace_id }) => trace_id === traceId)).toMatchObject({ msg: 'request' });
  });

  it('have their id in problems and the log, even without a client trace', async () => {
    const { body } = await client.get(`${EXPERIMENTS}/exp_none`);
    expect(await serverSpan(body.trace_id)).toMatchObject({ parentSpanId: null });
    expect(await api.line(({ trace_id }) => trace_id === body.trace_id)).toMatchObject({ status: 404 });
  });

  it('do not interfere with COPY', async () => {
    const { body } = await client.post('/eval/v1/datasets', {
      workspace_id: org.workspaceId,
      name: 'copied',
    });
    const path = `/eval/v1/datasets/${body.dataset_id}/records`;
    const lines = Array.from({ length: 300 }, (_, input) => JSON.stringify({ input })).join('\n');
    const imported = await client.post(`${path}/import`, lines, { 'content-type': 'application/jsonl' });
    expect(imported).toMatchObject({ status: 200, body: { created_count: 300 } });
    expect((await client.get(`${path}?limit=0`)).body.page.total).toBe(300);
  });

  it('mark aborted requests', async () => {
    const traceId = newTraceId();
    const headers = {
      traceparent: newTraceparent(traceId),
      authorization: `Bearer ${await org.token('editor')}`,
      'x-service-workspace-id': org.workspaceId,
      'content-type': 'application/json',
      'content-length': '100',
    };
    const request = http.request(`${api.url}${EXPERIMENTS}`, { method: 'POST', headers });
    request.on('error', () => undefined);
    request.write('{', () => request.destroy());
    expect((await serverSpan(traceId)).attributes).toMatchObject({ 'error.type': 'aborted' });
    const answered = await serverSpan(await sendTraced());
    expect(answered.attributes).not.toHaveProperty('error.type');
  });

  it('contain no token, key, header, query, parameter or body', async () => {
    const { key } = await org.serviceAccount('editor');
    const token = await org.token('editor');
    const traceId = newTraceId();
    const headers = {
      'user-agent': SECRET,
      'x-request-id': SECRET,
      baggage: `a=${SECRET}`,
      traceparent: newTraceparent(traceId),
    };
    for (const credential of [token, key]) {
      const caller = api.caller(credential, org.workspaceId);
      await caller.get(`${EXPERIMENTS}?config=${SECRET}:1&limit=1`, headers);
      const body = { workspace_id: org.workspaceId, name: SECRET, metadata: { [SECRET]: SECRET } };
      await caller.post('/eval/v1/datasets', body, headers);
      await caller.post('/registry/v1/tokens', { api_key: key }, headers);
    }
    await endpoint.received((span) => isServer(span) && span.traceId === traceId, 6);
    const sent = endpoint.exports.map(({ body }) => body.toString('latin1')).join('\n');
    expect(sent).toContain('POST /eval/v1/datasets');
    expect([SECRET, key, token].filter((secret) => sent.includes(secret))).toEqual([]);
  });

  it('exclude exports, probes and scrapes', async () => {
    const exporter = api.caller(await org.token('runtime'), org.workspaceId);
    const traceId = newTraceId();
    const traceparent = newTraceparent(traceId);
    const body = jsonExport([newSpan()]);
    // exporters send to these paths if their base URL is wrong
    const missing = ['/v1/traces', '/v1/traces?x=1', '/api/v1/logs', '/V1/Metrics/'];
    for (const path of [
      '/telemetry/v1/traces',
      '/telemetry/v1/traces?x=1',
      '/Telemetry/v1/traces',
      ...missing,
    ]) {
      await exporter.post(path, body, { traceparent, 'content-type': 'application/json' });
    }
    await exporter.get('/health/ready', { traceparent });
    await exporter.get('/health/live', { traceparent });
    await serverSpan(await sendTraced()); // all earlier spans have been sent
    expect(endpoint.spans.filter((span) => span.traceId === traceId)).toEqual([]);
    const served = new Set(endpoint.spans.filter(isServer).map((span) => span.traceId));
    expect(endpoint.spans.filter((span) => !served.has(span.traceId))).toEqual([]);
  });

  it('are not sampled if the client’s trace is not', async () => {
    const unwanted = await sendTraced(client, '00');
    await serverSpan(await sendTraced());
    expect(endpoint.spans.filter(({ traceId }) => traceId === unwanted)).toEqual([]);
  });

  it('are off if OpenTelemetry is disabled, without loading its SDK', async () => {
    const { code, errors, other } = await withProcess(
      () => ({ OTEL_SDK_DISABLED: 'true', NODE_OPTIONS: PRINT_LOADED }),
      (caller) => sendTraced(caller),
    );
    expect(code).toBe(0);
    expect(other.exports).toEqual([]);
    // prom-client loads the API package, which does nothing without the SDK
    expect(errors).toMatch(/^loaded: (@opentelemetry\/api)?\n$/);
  });
});
