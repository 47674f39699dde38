import { sharedApp, newSpanId, newTraceId, SPAN_START, type TestSpan } from '#testing';
import { TRACES } from './otlp.harness';
import { MS, ReadingWorkspace } from './reading.fixture';

const MIB = 1024 * 1024;

describe('one trace', () => {
  const app = sharedApp();
  let space: ReadingWorkspace;

  beforeAll(async () => {
    space = await ReadingWorkspace.open(app);
  });

  const get = async (traceId: string): Promise<any> => {
    const { status, body } = await space.viewer.get(`${TRACES}/${traceId}`);
    expect(status).toBe(200);
    return body;
  };

  /** Draws the tree as indented text. */
  const drawn = ({ spans }: any): string[] =>
    spans.map((span: any) => `${' '.repeat(span.depth)}${span.name}`);

  it('has totals, the root’s input and output, and its tree', async () => {
    const traceId = newTraceId();
    const [root, call] = [newSpanId(), newSpanId()];
    const at = (ms: bigint) => ({ traceId, start: SPAN_START + ms * MS, end: SPAN_START + (ms + 5n) * MS });
    await space.send([
      { ...at(30n), parentSpanId: root, name: 'second', isError: true },
      {
        ...at(0n),
        spanId: root,
        name: 'root',
        attributes: { 'input.value': '{"b":1,"a":2}', 'output.value': 'because' },
      },
      { ...at(20n), parentSpanId: call, name: 'below the first' },
      {
        ...at(10n),
        spanId: call,
        parentSpanId: root,
        name: 'first',
        attributes: {
          'gen_ai.request.model': 'gpt-4o',
          'gen_ai.usage.input_tokens': 30,
          'gen_ai.usage.output_tokens': 3,
          'gen_ai.usage.cost': 0.25,
        },
      },
    ]);
    const trace = await get(traceId);
    expect(trace).toMatchObject({
      trace_id: traceId,
      root_name: 'root',
      status: 'error',
      span_count: 4,
      input: { b: 1, a: 2 },
      output: 'because',
      content_size: 22,
      is_truncated: false,
    });
    expect(drawn(trace)).toEqual(['root', ' first', '  below the first', ' second']);
    expect(trace.spans[1]).toMatchObject({
      depth: 1,
      span_id: call,
      parent_span_id: root,
      name: 'first',
      kind: 'client',
      status: { code: 'unset', message: null },
      started_at: '2026-11-20T00:00:00.010Z',
      ended_at: '2026-11-20T00:00:00.015Z',
      duration_ms: 5,
      model: 'gpt-4o',
      input_tokens: 30,
      output_tokens: 3,
      cached_input_tokens: null,
      cost_usd: 0.25,
    });
    expect(Object.keys(trace.spans[1])).not.toContain('attributes');
  });

  it('keeps spans with missing or circular parents', async () => {
    const traceId = newTraceId();
    const [one, other, own] = [newSpanId(), newSpanId(), newSpanId()];
    const span = (n: bigint, name: string, parentSpanId: string, spanId = newSpanId()) => ({
      traceId,
      name,
      parentSpanId,
      spanId,
      start: SPAN_START + n,
    });
    await space.send([
      span(1000n, 'late', newSpanId()),
      span(2000n, 'one', other, one),
      span(3000n, 'other', one, other),
      span(4000n, 'its own parent', own, own),
    ]);
    const trace = await get(traceId);
    expect([trace.root_name, drawn(trace)]).toEqual([null, ['late', 'one', ' other', 'its own parent']]);
  });

  it('has a chain of any depth in a flat response', async () => {
    const traceId = newTraceId();
    const ids = Array.from({ length: 1_200 }, newSpanId);
    await space.send(
      ids.map((spanId, n): Partial<TestSpan> => ({
        traceId,
        spanId,
        parentSpanId: n === 0 ? undefined : ids[n - 1],
        start: SPAN_START + BigInt(n) * MS,
      })),
    );
    const trace = await get(traceId);
    expect(trace.spans.map((span: any) => span.span_id)).toEqual(ids.slice(0, 1_000));
    expect(trace.spans.map((span: any) => span.depth)).toEqual(ids.slice(0, 1_000).map((_, n) => n));
    expect([trace.span_count, trace.is_truncated]).toEqual([1_200, true]);
  });

  it('has a bounded size', async () => {
    const traceId = newTraceId();
    const named = Array.from({ length: 8 }, (_, n) => ({
      traceId,
      name: 'n'.repeat(MIB),
      start: SPAN_START + BigInt(n) * MS,
    }));
    await space.send(named.slice(0, 4));
    await space.send(named.slice(4));
    await space.send([
      { traceId, start: SPAN_START - MS, attributes: { 'input.value': 'i'.repeat(9 * MIB) } },
    ]);
    const trace = await get(traceId);
    expect([trace.spans.length, trace.is_truncated]).toEqual([4, true]);
    expect([trace.input, trace.output, trace.content_size]).toEqual([null, null, 9 * MIB + 2]);
  });

  it('keeps its ETag until spans arrive', async () => {
    const [traceId] = await space.send([{}]);
    const path = `${TRACES}/${traceId}`;
    const etag = (await space.viewer.get(path)).headers.get('etag')!;
    const again = await space.viewer.get(path, { 'if-none-match': etag });
    expect([again.status, again.body]).toEqual([304, undefined]);
    await space.send([{ traceId, name: 'late' }]);
    expect((await space.viewer.get(path, { 'if-none-match': etag })).status).toBe(200);
  });

  it('returns 404 for invalid ids, and in other workspaces', async () => {
    const [traceId] = await space.send([{}]);
    const ids = ['nonsense', '0'.repeat(32), traceId!.toUpperCase(), `${traceId}00`, newTraceId(), '%00'];
    for (const rest of ['', '/spans', '/spans/export']) {
      for (const id of ids) {
        const { status, body } = await space.viewer.get(`${TRACES}/${id}${rest}`);
        expect([id, status, body.code]).toEqual([id, 404, 'not_found']);
      }
      const path = `${TRACES}/${traceId}${rest}`;
      const elsewhere = space.viewer.in(await space.organization.newWorkspace());
      expect((await elsewhere.get(path)).status).toBe(404);
      expect((await (await ReadingWorkspace.open(app)).viewer.get(path)).status).toBe(404);
      expect((await (await space.organization.as('runtime')).get(path)).status).toBe(403);
      expect((await space.viewer.get(`${path}?unknown=1`)).status).toBe(400);
    }
    const malformed = await space.viewer.get(`${TRACES}/%E0%A4%A`);
    expect([malformed.status, malformed.body.code]).toEqual([400, 'invalid_request']);
  });
});
