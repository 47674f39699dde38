import { sharedApp, newTraceId, type TestSpan } from '#testing';
import { TRACES } from './otlp.harness';
import { ReadingWorkspace } from './reading.fixture';

const PAGE = 3;

/** The first nanosecond, and the last ones of signed (2262) and unsigned (2554) 64-bit integers. */
describe.each([
  ['1970', 0n, 1n],
  ['2262', 2n ** 63n - 1n, -1n],
  ['2554', 2n ** 64n - 1n, -1n],
])('telemetry from a clock in %s', (_, clock, direction) => {
  const app = sharedApp();
  let space: ReadingWorkspace;

  beforeAll(async () => {
    space = await ReadingWorkspace.open(app);
  });

  /** Returns a time at a distance from the end of the clock. Each microsecond has two records. */
  const at = (n: number): bigint => clock + direction * 1000n * BigInt(Math.floor(n / 2));

  /** Reads all pages of a list. Returns the ids. */
  async function pages(path: string, id: string): Promise<string[]> {
    const names: string[] = [];
    let cursor: string | null = '';
    for (let page = 0; cursor !== null && page < 20; page++) {
      const query: string = `limit=${PAGE}${cursor && `&cursor=${cursor}`}`;
      const { status, body } = await space.viewer.get(`${path}?${query}`);
      expect(status).toBe(200);
      names.push(...body.items.map((item: Record<string, string>) => item[id]));
      cursor = body.page.next_cursor;
    }
    return names;
  }

  it('is paged without gaps or repeats: spans, traces and sessions', async () => {
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

  it('is exported completely and without repeats', async () => {
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
