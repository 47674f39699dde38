import { sharedApp, newOrganization, newSpanId, newTraceId } from '#testing';
import { ServiceProcess, TraceEndpoint, tracedTo } from '../platform/tracing.fixture';
import { register, Upstream } from './upstream.fixture';

describe('a traced request to an API', () => {
  const app = sharedApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });
  let endpoint: TraceEndpoint;
  let service: ServiceProcess;
  let upstream: Upstream;

  beforeAll(async () => {
    endpoint = await TraceEndpoint.listen();
    upstream = await Upstream.listen();
    service = await ServiceProcess.start('main', app, tracedTo(endpoint));
  });
  afterAll(async () => {
    await service.kill();
    await upstream.close();
    await endpoint.close();
  });

  it('has one traceparent: the span of the outbound request, in the same trace', async () => {
    const org = await newOrganization(app);
    const path = await register(await org.member('admin'), org.workspaceId, { base_url: upstream.url });
    const { key } = await org.serviceAccount('runtime');
    const agent = service.caller(key, org.workspaceId);
    const traceId = newTraceId();
    const incoming = `00-${traceId}-${newSpanId()}-01`;
    const answer = await agent.get(`${path}/x`, { traceparent: incoming });
    expect(answer.status).toBe(200);
    const { rawHeaders } = upstream.last;
    const sent = rawHeaders.filter((_, at) => at % 2 === 1 && /^traceparent$/i.test(rawHeaders[at - 1]!));
    expect(sent).toHaveLength(1);
    const [span] = await endpoint.received((one) => one.name === 'GET' && one.traceId === traceId);
    const [server] = await endpoint.received((one) => one.kind === 'server' && one.traceId === traceId);
    expect(sent).toEqual([`00-${traceId}-${span!.spanId}-01`]);
    expect(span!.parentSpanId).toBe(server!.spanId);
    expect(server!.name).toBe('GET /api/v1/apis/{api_id}/{path}');
  });
});
