import { sharedApp } from '#testing';
import { TRACES } from './otlp.harness';
import { ReadingWorkspace } from './reading.fixture';

describe('the list of traces, with bounded work per page,', () => {
  const app = sharedApp();

  /** Inserts traces without spans, some of them named `rare`. */
  async function fill(own: ReadingWorkspace, traces: number, spans: number, every = 1): Promise<void> {
    await app.database.query(
      `INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models, root_name)
       SELECT $1, lpad(to_hex(n), 32, '0'), timestamptz '2026-11-20' + n * interval '1 second',
              timestamptz '2026-11-20' + n * interval '1 second', $3, 0, '{}',
              CASE WHEN n % $4 = 7 % $4 THEN 'rare' END
       FROM generate_series(1, $2) n`,
      [own.id, traces, spans, every],
    );
  }

  it('ends a page early when few match, and continues from there', async () => {
    const own = await ReadingWorkspace.open(app);
    await fill(own, 43_000, 1, 21_000);
    const first = await own.list('?q=RARE');
    expect(first.items.map((trace) => trace.started_at)).toEqual(['2026-11-20T11:40:07.000Z']);
    expect([first.page.total, typeof first.page.next_cursor]).toEqual([null, 'string']);
    const { items, count } = await own.pages(`${TRACES}?q=RARE`);
    expect([items.map((trace) => trace.root_name), count]).toEqual([['rare', 'rare', 'rare'], 3]);
  });

  it('skips an offset across pages', async () => {
    const own = await ReadingWorkspace.open(app);
    await fill(own, 43_000, 1, 1_000);
    const all = await own.pages(`${TRACES}?q=RARE`);
    expect(all.items).toHaveLength(43);
    for (const offset of [1, 20, 21, 30, 43]) {
      const path = `${TRACES}?q=RARE&limit=10`;
      const { items } = await own.pages(`${path}&offset=${offset}`, path);
      expect([offset, items]).toEqual([offset, all.items.slice(offset)]);
    }
    const { items, page } = await own.list('?q=RARE&limit=10&offset=30');
    expect([items, page.offset, typeof page.next_cursor]).toEqual([[], 30, 'string']);
    const elsewhere = await own.viewer.get(`${TRACES}?cursor=${page.next_cursor}`);
    expect([elsewhere.status, elsewhere.body.code]).toEqual([400, 'invalid_query']);
  });

  const reaches: [string, number, number, string, number][] = [
    ['of 30,000 spans, two per page', 5, 30_000, 'q=rare', 3],
    ['with more spans than a page checks, one per page', 3, 60_000, 'q=rare', 3],
    ['of 10,000 spans, five per page', 5, 10_000, 'attribute=a:b', 1],
    ['for three attributes, only until one does not match', 5, 10_000, 'attribute=a:b&attribute=c:d&attribute=e:f', 1],
    ['for a text and an attribute, only until one does not match', 5, 10_000, 'q=rare&attribute=a:b', 1],
  ]; // oxfmt-ignore
  it.each(reaches)('checks traces %s', async (_, traces, spans, filter, pages) => {
    const own = await ReadingWorkspace.open(app);
    await fill(own, traces, spans);
    const { items, count } = await own.pages(`${TRACES}?${filter}`);
    expect([items.length, count]).toEqual([filter === 'q=rare' ? traces : 0, pages]);
  });
});
