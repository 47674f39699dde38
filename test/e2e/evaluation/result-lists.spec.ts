import { type Answer, sharedApp, newTraceId } from '#testing';
import { EvaluationWorkspace, outcome, type Page, places, type Result } from './evaluation.harness';
import { EXPERIMENTS } from './comparison.fixture';
import { HumanScoresFixture, STARS } from './human-scores.fixture';

describe('result lists', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;
  let results: string;
  let experimentId: string;
  const traceId = newTraceId();

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
    experimentId = (await space.experiment()).experiment_id;
    results = `/eval/v1/experiments/${experimentId}/results`;
    const items = [
      { case_id: 'a', scores: { exact: 0, 'x:y': 0.5 }, tags: ['t', 'u'], duration_ms: 20 },
      { case_id: 'b', scores: { exact: 1 }, error: 'no', trace_id: traceId, duration_ms: 3 },
      { case_id: 'c', scores: { exact: null }, tags: ['t'] },
      { case_id: 'd', scores: { exact: 0.5, 'x:y': -1e-7 }, error: { kind: 'x' } },
      { case_id: 'e', scores: { exact: true }, duration_ms: 20, tags: ['u'] },
      { case_id: 'f', duration_ms: 0 },
    ];
    expect(await space.results(experimentId, items)).toEqual(items.map(() => 201));
    const definition = { rubric: 'Good?', output: { type: 'boolean' } };
    await space.post('/eval/v1/scorers', { name: 'registered', scorer_kind: 'human', definition });
    const { experiment_id: other } = await space.experiment();
    await space.result(other, { scores: { elsewhere: 1 } });
  });

  const cases = async (query: string, path = results): Promise<string> =>
    (await space.list<Result>(`${path}?${query}`)).map((one) => one.case_id).join('');
  const paged = async (query: string, limit: number): Promise<string> => {
    let seen = '';
    for (let cursor: string | null = ''; cursor !== null;) {
      const at: string = cursor && `&cursor=${cursor}`;
      const { body }: Answer<Page<Result>> = await space.viewer.get(
        `${results}?${query}&limit=${limit}${at}`,
      );
      seen += body.items.map((one) => one.case_id).join('');
      cursor = body.page.next_cursor;
    }
    return seen;
  };
  const q = encodeURIComponent;

  it.each([
    [`trace_id=${traceId}`, 'b'],
    ['trace_id=unknown', ''],
    ['has_error=true', 'db'],
    ['has_error=false', 'feca'],
    ['tag=t', 'ca'],
    ['tag=t&tag_unused=', null],
    ['tag=t&has_error=true', ''],
    ['score=exact:gte:0.5', 'edb'],
    ['score=exact:lte:0.5', 'da'],
    ['score=exact:eq:1&sort=created_at', 'be'],
    ['score=exact:gte:0.1&score=exact:lte:0.9', 'd'],
    [`score=${q('x:y')}:lte:-1e-7`, 'd'],
    ['score=registered:gte:0', ''],
    ['score=elsewhere:gte:0', ''],
    ['score=exact:gte:0.5&has_error=true&sort=-updated_at', 'db'],
  ])('find exactly the matching results with ?%s', async (query, expected) => {
    if (expected === null) {
      expect(outcome(await space.viewer.get(`${results}?${query}`))).toEqual([400, 'invalid_query']);
      return;
    }
    expect(await cases(query)).toBe(expected);
    for (const limit of [1, 2, 3]) expect(await paged(query, limit)).toBe(expected);
    const { body } = await space.viewer.get<Page<Result>>(`${results}?${query}&limit=0`);
    expect(body.page.total).toBe(expected.length);
  });

  it.each([
    ['sort=duration_ms', 'fbaecd'],
    ['sort=-duration_ms', 'eabfdc'],
    ['sort=score:exact', 'adbecf'],
    ['sort=-score:exact', 'ebdafc'],
    [`sort=score:${q('x:y')}`, 'dabcef'],
    ['sort=-score:registered', 'fedcba'],
    ['sort=score:elsewhere', 'abcdef'],
    ['sort=score:exact&tag=t', 'ac'],
    ['sort=-duration_ms&has_error=true', 'bd'],
    ['sort=-score:exact&score=exact:gte:0', 'ebda'],
    [`sort=score:exact&score=${q('x:y')}:gte:-1`, 'ad'],
  ])(
    'lose no result on any page with ?%s, and have results without the value last',
    async (query, expected) => {
      expect(await cases(query)).toBe(expected);
      for (const limit of [1, 2, 3, 5]) expect([limit, await paged(query, limit)]).toEqual([limit, expected]);
      for (let offset = 0; offset <= expected.length; offset++) {
        const { body } = await space.viewer.get<Page<Result>>(`${results}?${query}&offset=${offset}&limit=2`);
        expect(body.items.map((one) => one.case_id).join('')).toBe(expected.slice(offset, offset + 2));
        expect(body.page.total).toBe(expected.length);
      }
    },
  );

  it.each([
    'score=exact',
    'score=exact:gte',
    'score=:gte:1',
    'score=exact:gte:x',
    'score=exact:gte:',
    'score=exact:gte:1e999',
    'score=exact:gte:NaN',
    'has_error=yes',
    'tag=',
  ])('return 400 for ?%s, so that a misspelt filter does not return everything', async (query) => {
    expect(outcome(await space.viewer.get(`${results}?${query}`))).toEqual([400, 'invalid_query']);
    expect(outcome(await space.viewer.get(`${results}/export?${query}`))).toEqual([400, 'invalid_query']);
  });

  it.each(['score=exact:gt:1', 'sort=score:', 'sort=score', 'sort=--duration_ms', 'sort=output'])(
    'are 422 with ?%s',
    async (query) => {
      expect(outcome(await space.viewer.get(`${results}?${query}`))).toEqual([422, 'validation_failed']);
    },
  );

  it('are 422 for a scorer name that nobody has, so that a misspelt one does not look like no failures', async () => {
    const asked = (path: string) => space.viewer.get(`${EXPERIMENTS}/${experimentId}/results${path}`);
    for (const path of ['?sort=score:exat', '?sort=-score:Exact', '?score=exat:gte:1', '/export?score=exat:gte:1', '/export?score=exat:lte:1&format=csv']) {
      const answer = await asked(path);
      expect([path, ...outcome(answer), answer.body.errors.length]).toEqual([path, 422, 'validation_failed', 1]);
      expect(answer.body.detail).toMatch(/`.xa/);
    }
    const both = await asked('?sort=score:exat&score=exact:gte:1&score=typo:gte:1');
    expect(places(both)).toEqual(['sort', 'score']);
    const searched = (scorer: string) => space.viewer.post(`${EXPERIMENTS}/search`, { workspace_id: space.id, score: { scorer, gte: 0 } });
    expect([...outcome(await searched('exat')), ...places(await searched('exat'))]).toEqual([422, 'validation_failed', '/score/scorer']);
    for (const known of ['exact', 'registered', 'elsewhere']) expect((await searched(known)).status).toBe(200);
    // a name is one of the workspace
    const stranger = await EvaluationWorkspace.open(app);
    const { experiment_id } = await stranger.experiment();
    const foreign = await stranger.viewer.get(`${EXPERIMENTS}/${experiment_id}/results?sort=score:exact`);
    expect(outcome(foreign)).toEqual([422, 'validation_failed']);
  }); // oxfmt-ignore

  it('reject a cursor of another sort', async () => {
    const cursorOf = async (query: string) =>
      (await space.viewer.get<Page<Result>>(`${results}?${query}&limit=1`)).body.page.next_cursor!;
    for (const [made, used] of [
      ['sort=score:exact', 'sort=score:other'],
      ['sort=duration_ms', 'sort=-duration_ms'],
      ['sort=duration_ms', 'sort=created_at'],
      ['sort=created_at', 'sort=score:exact'],
    ] as const) {
      const answer = await space.viewer.get(`${results}?${used}&cursor=${await cursorOf(made)}`);
      expect([made, used, ...outcome(answer)]).toEqual([made, used, 400, 'invalid_query']);
    }
  });

  it('find a result of a finalized experiment by the score that people gave later, which it shows', async () => {
    const on = await HumanScoresFixture.open(app);
    const scorer = await on.scorer(STARS, { name: 'stars' });
    const result = await on.newResult();
    await on.score(scorer, { result_id: result.result_id, score: 1 });
    await on.space.finalize(result.experiment_id);
    await on.score(scorer, { result_id: result.result_id, score: 5 });
    const path = `/eval/v1/experiments/${result.experiment_id}/results`;
    const matches = async (query: string) => (await on.space.list<Result>(`${path}?${query}`)).length;
    expect((await on.result(result)).scores).toEqual({ stars: 5 });
    expect([await matches('score=stars:eq:1'), await matches('score=stars:eq:5')]).toEqual([0, 1]);
    expect(await matches('sort=score:stars')).toBe(1);
  });

  describe('as an export', () => {
    const exported = (query = '', path = results) => space.viewer.get<string>(`${path}/export?${query}`);

    it('have every member as JSON Lines, oldest first', async () => {
      const answer = await exported();
      expect([answer.status, answer.headers.get('content-type')]).toEqual([
        200,
        'application/jsonl; charset=utf-8',
      ]);
      const lines = answer.body.trimEnd().split('\n');
      expect(lines.map((line) => JSON.parse(line) as Result)).toEqual(
        await space.list<Result>(`${results}?sort=created_at`),
      );
    });

    it.each([
      ['has_error=true', 'bd'],
      ['tag=t', 'ac'],
      [`trace_id=${traceId}`, 'b'],
      ['score=exact:gte:0.5', 'bde'],
      ['case_id=e', 'e'],
      ['score=registered:gte:0', ''],
    ])('have only the matching results with ?%s', async (query, expected) => {
      const answer = await exported(query);
      const lines = answer.body.split('\n').filter(Boolean);
      expect(lines.map((line) => (JSON.parse(line) as Result).case_id).join('')).toBe(expected);
    });

    it('lose nothing as CSV, and have no cell that runs as a formula', async () => {
      const { experiment_id } = await space.experiment();
      const path = `/eval/v1/experiments/${experiment_id}/results`;
      await space.result(experiment_id, {
        ...{ case_id: '=1+1', input: 'a "b",\nc', expected: null, output: { z: 1, a: [] }, tags: ['x,y'] },
        ...{ scores: { s: 0.5 }, session_id: 'plain', duration_ms: 1.5 },
      });
      const answer = await exported('format=csv', path);
      expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
      const [head, line] = answer.body.split('\r\n');
      const cells = [...line!.matchAll(/"((?:[^"]|"")*)"|([^,]+)|(?<=,)(?=,|$)/g)].map(
        ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '',
      );
      const row = Object.fromEntries(head!.split(',').map((name, index) => [name, cells[index]]));
      expect(row).toMatchObject({
        ...{ case_id: "'=1+1", input: '"a \\"b\\",\\nc"', expected: 'null', output: '{"z":1,"a":[]}' },
        ...{ tags: '["x,y"]', session_id: 'plain', trace_id: '', duration_ms: '1.5', error: 'null' },
      });
      expect(JSON.parse(row.scores!)).toEqual({ s: 0.5 });
    });

    it('span many batches, and are limited to the workspace', async () => {
      const { experiment_id } = await space.experiment();
      for (let call = 0; call < 11; call++) {
        const items = Array.from({ length: 100 }, (_, n) => ({
          case_id: `${call} ${n}`,
          output: 'x'.repeat(3_000),
        }));
        await space.results(experiment_id, items);
      }
      const path = `/eval/v1/experiments/${experiment_id}/results`;
      const answer = await exported('', path);
      const ids = answer.body
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as Result).case_id);
      expect(new Set(ids).size).toBe(1_100);
      expect(ids[0]).toBe('0 0');
      const stranger = await EvaluationWorkspace.open(app);
      expect(outcome(await stranger.viewer.get(`${path}/export`))).toEqual([404, 'not_found']);
      expect(outcome(await space.viewer.get(`${path}/export?format=xml`))).toEqual([
        422,
        'validation_failed',
      ]);
      expect(outcome(await space.viewer.get(`${path}/export?sort=created_at`))).toEqual([
        400,
        'invalid_query',
      ]);
    });
  });
});
