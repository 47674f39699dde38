import { sharedApp, newTraceId } from '#testing';
import {
  type BulkResponse,
  type EvaluationWorkspace,
  outcome,
  places,
  type Result,
  statuses,
} from './evaluation.harness';
import { BOOLEAN, HumanScoresFixture, STARS } from './human-scores.fixture';
import { scoresOf } from './result-scores.fixture';

type Fields = Record<string, unknown>;

describe('the results of a running experiment', () => {
  const app = sharedApp();
  let on: HumanScoresFixture;
  let space: EvaluationWorkspace;
  let experimentId: string;
  let results: string;

  beforeEach(async () => {
    on = await HumanScoresFixture.open(app);
    space = on.space;
    experimentId = (await space.experiment()).experiment_id;
    results = `/eval/v1/experiments/${experimentId}/results`;
  });

  const create = (fields: Fields, headers?: Record<string, string>) =>
    space.post<Result>(results, { case_id: 'case', ...fields }, headers);
  const bulk = (items: Fields[], on_conflict?: unknown) =>
    space.post<BulkResponse>(`${results}/bulk`, { items, on_conflict });
  const patch = ({ result_id }: Result, fields: Fields, headers?: Record<string, string>) =>
    space.editor.patch<Result>(`${results}/${result_id}`, fields, headers);
  const read = async ({ result_id }: Result): Promise<Result> =>
    (await space.viewer.get<Result>(`${results}/${result_id}`)).body;
  const client = (scorer_name: string, score: number | null) => ({
    ...{ scorer_name, scorer_version: null, source: 'client', scorer_id: null, score, is_late: false },
  });

  describe('with on_conflict', () => {
    it('are replaced by the result of a retry with "replace", and nothing of the first one remains', async () => {
      const first = await create({
        ...{ input: 'i', expected: 'e', error: 'timeout', tags: ['flaky'], metadata: { try: 1 } },
        ...{
          scores: { exact: 0, old: { score: 1, comment: 'no' } },
          trace_id: newTraceId(),
          session_id: 's',
        },
        ...{ duration_ms: 1, trial_group: 'g', trial_index: 0 },
      });
      const again = await create({ output: 'yes', scores: { exact: 1 }, on_conflict: 'replace' });
      expect(again.status).toBe(200);
      expect(again.body).toEqual({
        ...first.body,
        ...{ input: null, expected: null, error: null, tags: [], metadata: {}, output: 'yes' },
        ...{ scores: { exact: 1 }, score_details: {}, trace_id: null, session_id: null, duration_ms: null },
        ...{ trial_group: null, trial_index: null, version: 2, updated_at: again.body.updated_at },
      });
      expect(again.body.updated_at >= first.body.updated_at).toBe(true);
      expect(await read(first.body)).toEqual(again.body);
      expect(await scoresOf(app, first.body.result_id)).toEqual([client('exact', 1)]);
      const many = await bulk([{ case_id: 'case', scores: { a: null } }, { case_id: 'new' }], 'replace');
      expect(statuses(many)).toEqual([200, 201]);
      expect(many.body.items.map(({ result }) => result!.version)).toEqual([3, 1]);
      expect(await scoresOf(app, first.body.result_id)).toEqual([client('a', null)]);
      const { summary } = await space.finalize(experimentId);
      expect(summary!.scores).toEqual({});
    });

    it('are kept and returned with "skip"', async () => {
      const first = await create({ output: 'first', input: 'i' });
      const again = await create({ output: 'second', on_conflict: 'skip' });
      expect([again.status, again.body]).toEqual([200, first.body]);
      const items = [{ case_id: 'case', output: 'third' }, { case_id: 'new' }];
      const many = await bulk(items, 'skip');
      expect(statuses(many)).toEqual([200, 201]);
      expect(many.body.items[0]!.result).toMatchObject({ result_id: first.body.result_id, output: 'first' });
      expect(await read(first.body)).toEqual(first.body);
      const etag = (await space.viewer.get(`${results}/${first.body.result_id}`)).headers.get('etag');
      expect(again.headers.get('etag')).toBe(etag);
    });

    it.each(['error', 'skip', 'replace'])(
      'contain only the first of two items of the same case with "%s"',
      async (how) => {
        const twice = [
          { case_id: 'twice', output: 1 },
          { case_id: 'twice', output: 2 },
        ];
        expect(statuses(await bulk(twice, how))).toEqual([201, 409]);
        expect(statuses(await bulk(twice, how))).toEqual([how === 'error' ? 409 : 200, 409]);
        expect((await space.list<Result>(results)).map(({ output }) => output)).toEqual([1]);
      },
    );

    it('return 422 for an unknown value if the experiment is not finalized', async () => {
      expect(outcome(await create({ on_conflict: 'update' }))).toEqual([422, 'validation_failed']);
      expect(outcome(await bulk([{ case_id: 'a' }], 'update'))).toEqual([422, 'validation_failed']);
      expect((await create({ on_conflict: null })).status).toBe(201);
      await space.finalize(experimentId);
      for (const on_conflict of ['update', 'skip', 'replace']) {
        expect(outcome(await create({ on_conflict }))).toEqual([409, 'conflict']);
      }
    });
  });

  it('do not count a human score for an earlier version', async () => {
    const scorer = await on.scorer(STARS);
    const other = await on.scorer(BOOLEAN);
    const [trace_id, next] = [newTraceId(), newTraceId()];
    const made = await create({ trace_id });
    const { result_id } = made.body;
    await on.score(scorer, { result_id, score: 1 });
    await on.score(other, { trace_id, score: true });
    await space.result((await space.experiment()).experiment_id, { trace_id: next });
    await on.score(other, { trace_id: next, score: false });
    expect((await read(made.body)).scores).toEqual({ [scorer.name]: 1, [other.name]: 1 });
    const replaced = await create({ trace_id: next, on_conflict: 'replace' });
    expect(replaced.body.scores).toEqual({ [other.name]: 0 });
    expect(await scoresOf(app, result_id)).toEqual([]);
    const bob = await on.annotator();
    await on.score(scorer, { result_id, score: 5 }, bob);
    expect((await read(made.body)).scores).toEqual({ [other.name]: 0, [scorer.name]: 5 });
    await on.score(scorer, { result_id, score: 3 });
    expect((await read(made.body)).scores).toEqual({ [other.name]: 0, [scorer.name]: 4 });
  });

  describe('on PATCH', () => {
    it('get scores that were computed later, and keep other scores', async () => {
      const details = { score: 0, comment: 'old', metadata: { z: [1] } };
      const { body } = await create({ scores: { exact: details, kept: { score: 1, label: 'l' } } });
      const patched = await patch(body, {
        scores: { exact: 1, none: null, long: { score: true, comment: 'c' } },
      });
      expect(patched.status).toBe(200);
      expect(patched.body.scores).toEqual({ exact: 1, kept: 1, none: null, long: 1 });
      expect(patched.body.score_details).toEqual({ kept: { label: 'l' }, long: { comment: 'c' } });
      expect(patched.body.version).toBe(1);
      expect(await read(body)).toEqual(patched.body);
      expect(await scoresOf(app, body.result_id)).toEqual([
        client('exact', 1),
        client('kept', 1),
        client('long', 1),
        client('none', null),
      ]);
    });

    it('replace tags, merge metadata, and clear both with null', async () => {
      const { body } = await create({ tags: ['a'], metadata: { x: 1, y: { z: 1 } } });
      const patched = await patch(body, { tags: ['b'], metadata: { x: null, y: { w: 2 } } });
      expect(patched.body).toMatchObject({ tags: ['b'], metadata: { y: { z: 1, w: 2 } } });
      expect((await patch(body, { tags: null, metadata: null })).body).toMatchObject({
        tags: [],
        metadata: {},
      });
      expect(outcome(await patch(body, { metadata: { x: 'x'.repeat(17_000) } }))).toEqual([
        400,
        'invalid_request',
      ]);
    });

    it('are not written if nothing changes, for example if a client sends back a result', async () => {
      const { body } = await create({
        scores: { s: { score: 0.5, label: 'l' } },
        tags: ['a'],
        metadata: { m: 1 },
      });
      const path = `${results}/${body.result_id}`;
      const etag = (await space.viewer.get(path)).headers.get('etag')!;
      const same = await patch(body, {
        scores: { s: { score: 0.5, label: 'l' } },
        tags: ['a'],
        metadata: {},
      });
      expect([same.status, same.body, same.headers.get('etag')]).toEqual([200, body, etag]);
      expect((await space.viewer.get(path, { 'if-none-match': etag })).status).toBe(304);
      const { scores: _, ...rest } = body;
      expect((await patch(body, { ...rest, tags: ['b'] })).body.tags).toEqual(['b']);
      expect((await space.viewer.get(path, { 'if-none-match': etag })).status).toBe(200);
      expect(outcome(await patch(body, { tags: ['c'] }, { 'if-match': etag }))[0]).toBe(412);
    });

    it('reject a score that was computed for a version that has been replaced', async () => {
      const { body } = await create({ output: 'first' });
      await create({ output: 'second', on_conflict: 'replace' });
      const late = await patch(body, { version: 1, scores: { exact: 1 } });
      expect(outcome(late)).toEqual([409, 'conflict']);
      expect((late.body as unknown as { detail: string }).detail).toMatch(/version 1 .*version is 2/);
      expect((await read(body)).scores).toEqual({});
      expect((await patch(body, { version: 2, scores: { exact: 1 } })).body.scores).toEqual({ exact: 1 });
    });

    it('return an error for a finalized experiment, an unknown result and unknown scorers', async () => {
      const { body } = await create({});
      const other = { ...body, result_id: 'res_x' };
      expect(outcome(await patch(other, { tags: [] }))).toEqual([404, 'not_found']);
      const foreign = `/eval/v1/experiments/${(await space.experiment()).experiment_id}/results/${body.result_id}`;
      expect(outcome(await space.editor.patch(foreign, { tags: [] }))).toEqual([404, 'not_found']);
      expect(outcome(await space.viewer.patch(`${results}/${body.result_id}`, {}))[0]).toBe(403);
      for (const scores of [null, { s: 'x' }, { '': 1 }]) {
        expect([outcome(await patch(body, { scores })), places(await patch(body, { scores }))]).toEqual([
          [400, 'invalid_request'],
          ['/scores'],
        ]);
      }
      const scorer = await on.scorer();
      const by = (scorer_id: string, scorer_version: number) => ({
        scores: { s: { score: 1, scorer_id, scorer_version } },
      });
      expect(outcome(await patch(body, by('scr_x', 1)))).toEqual([404, 'not_found']);
      expect(outcome(await patch(body, by(scorer.scorer_id, 2)))).toEqual([400, 'invalid_request']);
      expect((await patch(body, by(scorer.scorer_id, 1))).status).toBe(200);
      await space.finalize(experimentId);
      expect(outcome(await patch(body, { tags: ['x'] }))).toEqual([409, 'conflict']);
    });

    it('cannot have more than 100 scores each', async () => {
      const many = (from: number, to: number) =>
        Object.fromEntries(Array.from({ length: to - from }, (_, n) => [`s${from + n}`, 1]));
      const { body } = await create({ scores: many(0, 60) });
      expect(outcome(await patch(body, { scores: many(60, 101) }))).toEqual([400, 'invalid_request']);
      expect((await patch(body, { scores: many(50, 100) })).status).toBe(200);
    });
  });
});
