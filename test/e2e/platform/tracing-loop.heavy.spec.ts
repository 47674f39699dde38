import { setTimeout as sleep } from 'node:timers/promises';
import type { OtlpSpan } from '#otlp';
import { type ApiClient, sharedApp, newSpanId, newTraceId } from '#testing';
import { RulesFixture } from '../../worker/scoring-rules.fixture';
import { EXPORT_EVERY, ServiceProcess, TraceEndpoint, tracedTo } from './tracing.fixture';

const EXPERIMENTS = '/eval/v1/experiments';

describe('a service that sends its traces to itself', () => {
  const app = sharedApp();
  let on: RulesFixture;
  let endpoint: TraceEndpoint;
  let api: ServiceProcess;
  let worker: ServiceProcess;
  let client: ApiClient;
  let experimentId: string;

  beforeAll(async () => {
    on = await RulesFixture.create(app, () => []);
    endpoint = await TraceEndpoint.listen();
    const { organization } = on.on;
    const { key } = await organization.serviceAccount('runtime');
    const headers = `authorization=Bearer%20${key},x-service-workspace-id=${organization.workspaceId}`;
    const env = tracedTo(endpoint, { OTEL_EXPORTER_OTLP_HEADERS: headers });
    env.OTEL_EXPORTER_OTLP_ENDPOINT += '/telemetry';
    [api, worker] = await Promise.all([
      ServiceProcess.start('main', app, env),
      ServiceProcess.start('worker', app, env),
    ]);
    endpoint.target = api.url;
    client = api.caller(await organization.token('evaluator'), organization.workspaceId);
    experimentId = (await on.on.experiment()).experiment_id;
  });
  afterAll(async () => {
    await Promise.all([api.kill(), worker.kill()]);
    await endpoint.close();
  });

  const tracesOf = (id: string) => `${EXPERIMENTS}/${experimentId}/traces/${id}`;

  /** Returns the stored span ids of a trace, sorted. Reads them through another process, whose requests are not traced. */
  async function storedSpanIds(traceId: string): Promise<string[]> {
    const { status, body } = await on.on.evaluator.get(`${tracesOf(traceId)}/spans?limit=500`);
    return status === 404 ? [] : body.items.map((span: any) => span.span_id as string).sort();
  }

  const exportedSpans = (traceId: string): OtlpSpan[] =>
    endpoint.spans.filter((span) => span.traceId === traceId);

  /** Sends a traced request, and waits until its span is stored. Returns the id of the trace. */
  async function sendTraced(): Promise<string> {
    const traceId = newTraceId();
    await client.get(EXPERIMENTS, { traceparent: `00-${traceId}-${newSpanId()}-01` });
    const [request] = await endpoint.received((span) => span.traceId === traceId && span.kind === 'server');
    while (!(await storedSpanIds(traceId)).includes(request!.spanId)) await sleep(10);
    return traceId;
  }

  it('stores each span once, and traces no exports', async () => {
    const traceIds: string[] = [];
    for (let round = 0; round < 3; round += 1) traceIds.push(await sendTraced());
    const count = endpoint.exports.length;
    await sleep(20 * EXPORT_EVERY);
    expect(endpoint.exports).toHaveLength(count);
    expect(new Set(endpoint.spans.map(({ traceId }) => traceId))).toEqual(new Set(traceIds));
    for (const traceId of traceIds) {
      expect(await storedSpanIds(traceId)).toEqual(
        exportedSpans(traceId)
          .map(({ spanId }) => spanId)
          .sort(),
      );
    }
  });

  it('does not trace the scoring of its own traces', async () => {
    const rule = await on.rule({}, undefined, on.on.evaluator);
    const before = new Set(endpoint.spans.map(({ traceId }) => traceId));
    const traceId = await sendTraced();
    await on.seen(rule, 1);
    expect(await on.scored(rule)).toContain(traceId);
    await sleep(20 * EXPORT_EVERY);
    const since = endpoint.spans.map((span) => span.traceId).filter((id) => !before.has(id));
    expect(new Set(since)).toEqual(new Set([traceId]));
  });
});
