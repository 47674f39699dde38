import { sharedApp } from '#testing';
import {
  type BulkResponse,
  EvaluationWorkspace,
  type Experiment,
  outcome,
  places,
  type Result,
  statuses,
} from './evaluation.harness';

describe('scores in a result', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;
  let experimentId: string;
  let results: string;
  let cases = 0;

  beforeEach(async () => {
    space = await EvaluationWorkspace.open(app);
    experimentId = (await space.experiment()).experiment_id;
    results = `/eval/v1/experiments/${experimentId}/results`;
  });

  const create = (scores: unknown) => space.post<Result>(results, { case_id: `case ${++cases}`, scores });
  const scored = async (scores: unknown): Promise<Result> => {
    const answer = await create(scores);
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    const read = await space.viewer.get<Result>(`${results}/${answer.body.result_id}`);
    expect(read.body).toEqual(answer.body);
    return read.body;
  };
  const commentOf = async (score: object): Promise<unknown> =>
    ((await scored({ s: { score: 1, ...score } })).score_details as { s?: { comment?: unknown } }).s?.comment;

  it('are accepted as number, boolean, null or object, and returned as numbers with details', async () => {
    const metadata = { model: 'm', steps: [1] };
    const { scores, score_details } = await scored({
      number: -0.25,
      large: 1.7976931348623157e308,
      right: true,
      wrong: false,
      unknown: null,
      object: { score: 0.5 },
      boolean: { score: true },
      none: { score: null, comment: 'no answer' },
      full: { score: 2, metadata, comment: 'because', label: 'good' },
      nulls: { score: 3, metadata: null, comment: null, label: null, scorer_id: null, scorer_version: null },
    });
    expect(scores).toEqual({
      ...{ number: -0.25, large: 1.7976931348623157e308, right: 1, wrong: 0, unknown: null },
      ...{ object: 0.5, boolean: 1, none: null, full: 2, nulls: 3 },
    });
    expect(score_details).toEqual({
      none: { comment: 'no answer' },
      full: { metadata, comment: 'because', label: 'good' },
    });
  });

  it('can have any name, including __proto__', async () => {
    const names = ['__proto__', 'constructor', '10', '9', ' ', '😀', 'n'.repeat(255)];
    const text = names.map((name) => `${JSON.stringify(name)}:{"score":1,"label":"l"}`).join();
    const answer = await space.editor.post<Result>(
      results,
      `{"workspace_id":"${space.id}","case_id":"names","scores":{${text}}}`,
    );
    expect(answer.status).toBe(201);
    expect(Object.keys(answer.body.scores).sort()).toEqual([...names].sort());
    const { body } = await space.viewer.get<Result>(`${results}/${answer.body.result_id}`);
    expect(body).toEqual(answer.body);
    const { summary } = await space.finalize(experimentId);
    expect(Object.keys(summary!.scores!).sort()).toEqual([...names].sort());
    expect(Object.entries(summary!.scores!)[0]![1]).toEqual({ mean: 1, count: 1 });
  });

  it.each<[string, unknown]>([
    ['text for a score', { s: '0.5' }],
    ['a list for a score', { s: [1] }],
    ['an object without a score', { s: { comment: 'x' } }],
    ['an object whose score is text', { s: { score: '1' } }],
    ['metadata that is not an object', { s: { score: 1, metadata: 'x' } }],
    ['a comment that is not text', { s: { score: 1, comment: 7 } }],
    ['a label that is not text', { s: { score: 1, label: {} } }],
    ['a label of 256 characters', { s: { score: 1, label: 'x'.repeat(256) } }],
    ['a scorer id that is not text', { s: { score: 1, scorer_id: 1 } }],
    ['a scorer version that is not an integer', { s: { score: 1, scorer_version: 1.5 } }],
    ['scorer version 0', { s: { score: 1, scorer_version: 0 } }],
    ['a scorer version that exceeds 32 bits', { s: { score: 1, scorer_version: 2_147_483_648 } }],
    ['an empty name', { '': 1 }],
    ['a name of 256 characters', { ['x'.repeat(256)]: 1 }],
    ['101 scores', Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`s${i}`, 1]))],
    ['a list instead of an object', [1]],
    ['a number instead of an object', 1],
  ])('are rejected with %s, alone and in bulk (400)', async (_, scores) => {
    const answer = await create(scores);
    expect([...outcome(answer), ...places(answer)]).toEqual([400, 'invalid_request', '/scores']);
    const items = [{ case_id: 'faulty', scores }, { case_id: 'good' }];
    expect(statuses(await space.post<BulkResponse>(`${results}/bulk`, { items }))).toEqual([400, 201]);
  });

  it('take their comment from the score, else from the metadata in a fixed order', async () => {
    const metadata = { reason: 'reason', reasoning: 'reasoning', rationale: 'rationale', comment: 'comment' };
    expect(await commentOf({ comment: 'own', metadata })).toBe('own');
    expect(await commentOf({ metadata })).toBe('comment');
    expect(await commentOf({ metadata: { ...metadata, comment: 5 } })).toBe('rationale');
    expect(await commentOf({ metadata: { reason: 'reason', reasoning: 'reasoning' } })).toBe('reasoning');
    expect(await commentOf({ metadata: { reason: 'reason' } })).toBe('reason');
    expect(await commentOf({ comment: null, metadata: { reason: 'reason' } })).toBe('reason');
    expect(await commentOf({ comment: '', metadata })).toBe('');
    expect(await commentOf({ metadata: { why: 'x' } })).toBeUndefined();
  });

  it('store 2,000 characters of a comment, and all metadata', async () => {
    expect(await commentOf({ comment: 'x'.repeat(2_000) })).toBe('x'.repeat(2_000));
    expect(await commentOf({ comment: 'x'.repeat(2_001) })).toBe('x'.repeat(2_000));
    expect(await commentOf({ metadata: { reasoning: 'x'.repeat(9_000) } })).toBe('x'.repeat(2_000));
    // characters, not UTF-16 code units: an emoji is one
    for (const text of [
      `${'x'.repeat(1_999)}😀😀`,
      '😀'.repeat(2_000),
      '😀'.repeat(2_001),
      `x${'😀'.repeat(2_000)}`,
    ]) {
      const expected = [...text].slice(0, 2_000).join('');
      expect(await commentOf({ comment: text })).toBe(expected);
      expect(await commentOf({ metadata: { rationale: text } })).toBe(expected);
    }
    const metadata = { reason: 'y'.repeat(5_000) };
    expect((await scored({ s: { score: 1, metadata } })).score_details).toMatchObject({ s: { metadata } });
  });

  describe('by a scorer', () => {
    const scorer = async (name: string, owner = space, versions = 1): Promise<string> => {
      const definition = { language: 'javascript', source: 'function score() { return 1; }' };
      const fields = { name, scorer_kind: 'code', definition };
      const { scorer_id } = (await owner.post<{ scorer_id: string }>('/eval/v1/scorers', fields)).body;
      for (let version = 2; version <= versions; version++) {
        const source = `function score() { return 1 / ${version}; }`;
        await owner.editor.patch(`/eval/v1/scorers/${scorer_id}`, { definition: { ...definition, source } });
      }
      return scorer_id;
    };

    it('name the scorer and its version in result and summary', async () => {
      const exact = await scorer('exact');
      const judge = await scorer('judge', space, 3);
      const { score_details } = await scored({
        exact: { score: 1, scorer_id: exact, scorer_version: 1 },
        judge: { score: 0.5, scorer_id: judge, scorer_version: 3 },
        own: { score: 1 },
        versionless: { score: 1, scorer_id: exact },
      });
      expect(score_details).toEqual({
        exact: { scorer_id: exact, scorer_version: 1 },
        judge: { scorer_id: judge, scorer_version: 3 },
        versionless: { scorer_id: exact },
      });
      await scored({ judge: { score: null, scorer_id: judge, scorer_version: 2 }, own: 0 });
      const { summary } = await space.finalize(experimentId);
      expect(summary!.scorers).toEqual({
        exact: { scorer_id: exact, scorer_version: 1 },
        judge: { scorer_id: judge, scorer_version: 2 },
      });
      expect(summary!.scores).toEqual({
        exact: { mean: 1, count: 1 },
        judge: { mean: 0.5, count: 1 },
        own: { mean: 0.5, count: 2 },
        versionless: { mean: 1, count: 1 },
      });
    });

    it('are rejected for a version that the scorer does not have (400)', async () => {
      const id = await scorer('judge', space, 2);
      const scoreIn = (scorer_version: number) => ({ score: 1, scorer_id: id, scorer_version });
      const answer = await create({ ok: scoreIn(2), typo: scoreIn(22) });
      expect([outcome(answer), places(answer)]).toEqual([[400, 'invalid_request'], ['/scores']]);
      expect((answer.body as unknown as { detail: string }).detail).toMatch(
        new RegExp(`typo .*22.*${id}.*2`),
      );
      const items = [
        { case_id: 'typo', scores: { s: scoreIn(3) } },
        { case_id: 'right', scores: { s: scoreIn(1) } },
        { case_id: 'own scorer', scores: { s: { score: 1, scorer_version: 77 } } },
      ];
      expect(await space.results(experimentId, items)).toEqual([400, 201, 201]);
    });

    it('are rejected for an unknown scorer or a scorer of another workspace, alone and in bulk (404)', async () => {
      const stranger = await EvaluationWorkspace.open(app);
      const foreign = await scorer('foreign', stranger);
      for (const id of ['scr_x', '', foreign, experimentId]) {
        const answer = await create({ s: { score: 1, scorer_id: id, scorer_version: 1 } });
        expect([id, ...outcome(answer), ...places(answer)]).toEqual([id, 404, 'not_found', '/scores']);
      }
      const items = [
        { case_id: 'unknown', scores: { s: { score: 1, scorer_id: 'scr_x' } } },
        { case_id: 'known', scores: { s: { score: 1, scorer_id: await scorer('known') } } },
      ];
      const answer = await space.post<BulkResponse>(`${results}/bulk`, { items });
      expect(statuses(answer)).toEqual([404, 201]);
      expect(answer.body.items[0]!.error!.errors![0]!.pointer).toBe('/items/0/scores');
      expect((await space.viewer.get<Experiment>(`/eval/v1/experiments/${experimentId}`)).status).toBe(200);
    });
  });
});
