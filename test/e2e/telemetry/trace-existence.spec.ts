import { type ApiClient, jsonExport, newOrganization, newSpan, newTraceId, sharedApp } from '#testing';

const EXISTS = '/telemetry/v1/traces/exists';

describe('POST /telemetry/v1/traces/exists', () => {
  const app = sharedApp();
  let runtime: ApiClient;
  let viewer: ApiClient;
  let workspaceId: string;
  let arrived: string[];

  beforeAll(async () => {
    const organization = await newOrganization(app);
    ({ workspaceId } = organization);
    [runtime, viewer] = [await organization.as('runtime'), await organization.as('viewer')];
    const spans = [newSpan(), newSpan()];
    arrived = spans.map(({ traceId }) => traceId);
    expect((await runtime.post('/telemetry/v1/traces', jsonExport(spans))).status).toBe(200);
  });

  it('tells which traces have arrived, in the order sent and each once, also to senders of telemetry', async () => {
    const [unknown, other] = [newTraceId(), newTraceId()];
    const trace_ids = [unknown, arrived[1], other, arrived[0], arrived[1], unknown];
    for (const client of [viewer, runtime]) {
      const answer = await client.post(EXISTS, { workspace_id: workspaceId, trace_ids });
      expect([answer.status, answer.body]).toEqual([
        200,
        { found: [arrived[1], arrived[0]], missing: [unknown, other] },
      ]);
    }
  });

  it('finds neither deleted traces nor those of another organization', async () => {
    const other = await newOrganization(app);
    const span = newSpan();
    const admin = await other.as('admin');
    await admin.post('/telemetry/v1/traces', jsonExport([span]));
    await admin.delete(`/telemetry/v1/traces/${span.traceId}`);
    const trace_ids = [arrived[0], span.traceId];
    expect((await admin.post(EXISTS, { trace_ids })).body).toEqual({ found: [], missing: trace_ids });
  });

  it.each([
    ['none', { trace_ids: [] }, 'invalid_request', '/trace_ids'],
    ['101', { trace_ids: Array.from({ length: 101 }, newTraceId) }, 'invalid_request', '/trace_ids'],
    ['no list', {}, 'invalid_request', '/trace_ids'],
    ['null', { trace_ids: null }, 'invalid_request', '/trace_ids'],
    ['upper case', { trace_ids: [newTraceId().toUpperCase()] }, 'invalid_request', '/trace_ids'],
    ['zeros', { trace_ids: ['0'.repeat(32)] }, 'invalid_request', '/trace_ids'],
    ['31 digits', { trace_ids: ['a'.repeat(31)] }, 'invalid_request', '/trace_ids'],
    [
      'another workspace',
      { workspace_id: 'wsp_other', trace_ids: [newTraceId()] },
      'invalid_request',
      '/workspace_id',
    ],
    ['an unknown member', { trace_ids: [newTraceId()], ids: [] }, 'invalid_request', '/ids'],
  ])('rejects %s', async (_, body, code, pointer) => {
    const answer = await viewer.post(EXISTS, body);
    const errors = answer.body.errors as { pointer: string }[];
    expect([answer.status, answer.body.code, errors[0]?.pointer.startsWith(pointer)]).toEqual([
      400,
      code,
      true,
    ]);
  });
});
