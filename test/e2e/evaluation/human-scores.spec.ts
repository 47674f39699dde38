import { sharedApp, newTraceId } from '#testing';
import { outcome, TIME, UNKNOWN_IDS } from './evaluation.harness';
import {
  BOOLEAN,
  type HumanScore,
  HumanScoresFixture,
  SCORES,
  STARS,
  SURVEY,
  TONE,
} from './human-scores.fixture';

describe('a human score', () => {
  const app = sharedApp();
  let on: HumanScoresFixture;

  beforeEach(async () => {
    on = await HumanScoresFixture.open(app);
  });

  const newResult = (fields?: Record<string, unknown>) => on.newResult(fields);

  describe('on creation', () => {
    it.each<[string, object, Record<string, unknown>, number, Record<string, unknown>]>([
      ['true', BOOLEAN, { score: true }, 1, {}],
      ['false', BOOLEAN, { score: false }, 0, {}],
      ['a number within its bounds', STARS, { score: 3.5 }, 3.5, {}],
      ['the maximum', STARS, { score: 5 }, 5, {}],
      ['a choice, by its score', TONE, { label: 'curt' }, 0.25, { label: 'curt' }],
      [
        'answers to questions, by the mean of their scores',
        SURVEY,
        { answers: { stars: 2, tone: 'rude', right: true } },
        2 / 3,
        { answers: { tone: 'rude', right: true, stars: 2 } },
      ],
    ])('is stored with %s, and read back unchanged', async (_, output, answered, score, stored) => {
      const result = await newResult();
      const scorer = await on.scorer(output);
      const posted = await on.post({
        scorer_id: scorer.scorer_id,
        result_id: result.result_id,
        ...answered,
        comment: 'because',
        metadata: { z: 1, a: [null] },
      });
      expect(posted.status).toBe(201);
      expect(posted.body).toEqual({
        score_id: expect.stringMatching(/^score_/) as string,
        workspace_id: on.space.id,
        scorer_id: scorer.scorer_id,
        scorer_name: scorer.name,
        scorer_version: 1,
        scorer_kind: 'human',
        source: 'human',
        target_kind: 'result',
        trace_id: null,
        session_id: null,
        span_id: null,
        experiment_id: result.experiment_id,
        result_id: result.result_id,
        case_id: result.case_id,
        score,
        label: null,
        answers: null,
        ...stored,
        comment: 'because',
        metadata: { z: 1, a: [null] },
        author: null,
        score_run_id: null,
        model: null,
        judge_digest: null,
        is_truncated: false,
        supersedes_score_id: null,
        superseded_by_score_id: null,
        superseded_at: null,
        created_at: expect.stringMatching(TIME) as string,
        updated_at: posted.body.created_at,
        created_by: on.ann.id,
        archived_at: null,
      });
      const path = posted.headers.get('location')!;
      expect(path).toBe(`${SCORES}/${posted.body.score_id}`);
      const read = await on.space.viewer.get<HumanScore>(path);
      expect(read.body).toEqual(posted.body);
      const again = await on.space.viewer.get(path, { 'If-None-Match': read.headers.get('etag')! });
      expect(again.status).toBe(304);
    });

    it('has the trace and session of its target', async () => {
      const scorer = await on.scorer();
      const trace_id = await on.exportTrace('talk');
      const result = await newResult({ trace_id, session_id: 'talk' });
      const named = { trace_id, session_id: 'talk' };
      const ids = { experiment_id: result.experiment_id, result_id: result.result_id };
      const none = { trace_id: null, session_id: null, experiment_id: null, result_id: null };
      expect(await on.score(scorer, { ...ids, score: true })).toMatchObject({
        target_kind: 'result',
        ...ids,
        ...named,
      });
      expect(await on.score(scorer, { trace_id, score: true })).toMatchObject({
        target_kind: 'trace',
        ...none,
        trace_id,
        session_id: 'talk',
      });
      expect(await on.score(scorer, { session_id: 'talk', score: true })).toMatchObject({
        target_kind: 'session',
        ...none,
        session_id: 'talk',
      });
    });

    it('is accepted for a trace or session without spans if a result names it', async () => {
      const scorer = await on.scorer();
      const trace_id = newTraceId();
      await newResult({ trace_id, session_id: 'unheard of' });
      await on.score(scorer, { trace_id, score: true });
      await on.score(scorer, { session_id: 'unheard of', score: true });
    });

    it('has its comment cut to 2,000 characters, without splitting a character', async () => {
      const scorer = await on.scorer();
      const { result_id } = await newResult();
      const { comment } = await on.score(scorer, {
        result_id,
        score: true,
        comment: `x${'😀'.repeat(2_000)}`,
      });
      expect(comment).toBe(`x${'😀'.repeat(1_999)}`);
    });

    it('has the scorer version that the person saw', async () => {
      const scorer = await on.scorer(BOOLEAN);
      const { result_id } = await newResult();
      const definition = { rubric: 'How many stars?', output: STARS };
      await on.space.editor.patch(`/eval/v1/scorers/${scorer.scorer_id}`, { definition });
      const first = await on.score(scorer, { result_id, scorer_version: 1, score: true });
      expect(first).toMatchObject({ scorer_version: 1, score: 1 });
      const second = await on.score(scorer, { result_id, score: 4 });
      expect(second).toMatchObject({ scorer_version: 2, score: 4, supersedes_score_id: first.score_id });
    });

    it('is stored once per Idempotency-Key', async () => {
      const scorer = await on.scorer();
      const { result_id } = await newResult();
      const body = { workspace_id: on.space.id, scorer_id: scorer.scorer_id, result_id, score: true };
      const headers = { 'Idempotency-Key': 'one' };
      const first = await on.ann.api.post<HumanScore>(SCORES, body, headers);
      const second = await on.ann.api.post<HumanScore>(SCORES, body, headers);
      expect(second.body).toEqual(first.body);
      expect(await on.listIds(`result_id=${result_id}&include_superseded=true`)).toHaveLength(1);
    });
  });

  describe('that a person repeats', () => {
    it('supersedes the earlier score, and both remain readable', async () => {
      const scorer = await on.scorer(STARS);
      const { result_id } = await newResult();
      const first = await on.score(scorer, { result_id, score: 1 });
      const second = await on.score(scorer, { result_id, score: 2 });
      const third = await on.score(scorer, { result_id, score: 3 });
      const read = async (id: string) => (await on.space.viewer.get<HumanScore>(`${SCORES}/${id}`)).body;
      expect(await read(first.score_id)).toEqual({
        ...first,
        superseded_by_score_id: second.score_id,
        superseded_at: second.created_at,
        updated_at: second.created_at,
      });
      expect(await read(second.score_id)).toMatchObject({
        score: 2,
        supersedes_score_id: first.score_id,
        superseded_by_score_id: third.score_id,
      });
      expect(await on.listIds(`result_id=${result_id}`)).toEqual([third.score_id]);
      expect(await on.listIds(`result_id=${result_id}&include_superseded=true`)).toEqual(
        [third, second, first].map((score) => score.score_id),
      );
    });

    it('does not supersede scores of other people, scorers or targets', async () => {
      const [scorer, other] = [await on.scorer(), await on.scorer()];
      const bob = await on.annotator();
      const trace_id = await on.exportTrace();
      const { result_id } = await newResult({ trace_id });
      const all = [
        await on.score(scorer, { result_id, score: true }),
        await on.score(scorer, { result_id, score: true }, bob),
        await on.score(other, { result_id, score: true }),
        await on.score(scorer, { trace_id, score: true }),
      ];
      expect(all.map((score) => score.supersedes_score_id)).toEqual([null, null, null, null]);
      expect(await on.listIds('')).toEqual(all.map((score) => score.score_id).reverse());
    });

    it('forms one chain even if many are sent at the same time', async () => {
      const scorer = await on.scorer(STARS);
      const { result_id } = await newResult();
      const values = [1, 2, 3, 4, 5, 1.5, 2.5, 3.5, 4.5];
      const made = await Promise.all(values.map((value) => on.score(scorer, { result_id, score: value })));
      const superseded = made.flatMap((score) => score.supersedes_score_id ?? []);
      expect(new Set(superseded).size).toBe(values.length - 1);
      expect(superseded).toHaveLength(values.length - 1);
      expect(await on.listIds(`result_id=${result_id}`)).toHaveLength(1);
    });
  });

  describe('in a list', () => {
    it('is found by scorer, trace, session, result, experiment and person, and by combinations of these', async () => {
      const [one, two] = [await on.scorer(), await on.scorer()];
      const bob = await on.annotator();
      const trace_id = await on.exportTrace('talk');
      const experiment = await on.space.experiment();
      const { experiment_id } = experiment;
      const { result_id } = await on.space.result(experiment_id, { trace_id, session_id: 'talk' });
      const elsewhere = await newResult();
      const { score_id: ofTrace } = await on.score(one, { trace_id, score: true });
      const { score_id: ofSession } = await on.score(one, { session_id: 'talk', score: true }, bob);
      const { score_id: ofResult } = await on.score(two, { result_id, score: true });
      const { score_id: other } = await on.score(two, { result_id: elsewhere.result_id, score: true }, bob);
      const cases: [string, string[]][] = [
        ['', [other, ofResult, ofSession, ofTrace]],
        ['sort=created_at', [ofTrace, ofSession, ofResult, other]],
        [`scorer_id=${one.scorer_id}`, [ofSession, ofTrace]],
        [`trace_id=${trace_id}`, [ofResult, ofTrace]],
        ['session_id=talk', [ofResult, ofSession, ofTrace]],
        [`result_id=${result_id}`, [ofResult]],
        [`experiment_id=${experiment_id}`, [ofResult]],
        [`experiment_id=${elsewhere.experiment_id}`, [other]],
        [`created_by=${bob.id}`, [other, ofSession]],
        [`session_id=talk&created_by=${bob.id}`, [ofSession]],
        [`trace_id=${trace_id}&scorer_id=${two.scorer_id}`, [ofResult]],
        ['trace_id=x', []],
        ['experiment_id=x', []],
      ];
      for (const [query, ids] of cases) expect([query, await on.listIds(query)]).toEqual([query, ids]);
    });

    it('is on exactly one page, with or without a filter', async () => {
      const scorer = await on.scorer(STARS);
      const { result_id, experiment_id } = await newResult();
      const people = await Promise.all([1, 2, 3, 4, 5].map(() => on.annotator()));
      for (const person of people) await on.score(scorer, { result_id, score: 1 }, person);
      for (const query of ['', `experiment_id=${experiment_id}`, 'sort=created_at']) {
        const seen: string[] = [];
        let cursor = '';
        do {
          const { body } = await on.space.viewer.get(`${SCORES}?limit=2&${query}${cursor}`);
          expect(body.page.total).toBe(5);
          seen.push(...body.items.map((score: HumanScore) => score.created_by));
          cursor = body.page.next_cursor === null ? '' : `&cursor=${body.page.next_cursor}`;
        } while (cursor !== '');
        const ids = people.map((person) => person.id);
        expect(seen).toEqual(query === 'sort=created_at' ? ids : ids.reverse());
      }
    });

    it('is found only in its own workspace, and only by known parameters', async () => {
      const scorer = await on.scorer();
      const { result_id, experiment_id } = await newResult({ session_id: 'talk' });
      const { score_id } = await on.score(scorer, { result_id, score: true });
      const sibling = await on.space.sibling();
      const stranger = await HumanScoresFixture.open(app);
      for (const caller of [sibling, stranger.space.viewer]) {
        expect(outcome(await caller.get(`${SCORES}/${score_id}`))).toEqual([404, 'not_found']);
        const filters = ['', `result_id=${result_id}`, `experiment_id=${experiment_id}`, 'session_id=talk'];
        for (const query of filters) expect((await caller.get(`${SCORES}?${query}`)).body.items).toEqual([]);
      }
      for (const id of UNKNOWN_IDS) {
        expect(outcome(await on.space.viewer.get(`${SCORES}/${id}`))).toEqual([404, 'not_found']);
      }
      expect(outcome(await on.space.viewer.get(`${SCORES}?scorer=x`))).toEqual([400, 'invalid_query']);
      expect(outcome(await on.space.viewer.get(`${SCORES}?include_superseded=1`))).toEqual([
        400,
        'invalid_query',
      ]);
    });
  });
});
