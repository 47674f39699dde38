import { sharedApp, SPAN_START, type TestSpan } from '#testing';
import { cost } from '../evaluation/trace-stats.fixture';
import { evaluation, EVALUATION_FORMS } from './evaluation-events.fixture';
import { TRACES } from './otlp.harness';
import { MINUTE, MS, ReadingWorkspace } from './reading.fixture';

const LOGS = EVALUATION_FORMS['log records in JSON']!;

describe('the list of traces', () => {
  const app = sharedApp();
  let space: ReadingWorkspace;

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
    beforeAll(async () => {
      space = await ReadingWorkspace.open(app);
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
      ]); // oxfmt-ignore
      const up = await names('sort=cost_usd');
      expect([up[0], up.slice(1, 3).sort(), up[3], up.slice(4).sort()]).toEqual([
        'e', ['a', 'c'], 'b', ['d', 'f'],
      ]); // oxfmt-ignore
    });

    it('filters like other lists', async () => {
      expect(await names('sort=-duration_ms&status=ok&min_duration_ms=10')).toEqual(['d', 'a', 'c']);
      expect(await names('sort=-duration_ms&status=error')).toEqual(['b']);
      expect(await names('sort=-cost_usd&since=2026-11-20T00:02:00Z&until=2026-11-20T00:05:00Z')).toEqual([
        'b', 'c', 'd',
      ]); // oxfmt-ignore
      expect(await names('sort=-cost_usd&model=own')).toEqual(['f']);
      expect(await names('sort=-duration_ms&q=b')).toEqual(['b']);
      expect(await names('sort=-cost_usd&root_name=none')).toEqual([]);
    });

    it('follows spans that arrive late', async () => {
      const late = await ReadingWorkspace.open(app);
      await late.send([at(4, 40, { name: 'd', attributes: cost(2) })]);
      const [traceId] = await late.send([at(7, 1, { name: 'late', attributes: cost(1) })]);
      await late.send([
        at(7, 90, { traceId, parentSpanId: '00f067aa0ba902b7', name: 'more', attributes: cost(5) }),
      ]);
      expect((await late.names('?sort=-duration_ms'))[0]).toBe('late');
      expect((await late.names('?sort=-cost_usd'))[0]).toBe('late');
      const { items } = await late.list('?sort=-cost_usd&limit=1');
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

    beforeAll(async () => {
      space = await ReadingWorkspace.open(app);
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
      ]); // oxfmt-ignore
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

    it.each(['sort=-score:nobody', 'score=nobody:gte:0', 'score=good:gte:0&score=Good:gte:0'])(
      'rejects a scorer name that nobody has, instead of finding no trace: %s',
      async (query) => {
        const { body } = await space.viewer.get(`${TRACES}?${query}`);
        expect([body.status, body.code]).toEqual([422, 'validation_failed']);
      },
    );

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
      const { items } = await other.list();
      expect(items.map((one) => [one.root_name, one.scores])).toEqual([['theirs', []]]);
      for (const query of ['sort=-score:good', 'score=good:gte:0']) {
        expect((await other.viewer.get(`${TRACES}?${query}`)).body.status).toBe(422);
      }
    });
  });
});
