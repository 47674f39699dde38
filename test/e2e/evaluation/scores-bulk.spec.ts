import { type ApiClient, newTraceId, sharedApp } from '#testing';
import { BOOLEAN, HumanScoresFixture, SCORES, type Scorer } from './human-scores.fixture';

type Fields = Record<string, unknown>;

const BULK = `${SCORES}/bulk`;

/** The members of a score that its place in a sequence decides. */
const SHOWN = [
  'scorer_id', 'scorer_name', 'scorer_version', 'source', 'target_kind', 'trace_id', 'session_id', 'result_id', 'score',
  'label', 'comment', 'metadata', 'author',
]; // oxfmt-ignore

describe('POST /eval/v1/scores/bulk', () => {
  const app = sharedApp();
  let on: HumanScoresFixture;
  let scorer: Scorer;
  let caller: ApiClient;

  beforeAll(async () => {
    on = await HumanScoresFixture.open(app);
    scorer = await on.scorer(BOOLEAN);
    caller = on.ann.api;
  });

  const bulk = async (items: unknown[], by = caller): Promise<any[]> => {
    const { status, body } = await by.post(BULK, { items });
    if (status !== 207) throw new Error(JSON.stringify(body));
    expect(body.items.map(({ index }: any) => index)).toEqual(items.map((_, index) => index));
    return body.items;
  };

  /** Returns what is stored about targets, oldest first, with places instead of the ids of scores. */
  const stored = async (queries: string[], by = caller): Promise<unknown[]> => {
    const all: any[] = [];
    for (const query of queries) {
      const { body } = await by.get(`${SCORES}?include_superseded=true&limit=500&${query}`);
      all.push(...body.items);
    }
    const sorted = all.sort((one, other) => (one.score_id < other.score_id ? -1 : 1));
    const placeOf = (id: string | null) =>
      id === null ? null : sorted.findIndex(({ score_id }) => score_id === id);
    return sorted.map((one) => [
      ...SHOWN.map((name) => one[name]),
      placeOf(one.supersedes_score_id),
      placeOf(one.superseded_by_score_id),
      one.superseded_at === null,
    ]);
  };

  it('records what single requests record, also of scores that supersede each other', async () => {
    const plain = await on.space.post<any>('/eval/v1/scorers', {
      name: 'thumbs',
      scorer_kind: 'code',
      definition: { language: 'javascript', source: 'function score() { return 1; }' },
    });
    const sequences = [];
    for (const isBulk of [false, true]) {
      const [trace_id, other] = [await on.exportTrace('talk'), await on.exportTrace()];
      const result = await on.newResult({ scores: { thumbs: 0, rated: 0 }, trace_id, session_id: 'talk' });
      const judged = await on.newResult();
      const { result_id } = result;
      // a hosted score takes precedence over clients' scores of its name
      await on.post({ scorer_name: 'rated', result_id: judged.result_id, score: 0.5 });
      await app.database.query(`UPDATE scores SET source = 'hosted' WHERE result_id = $1`, [
        judged.result_id,
      ]);
      const human = { scorer_id: scorer.scorer_id };
      await on.post({ ...human, trace_id, score: false });
      await on.post({ scorer_name: 'said', trace_id, score: 1, author: 'ada', source: 'end_user' });
      const items: Fields[] = [
        { ...human, trace_id, score: true },
        { ...human, trace_id: other, score: true, metadata: { a: [1], 'zero\0': '\0' } },
        { ...human, trace_id, score: false, comment: 'no' },
        { ...human, trace_id, score: true, author: 'ada' },
        { ...human, result_id, score: true },
        { scorer_name: 'thumbs', result_id, score: 1 },
        { scorer_name: 'thumbs', result_id, score: 2, author: 'ada' },
        { scorer_id: plain.body.scorer_id, result_id, score: 3 },
        { scorer_name: 'rated', result_id, score: 4 },
        { scorer_name: 'rated', result_id: judged.result_id, score: 1 },
        { scorer_name: 'rated', result_id: judged.result_id, score: 2 },
        { scorer_name: 'said', trace_id, score: true, source: 'end_user' },
        { scorer_name: 'said', trace_id, score: true, source: 'end_user' },
        { scorer_name: 'said', trace_id, comment: 'well', author: 'ada', source: 'end_user' },
        { scorer_name: 'said', trace_id, comment: 'very well', author: 'ada', source: 'end_user' },
        { scorer_name: 'said', session_id: 'talk', label: 'yes' },
      ];
      if (isBulk) {
        expect((await bulk(items)).map(({ status_code }) => status_code)).toEqual(items.map(() => 201));
      } else for (const item of items) expect([item, (await on.post(item)).status]).toEqual([item, 201]);
      const names = {
        [trace_id]: 'trace',
        [other]: 'other',
        [result_id]: 'result',
        [judged.result_id]: 'judged',
      };
      const queries = [`trace_id=${trace_id}`, `trace_id=${other}`, `result_id=${judged.result_id}`];
      const text = JSON.stringify(await stored(queries));
      const shown = await on.result(result);
      sequences.push([
        Object.entries(names).reduce((rest, [id, name]) => rest.replaceAll(id, name), text),
        shown.scores,
        (await on.result(judged)).scores,
      ]);
      await on.space.editor.delete(
        `/eval/v1/experiments/${result.experiment_id}/results/${result_id}?force=true`,
      );
      await app.database.query(`DELETE FROM scores WHERE workspace_id = $1`, [on.space.id]);
    }
    expect(sequences[1]).toEqual(sequences[0]);
  });

  it('rejects the items that are faulty, and only those', async () => {
    const foreign = await HumanScoresFixture.open(app);
    const theirs = await foreign.newResult({ session_id: 'theirs' });
    const trace_id = await on.exportTrace();
    const good = { scorer_id: scorer.scorer_id, trace_id, score: true };
    const faulty: [unknown, number, string][] = [
      [7, 400, '/items/0'],
      [{}, 400, '/items/1'],
      [{ ...good, trace_id: 'x' }, 400, '/items/2/trace_id'],
      [{ ...good, trace_id: undefined, session_id: 'theirs' }, 404, '/items/3/session_id'],
      [{ ...good, trace_id: undefined, result_id: theirs.result_id }, 404, '/items/4/result_id'],
      [{ ...good, scorer_id: 'scr_x' }, 404, '/items/5/scorer_id'],
      [{ ...good, score: 2 }, 400, '/items/6/score'],
      [{ ...good, source: 'nobody' }, 422, '/items/7/source'],
      [{ ...good, workspace_id: foreign.space.id }, 400, '/items/8/workspace_id'],
      [{ ...good, scores: 1 }, 400, '/items/9/scores'],
      [{ ...good, scorer_version: 9 }, 404, '/items/10/scorer_version'],
      [{ ...good, metadata: { text: 'x'.repeat(17_000) } }, 400, '/items/11/metadata'],
    ];
    const items = await bulk([...faulty.map(([item]) => item), { ...good, workspace_id: on.space.id }]);
    expect(items.map((one) => [one.status_code, one.error?.errors?.[0]?.pointer])).toEqual([
      ...faulty.map(([, status, pointer]) => [status, pointer]),
      [201, undefined],
    ]);
    expect(await on.listIds(`trace_id=${trace_id}`)).toEqual([items.at(-1).score.score_id]);
  });

  it('records only feedback of end users for the role runtime', async () => {
    const trace_id = await on.exportTrace();
    const runtime = await on.space.organization.as('runtime');
    const items = await bulk(
      [
        { scorer_name: 'thumbs', trace_id, score: true },
        { scorer_name: 'thumbs', trace_id, score: true, source: 'client' },
      ],
      runtime,
    );
    expect(items.map((one) => [one.status_code, one.score?.source ?? one.error.code])).toEqual([
      [201, 'end_user'],
      [403, 'access_denied'],
    ]);
  });

  it.each([
    ['0 scores', { items: [] }],
    ['101 scores', { items: Array.from({ length: 101 }, () => ({})) }],
    ['no list', { items: {} }],
    ['no items', {}],
    ['another workspace', { workspace_id: 'wsp_x', items: [{}] }],
  ])('rejects %s as a whole', async (_, body) => {
    const answer = await caller.post(BULK, body);
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request']);
  });

  it('records once what is repeated with an Idempotency-Key', async () => {
    const trace_id = await on.exportTrace();
    const body = { items: [{ scorer_id: scorer.scorer_id, trace_id, score: true }] };
    const headers = { 'idempotency-key': newTraceId() };
    const [first, second] = [
      await caller.request('POST', BULK, { body, headers }),
      await caller.request('POST', BULK, { body, headers }),
    ];
    expect([first.status, second.status, second.headers.get('idempotency-replayed')]).toEqual([
      207,
      207,
      'true',
    ]);
    expect(second.body).toEqual(first.body);
    expect(await on.listIds(`trace_id=${trace_id}&include_superseded=true`)).toHaveLength(1);
  });
});
