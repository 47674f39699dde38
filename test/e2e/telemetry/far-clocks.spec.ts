import { createTestApp, newTraceId, type TestApp, type TestSpan } from '#testing';
import { TRACES } from './otlp.harness';
import { ReadingWorkspace } from './reading.fixture';

const PAGE = 3;

/** The last nanosecond of 64 bits with a sign, in 2262, and of those without, in 2554; and the first. */
describe.each([
  ['1970', 0n, 1n],
  ['2262', 2n ** 63n - 1n, -1n],
  ['2554', 2n ** 64n - 1n, -1n],
])('telemetry of a clock of %s', (_, clock, direction) => {
  let app: TestApp;
  let space: ReadingWorkspace;

  beforeAll(async () => {
    app = await createTestApp();
    space = await ReadingWorkspace.open(app);
  });
  afterAll(() => app.close());

  /** So many microseconds away from where the clock ends, two by two at the same. */
  const at = (n: number): bigint => clock + direction * 1000n * BigInt(Math.floor(n / 2));

  /** Pages of a list, one after the other, as long as there are any. */
  async function pages(path: string, id: string): Promise<string[]> {
    const found: string[] = [];
    let cursor: string | null = '';
    for (let page = 0; cursor !== null && page < 20; page++) {
      const query: string = `limit=${PAGE}${cursor && `&cursor=${cursor}`}`;
      const { status, body } = await space.viewer.get(`${path}?${query}`);
      expect(status).toBe(200);
      found.push(...body.items.map((item: Record<string, string>) => item[id]));
      cursor = body.page.next_cursor;
    }
    return found;
  }

  it('is paged without gaps and repeats: spans, traces and sessions', async () => {
    const traceId = newTraceId();
    const spans: Partial<TestSpan>[] = Array.from({ length: 10 }, (_unused, n) => ({
      traceId,
      spanId: (n + 1).toString(16).padStart(16, '0'),
      start: at(n),
      end: at(n),
    }));
    await space.send(spans);
    const ids = spans.map(({ spanId }) => spanId!);
    expect((await pages(`${TRACES}/${traceId}/spans`, 'span_id')).sort()).toEqual(ids);

    const traces = await space.send(
      Array.from({ length: 9 }, (_unused, n) => ({
        start: at(n),
        end: at(n),
        attributes: { 'session.id': `session ${n}` },
      })),
    );
    expect((await pages(TRACES, 'trace_id')).sort()).toEqual([traceId, ...traces].sort());
    const sessions = await pages('/telemetry/v1/sessions', 'session_id');
    expect(sessions.sort()).toEqual(traces.map((_trace, n) => `session ${n}`));
  });

  it('is exported whole, and once', async () => {
    const traceId = newTraceId();
    const spans = Array.from({ length: 1_200 }, (_unused, n) => ({ traceId, start: at(n), end: at(n) }));
    await space.send(spans);
    const { body } = await space.viewer.get<string>(`${TRACES}/${traceId}/spans/export`);
    const ids = body
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { span_id: string }).span_id);
    expect([ids.length, new Set(ids).size]).toEqual([1_200, 1_200]);
  });
});
