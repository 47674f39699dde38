import { ownApp, SPAN_START, type TestSpan } from '#testing';
import { nodesOf, type Plan, planOf } from '../evaluation/plans.harness';
import { cost } from '../evaluation/trace-stats.fixture';
import { watchStatements } from '../evaluation/work.harness';
import { evaluation, EVALUATION_FORMS } from './evaluation-events.fixture';
import { TRACES } from './otlp.harness';
import { MINUTE, MS, ReadingWorkspace } from './reading.fixture';

const LOGS = EVALUATION_FORMS['log records in JSON']!;

describe('the list of traces', () => {
  const app = ownApp({ autovacuum: false });
  let space: ReadingWorkspace;

  beforeEach(async () => {
    space = await ReadingWorkspace.open(app);
  });

  const at = (minute: number, ms: number, more: Partial<TestSpan>): Partial<TestSpan> => {
    const start = SPAN_START + BigInt(minute) * MINUTE;
    return { start, end: start + BigInt(ms) * MS, ...more };
  };
  let times = 0n;
  /** Records scores, each as [trace, scorer, value]. */
  const score = async (...scores: [traceId: string, scorer: string, value: number][]): Promise<void> => {
    const sent = scores.map(([traceId, scorer, value]) => ({
      traceId,
      time: ++times,
      attributes: evaluation(scorer, value),
    }));
    const { status } = await space.exporter.send(LOGS.body(sent), { media: LOGS.media, path: LOGS.path });
    expect(status).toBe(200);
  };
  /** Returns the names on all pages of this size. */
  const paged = async (query: string, limit: number): Promise<string[]> => {
    const { items } = await space.pages(`${TRACES}?limit=${limit}&${query}`);
    return items.map(({ root_name }) => root_name);
  };
  /** Returns the names, which must be the same on one page and on many. */
  const names = async (query: string): Promise<string[]> => {
    const whole = await space.names(`?${query}`);
    expect([query, await paged(query, 1)]).toEqual([query, whole]);
    expect([query, await paged(query, 2)]).toEqual([query, whole]);
    if (whole.length > 0) expect(await space.names(`?${query}&offset=1`)).toEqual(whole.slice(1));
    return whole;
  };

  describe('sorted by duration and cost', () => {
    beforeEach(async () => {
      await space.send([
        at(1, 30, { name: 'a', attributes: cost(0.5) }),
        at(2, 10, { name: 'b', attributes: cost(2), isError: true }),
        at(3, 20, { name: 'c', attributes: cost(0.5) }),
        at(4, 40, { name: 'd' }),
        at(5, 0, { name: 'e', attributes: cost(0) }),
        at(6, 5, {
          name: 'f',
          attributes: { 'gen_ai.request.model': 'own', 'gen_ai.usage.input_tokens': 3 },
        }),
      ]);
    });

    it('puts the longest first, or the shortest', async () => {
      expect(await names('sort=-duration_ms')).toEqual(['d', 'a', 'c', 'b', 'f', 'e']);
      expect(await names('sort=duration_ms')).toEqual(['e', 'f', 'b', 'c', 'a', 'd']);
    });

    it('puts traces without a cost last in both directions, each once', async () => {
      const down = await names('sort=-cost_usd');
      expect([down[0], down.slice(1, 3).sort(), down[3], down.slice(4).sort()]).toEqual([
        'b', ['a', 'c'], 'e', ['d', 'f'],
      ]); // prettier-ignore
      const up = await names('sort=cost_usd');
      expect([up[0], up.slice(1, 3).sort(), up[3], up.slice(4).sort()]).toEqual([
        'e', ['a', 'c'], 'b', ['d', 'f'],
      ]); // prettier-ignore
    });

    it('filters like other lists', async () => {
      expect(await names('sort=-duration_ms&status=ok&min_duration_ms=10')).toEqual(['d', 'a', 'c']);
      expect(await names('sort=-duration_ms&status=error')).toEqual(['b']);
      expect(await names('sort=-cost_usd&since=2026-11-20T00:02:00Z&until=2026-11-20T00:05:00Z')).toEqual([
        'b', 'c', 'd',
      ]); // prettier-ignore
      expect(await names('sort=-cost_usd&model=own')).toEqual(['f']);
      expect(await names('sort=-duration_ms&q=b')).toEqual(['b']);
      expect(await names('sort=-cost_usd&root_name=none')).toEqual([]);
    });

    it('follows spans that arrive late', async () => {
      const [traceId] = await space.send([at(7, 1, { name: 'late', attributes: cost(1) })]);
      await space.send([
        at(7, 90, { traceId, parentSpanId: '00f067aa0ba902b7', name: 'more', attributes: cost(5) }),
      ]);
      expect((await space.names('?sort=-duration_ms'))[0]).toBe('late');
      expect((await space.names('?sort=-cost_usd'))[0]).toBe('late');
      const { items } = await space.list('?sort=-cost_usd&limit=1');
      expect(items[0]).toMatchObject({ cost_usd: 6, duration_ms: 90 });
    });

    it('counts all traces, and rejects an unknown sort and the cursor of another sort', async () => {
      const { page } = await space.list('?sort=-cost_usd&limit=2');
      expect(page.total).toBe(6);
      expect((await space.list('?sort=cost_usd&limit=0')).page.total).toBe(6);
      for (const sort of ['span_count', '-tokens', 'score:', '--cost_usd']) {
        const { status, body } = await space.viewer.get(`${TRACES}?sort=${sort}`);
        expect([sort, status, body.code]).toEqual([sort, 422, 'validation_failed']);
      }
      for (const sort of ['cost_usd', '-duration_ms', '-started_at', '-score:x']) {
        const { status } = await space.viewer.get(`${TRACES}?sort=${sort}&cursor=${page.next_cursor}`);
        expect([sort, status]).toEqual([sort, 400]);
      }
    });
  });

  describe('with scores', () => {
    let ids: Record<string, string>;

    beforeEach(async () => {
      const traceNames = ['a', 'b', 'c', 'd'];
      const sent = await space.send(traceNames.map((name, n) => at(n, n, { name, attributes: cost(n) })));
      ids = Object.fromEntries(traceNames.map((name, n) => [name, sent[n]!]));
      await score(
        [ids.a!, 'good', 0.2],
        [ids.b!, 'good', 0.9],
        [ids.c!, 'good', 0.5],
        [ids.c!, 'good', 0.95],
        [ids.a!, 'a:b', -1],
        [ids.b!, 'a:b', 1e-3],
      );
    });

    it('returns the current scores of each trace, newest first', async () => {
      const { items } = await space.list();
      const rows = items.map(({ root_name, scores }) => [
        root_name,
        scores.map((one: any) => [one.scorer_name, one.score]).sort(),
      ]);
      expect(rows).toEqual([
        ['d', []],
        ['c', [['good', 0.5], ['good', 0.95]]],
        ['b', [['a:b', 0.001], ['good', 0.9]]],
        ['a', [['a:b', -1], ['good', 0.2]]],
      ]); // prettier-ignore
      expect(items[1].scores[0]).toEqual({
        scorer_name: 'good',
        scorer_id: null,
        scorer_version: null,
        source: 'end_user',
        score: expect.any(Number),
        label: null,
        author: null,
        target_kind: 'trace',
        experiment_id: null,
        result_id: null,
        score_id: expect.stringMatching(/^score_/),
        created_at: expect.any(String),
      });
      const { body } = await space.viewer.get(`${TRACES}/${ids.a}`);
      expect(body.scores).toHaveLength(2);
    });

    it('returns at most the newest 100 scores of a trace', async () => {
      await score(...Array.from({ length: 120 }, (_, n): [string, string, number] => [ids.d!, `s${n}`, n]));
      const { items } = await space.list();
      expect(items[0].scores).toHaveLength(100);
    });

    it.each([
      ['score=good:gte:0.9', ['c', 'b']],
      ['score=good:lte:0.5', ['c', 'a']],
      ['score=good:eq:0.95', ['c']],
      ['score=a:b:gte:-1', ['b', 'a']],
      ['score=a:b:lte:1e-3&score=good:gte:0.9', ['b']],
      ['score=good:gte:0.5&score=good:lte:0.6', ['c']],
      ['score=good:gte:2', []],
      ['score=nobody:gte:0', []],
      ['score=good:gte:0&root_name=a', ['a']],
      ['score=good:gte:0&score_source=hosted', []],
      ['score=good:gte:0&until=2026-11-20T00:01:00Z', ['a']],
      ['score=good:gte:0&sort=started_at', ['a', 'b', 'c']],
      ['score=good:gte:0&sort=-cost_usd', ['c', 'b', 'a']],
      ['score=good:gte:0&sort=duration_ms&q=b', ['b']],
    ])('finds the traces with %s', async (query, expected) => {
      expect(await names(query)).toEqual(expected);
    });

    it.each([
      ['sort=-score:good', ['c', 'b', 'a']],
      ['sort=score:good', ['a', 'c', 'b']],
      ['sort=score:a:b', ['a', 'b']],
      ['sort=-score:a:b', ['b', 'a']],
      ['sort=-score:nobody', []],
      ['sort=score:good&score_source=hosted', []],
      ['sort=score:good&score_source=end_user', ['a', 'c', 'b']],
      ['sort=score:good&score=good:gte:0.4', ['c', 'b']],
      ['sort=score:good&score=a:b:lte:0', ['a']],
      ['sort=-score:good&root_name=d', []],
      ['sort=score:good&since=2026-11-20T00:01:00Z', ['c', 'b']],
      ['sort=score:good&q=c', ['c']],
    ])('sorts by a score, and omits traces without it: %s', async (query, expected) => {
      expect(await names(query)).toEqual(expected);
    });

    it.each([
      ['good', 400, 'invalid_query'],
      ['good:0.5', 400, 'invalid_query'],
      [':gte:0.5', 400, 'invalid_query'],
      ['good:gte:', 400, 'invalid_query'],
      ['good:gte:NaN', 400, 'invalid_query'],
      ['good:gte:1e999', 400, 'invalid_query'],
      [`${'s'.repeat(256)}:gte:1`, 400, 'invalid_query'],
      ['good:gt:0.5', 422, 'validation_failed'],
    ])('rejects the score filter %j', async (text, status, code) => {
      const { body } = await space.viewer.get(`${TRACES}?score=${encodeURIComponent(text)}`);
      expect([body.status, body.code]).toEqual([status, code]);
    });

    it('rejects score_source without a score filter or sort', async () => {
      for (const query of ['', '&sort=-cost_usd']) {
        const { body } = await space.viewer.get(`${TRACES}?score_source=hosted${query}`);
        expect([body.status, body.code, body.errors[0].parameter]).toEqual([
          400,
          'invalid_query',
          'score_source',
        ]);
      }
    });

    it('keeps the scores of other workspaces apart', async () => {
      const other = await ReadingWorkspace.open(app);
      await other.send([{ traceId: ids.a!, name: 'theirs' }]);
      const list = async (query: string) =>
        (await other.list(query)).items.map((one) => [one.root_name, one.scores]);
      expect(await list('?sort=-score:good')).toEqual([]);
      expect(await list('?')).toEqual([['theirs', []]]);
      expect(await list('?score=good:gte:0')).toEqual([]);
    });
  });

  describe('among many traces', () => {
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
          expect([sort, status, body.items, typeof body.page?.next_cursor]).toEqual([
            sort,
            200,
            [],
            'string',
          ]);
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
});
