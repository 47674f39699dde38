import { ownApp } from '#testing';
import { nodesOf, type Plan, planOf } from '../evaluation/plans.harness';
import { watchStatements } from '../evaluation/work.harness';
import { TRACES } from './otlp.harness';
import { ReadingWorkspace } from './reading.fixture';

describe('the list of traces among many traces', () => {
  const app = ownApp({ autovacuum: false });
  const COUNT = 6_000;
  /** More traces than are sorted without the index. */
  const ALL = 24_000;
  let many: ReadingWorkspace;
  let large: ReadingWorkspace;

  beforeAll(async () => {
    many = await ReadingWorkspace.open(app);
    large = await ReadingWorkspace.open(app);
    await app.database.query(
      `INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models, cost_usd, root_name)
       SELECT CASE WHEN n % 2 = 0 THEN $1 ELSE 'wsp_other' END, md5($1 || n), timestamptz '2026-11-20' + n * interval '1 second',
              timestamptz '2026-11-20' + n * interval '1 second' + (n * 7919 % 10007) * interval '1 ms', 1, 0, '{}',
              CASE WHEN n % 4 = 0 THEN n * 104729 % 9973 END, 'root'
       FROM generate_series(1, ${COUNT * 2}) n`,
      [many.id],
    );
    await app.database.query(
      `INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models, cost_usd)
       SELECT $1, md5('large' || n), now(), now() + n * interval '1 ms', 1, 0, '{}', n FROM generate_series(1, ${ALL}) n`,
      [large.id],
    );
    await app.database.query(
      `INSERT INTO scores (score_id, workspace_id, scorer_name, source, target_kind, trace_id, score, created_at, created_by)
       SELECT 'score_' || lpad(n::text, 26, '0'), $1, 'good', 'client', 'trace', md5($1 || n), n % 101, now(), 'test'
       FROM generate_series(2, ${COUNT * 2}, 2) n`,
      [many.id],
    );
  });

  const listed = async (query: string, by = many): Promise<any[]> => {
    const { status, body } = await by.viewer.get(`${TRACES}?${query}`);
    expect([query, status]).toEqual([query, 200]);
    return body.items;
  };

  it('finds the worst traces of a time range after any number of equal scores outside of the range', async () => {
    const tied = await ReadingWorkspace.open(app);
    await app.database.query(
      `INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models)
       SELECT $1, md5($1 || n), timestamptz '2026-11-20' + n * interval '1 second', now(), 1, 0, '{}'
       FROM generate_series(1, ${ALL}) n`,
      [tied.id],
    );
    await app.database.query(
      `INSERT INTO scores (score_id, workspace_id, scorer_name, source, target_kind, trace_id, score, created_at, created_by)
       SELECT 'score_' || lpad(n::text, 26, '0'), $1, 'good', 'hosted', 'trace', md5($1 || n), (n > ${ALL} - 5)::int, now(),
              'test' FROM generate_series(1, ${ALL}) n`,
      [tied.id],
    );
    const since = new Date(Date.parse('2026-11-20T00:00:00Z') + (ALL - 7) * 1_000).toISOString();
    const worst = await listed(`sort=score:good&since=${since}&limit=3`, tied);
    expect(worst.map(({ scores }) => scores[0].score)).toEqual([0, 0, 0]);
    const all = await tied.pages(`${TRACES}?limit=2&sort=score:good&since=${since}`);
    expect(all.items.map(({ scores }) => scores[0].score)).toEqual([0, 0, 0, 1, 1, 1, 1, 1]);
  });

  it('pages through a score filter that matches everything, and one that matches nothing', async () => {
    const { items, count } = await many.pages(`${TRACES}?limit=500&score=good:gte:0`);
    expect(new Set(items.map(({ trace_id }) => trace_id)).size).toBe(COUNT);
    expect(count).toBe(COUNT / 500);
    expect(await listed('score=good:gte:101')).toEqual([]);
  });

  it('pages through all traces by score, cost and duration, each once and in order', async () => {
    for (const [sort, value] of [
      ['-score:good', (one: any) => -one.scores[0].score],
      ['cost_usd', (one: any) => one.cost_usd ?? Infinity],
      ['-duration_ms', (one: any) => -one.duration_ms],
    ] as [string, (one: any) => number][]) {
      const { items } = await many.pages(`${TRACES}?limit=500&sort=${sort}`);
      expect(new Set(items.map(({ trace_id }) => trace_id)).size).toBe(COUNT);
      const values = items.map(value);
      expect(values).toEqual(values.toSorted((one, other) => one - other));
    }
  });

  it('responds in time with a cursor to continue while a filter finds nothing', async () => {
    const hurried = await app.another({ REQUEST_TIMEOUT_MS: '4000' });
    const slow = await ReadingWorkspace.open(app);
    // enough spans that a page reads the traces one by one
    await app.database.query(
      `INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models)
       SELECT $1, md5($1 || n), now(), now(), 1000000, 0, '{}' FROM generate_series(1, ${ALL}) n`,
      [slow.id],
    );
    try {
      const viewer = hurried.api(await slow.organization.token('viewer')).in(slow.id);
      for (const sort of ['started_at', 'duration_ms']) {
        const { status, body } = await viewer.get(`${TRACES}?attribute=k:v&sort=${sort}`);
        expect([sort, status, body.items, typeof body.page?.next_cursor]).toEqual([sort, 200, [], 'string']);
      }
    } finally {
      await hurried.close();
    }
  });

  it.each(['score=good:gte:0', 'sort=score:good'])(
    'reads %s of a rare source from one index',
    async (query) => {
      const made: Plan[] = [];
      await watchStatements(
        app.database,
        async (run, text, values) => {
          if (/\bFROM scores s\b/.test(text))
            made.push(await planOf({ query: run, manager: app.database.manager }, text, values));
        },
        () => listed(`${query}&score_source=human`),
      );
      const scans = made.flatMap(nodesOf).filter((node) => node['Index Name'] === 'scores_name_by_score');
      expect(scans.map((node) => node['Index Cond'])).toContainEqual(expect.stringContaining('source'));
    },
  );

  it.each([
    ['-duration_ms', 'traces_by_duration'],
    ['cost_usd', 'traces_by_cost'],
  ])('reads a page by %s from its index, without sorting all traces', async (sort, index) => {
    const made: Plan[] = [];
    await watchStatements(
      app.database,
      async (query, text, values) => {
        if (/\bFROM traces\b/.test(text))
          made.push(await planOf({ query, manager: app.database.manager }, text, values));
      },
      () => listed(`sort=${sort}&limit=50&min_duration_ms=1`, large),
    );
    const nodes = made.flatMap(nodesOf);
    expect(nodes.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([]);
    expect(nodes.map((node) => node['Index Name'])).toContain(index);
  });
});
