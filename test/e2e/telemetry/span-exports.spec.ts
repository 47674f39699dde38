import { sharedApp, newTraceId, SPAN_START } from '#testing';
import { TRACES } from './otlp.harness';
import { MS, ReadingWorkspace } from './reading.fixture';

describe('the spans of a trace', () => {
  const app = sharedApp();
  let space: ReadingWorkspace;

  beforeAll(async () => {
    space = await ReadingWorkspace.open(app);
  });

  /** Stores a trace with spans one millisecond apart. */
  async function trace(count: number): Promise<string> {
    const traceId = newTraceId();
    const spans = Array.from({ length: count }, (_, n) => ({
      traceId,
      name: `step ${n}`,
      start: SPAN_START + BigInt(n) * MS,
    }));
    await space.send(spans);
    return traceId;
  }

  const exported = async (traceId: string): Promise<any[]> => {
    const { status, body } = await space.viewer.get<string>(`${TRACES}/${traceId}/spans/export`);
    expect(status).toBe(200);
    expect(body.endsWith('\n')).toBe(true);
    return body
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
  };

  it('are listed with attributes and derived fields', async () => {
    const traceId = newTraceId();
    const attributes = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.agent.name': 'helper',
      'gen_ai.usage.cache_read.input_tokens': 20,
      'gen_ai.request.model': 'gpt-4o',
      'gen_ai.usage.input_tokens': 30,
      'gen_ai.usage.cost': 0.25,
    };
    await space.send([{ traceId, attributes }]);
    const { body } = await space.viewer.get(`${TRACES}/${traceId}/spans`);
    expect(body.page).toEqual({ limit: 50, offset: 0, total: 1, next_cursor: null });
    expect(body.items[0]).toMatchObject({
      name: 'step',
      attributes,
      events: [],
      links: [],
      resource: { attributes: { 'service.name': 'shop' } },
      scope: { name: 'test' },
      operation: 'chat',
      provider: 'openai',
      agent_name: 'helper',
      tool_name: null,
      model: 'gpt-4o',
      input_tokens: 30,
      output_tokens: null,
      cached_input_tokens: 20,
      reasoning_tokens: null,
      cost_usd: 0.25,
    });
    const { body: page } = await space.viewer.get(`${TRACES}/${traceId}/spans?sort=started_at&limit=0`);
    expect([page.items, page.page.total]).toEqual([[], 1]);
    expect((await space.viewer.get(`${TRACES}/${traceId}/spans?sort=name`)).status).toBe(422);
  });

  it('are exported with the members of the list, one per line, by start', async () => {
    const traceId = await trace(1_201);
    const { items } = await space.pages(`${TRACES}/${traceId}/spans?limit=500`);
    const lines = await exported(traceId);
    expect(lines.map(({ name }) => name)).toEqual(Array.from({ length: 1_201 }, (_, n) => `step ${n}`));
    expect(lines).toEqual(items);
  });

  it('are exported with a file name, a type and an ETag', async () => {
    const traceId = await trace(1);
    const path = `${TRACES}/${traceId}/spans/export`;
    const { headers } = await space.viewer.get(`${path}?format=jsonl`);
    expect(headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8');
    expect(headers.get('content-disposition')).toBe(`attachment; filename="${traceId}.jsonl"`);
    const notModified = await space.viewer.get(path, { 'if-none-match': headers.get('etag')! });
    expect(notModified.status).toBe(304);
    await space.send([{ traceId }]);
    expect((await space.viewer.get(path, { 'if-none-match': headers.get('etag')! })).status).toBe(200);
    const csv = await space.viewer.get(`${path}?format=csv`);
    expect([csv.status, csv.body.code]).toEqual([422, 'validation_failed']);
  });
});
