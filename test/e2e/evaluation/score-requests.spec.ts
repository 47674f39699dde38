import { sharedApp } from '#testing';
import { newTraceId, ScoringFixture } from './scoring.fixture';

const HUMAN = { scorer_kind: 'human', definition: { rubric: 'Kind?', output: { type: 'boolean' } } };
const JUDGE = { scorer_kind: 'llm_judge', definition: { prompt: 'Kind?', output: { type: 'boolean' } } };

describe('a request to score', () => {
  const app = sharedApp();
  let on: ScoringFixture;

  beforeEach(async () => {
    on = await ScoringFixture.create(app);
  });

  const runsOf = async (): Promise<any[]> => (await on.evaluator.get('/eval/v1/score-runs')).body.items;
  const errorPointers = (answer: any): string[] => answer.body.errors.map((error: any) => error.pointer);

  describe('that is accepted', () => {
    it('returns 202 with the queued run and its address', async () => {
      const scorer = await on.scorer();
      const traceId = await on.trace();
      const answer = await on.score(scorer, { trace_ids: [traceId] });
      expect(answer.status).toBe(202);
      expect(answer.body).toEqual({
        score_run_id: expect.stringMatching(/^run_/),
        scorer_id: scorer.scorer_id,
        scorer_version: 1,
        grain: 'trace',
        run_status: 'queued',
        concurrency: 4,
        total: 1,
      });
      expect(answer.headers.get('location')).toBe(`/eval/v1/score-runs/${answer.body.score_run_id}`);
      expect(await on.run(answer.body.score_run_id)).toMatchObject({
        run_status: 'queued',
        total: 1,
        completed_count: 0,
        failed_count: 0,
        cost_usd: null,
        started_at: null,
        finished_at: null,
        failure_code: null,
        experiment_id: null,
      });
    });

    it.each([
      [0, 4],
      [null, 4],
      [7, 7],
      [33, 32],
    ])('treats a concurrency of %s as %s', async (concurrency, effective) => {
      const scorer = await on.scorer();
      const answer = await on.score(scorer, { trace_ids: [await on.trace()], concurrency });
      expect(answer.body.concurrency).toBe(effective);
    });

    it('selects each target once with unscored_only, even for concurrent requests', async () => {
      const scorer = await on.scorer();
      const experiment = await on.experiment();
      const made = await on.results(
        experiment,
        Array.from({ length: 10 }, () => ({ output: 1 })),
      );
      const body = { experiment_id: experiment.experiment_id, unscored_only: true, limit: 3 };
      const answers = await Promise.all(Array.from({ length: 12 }, () => on.score(scorer, body)));
      expect(answers.map((answer) => answer.status)).toEqual(Array<number>(12).fill(202));
      const totals = answers.map((answer) => answer.body.total).sort();
      expect(totals).toEqual([...Array<number>(8).fill(0), 1, 3, 3, 3]);
      const targets = await app.database.query<{ trace_id: string }>(
        'SELECT trace_id FROM score_targets JOIN score_runs USING (score_run_id) WHERE scorer_id = $1',
        [scorer.scorer_id],
      );
      expect(targets.map((one) => one.trace_id).sort()).toEqual(made.map((one) => one.trace_id).sort());
    });

    it('selects all targets in one run with unscored_only and no limit, even for concurrent requests', async () => {
      const scorer = await on.scorer();
      for (let n = 0; n < 3; n++) await on.trace();
      const body = { since: '2025-01-01T00:00:00Z', unscored_only: true };
      const answers = await Promise.all(Array.from({ length: 12 }, () => on.score(scorer, body)));
      const totals = answers.map((answer) => answer.body.total).sort();
      expect(totals).toEqual([...Array<number>(11).fill(0), 3]);
    });

    it('creates one run per Idempotency-Key', async () => {
      const scorer = await on.scorer();
      const path = `/eval/v1/scorers/${scorer.scorer_id}/score`;
      const body = { trace_ids: [await on.trace()] };
      const first = await on.evaluator.post(path, body, { 'idempotency-key': 'k1' });
      const second = await on.evaluator.post(path, body, { 'idempotency-key': 'k1' });
      expect(second.headers.get('idempotency-replayed')).toBe('true');
      expect(second.body).toEqual(first.body);
      expect(second.headers.get('location')).toBe(first.headers.get('location'));
      expect(await runsOf()).toHaveLength(1);
    });
  });

  describe('that is rejected', () => {
    it('returns 403 for every role below evaluator', async () => {
      const scorer = await on.scorer();
      const body = { trace_ids: [await on.trace()] };
      for (const role of ['viewer', 'editor', 'runtime'] as const) {
        const answer = await on.score(scorer, body, await on.organization.as(role));
        expect(answer.status).toBe(403);
        expect(answer.body.code).toBe('access_denied');
      }
    });

    it('returns 405 for any method but POST', async () => {
      const scorer = await on.scorer();
      const answer = await on.evaluator.get(`/eval/v1/scorers/${scorer.scorer_id}/score`);
      expect(answer.status).toBe(405);
      expect(answer.headers.get('allow')).toBe('POST');
    });

    it.each([
      ['no members', {}],
      ['only options', { mode: 'score', concurrency: 2, limit: 3, grain: 'trace', unscored_only: true }],
      ['only null selectors', { trace_ids: null, since: null }],
    ])('returns 400 if it has %s', async (_, body) => {
      const answer = await on.score(await on.scorer(), body);
      expect(answer.status).toBe(400);
      expect(answer.body.code).toBe('invalid_request');
      expect(answer.body.detail).toMatch(
        /trace_ids, session_ids, agent_ids, experiment_id, since, until or at least one filter/,
      );
    });

    it.each<[string, object]>([
      ['/trace_id', { trace_id: [], since: '2025-01-01T00:00:00Z' }],
      ['/filter', { filter: {}, since: '2025-01-01T00:00:00Z' }],
    ])('returns 400 for the unknown member %s', async (pointer, body) => {
      const answer = await on.score(await on.scorer(), body);
      expect(answer.status).toBe(400);
      expect(errorPointers(answer)).toEqual([pointer]);
    });

    it.each<[string, object]>([
      ['/concurrency', { concurrency: -1 }],
      ['/concurrency', { concurrency: 1.5 }],
      ['/limit', { limit: -1 }],
      ['/limit', { limit: '5' }],
      ['/trace_ids', { trace_ids: 'a' }],
      ['/trace_ids', { trace_ids: ['xyz'] }],
      ['/trace_ids', { trace_ids: ['0'.repeat(32)] }],
      ['/session_ids', { session_ids: [1] }],
      ['/experiment_id', { experiment_id: 5 }],
      ['/since', { since: 'yesterday' }],
      ['/since', { since: '2025-02-30T00:00:00Z' }],
      ['/until', { until: '2025-01-01T00:00:00' }],
      ['/unscored_only', { unscored_only: 'yes' }],
      ['/mode', { mode: 1 }],
    ])('returns 400 for an invalid %s in %j', async (pointer, body) => {
      const answer = await on.score(await on.scorer(), { since: '2025-01-01T00:00:00Z', ...body });
      expect(answer.status).toBe(400);
      expect(errorPointers(answer)).toContain(pointer);
    });

    it('returns 400 if since is after until', async () => {
      const answer = await on.score(await on.scorer(), {
        since: '2025-01-02T00:00:00Z',
        until: '2025-01-01T23:59:59Z',
      });
      expect(answer.status).toBe(400);
      expect(errorPointers(answer)).toEqual(['/since']);
    });

    it('returns 400 if the grain contradicts the ids', async () => {
      const scorer = await on.scorer();
      for (const body of [
        { grain: 'session', trace_ids: [newTraceId()] },
        { grain: 'trace', session_ids: ['s'] },
        { grain: 'trace', agent_ids: ['agt_x'] },
      ]) {
        const answer = await on.score(scorer, body);
        expect(answer.status).toBe(400);
        expect(errorPointers(answer)).toEqual(['/grain']);
      }
    });

    it.each([
      ['mode', 'dry_run'],
      ['grain', 'span'],
    ])('returns 422 for an unknown %s', async (member, value) => {
      const answer = await on.score(await on.scorer(), { trace_ids: [await on.trace()], [member]: value });
      expect(answer.status).toBe(422);
      expect(answer.body.code).toBe('validation_failed');
      expect(errorPointers(answer)).toEqual([`/${member}`]);
    });

    it('returns 404 for an unknown or foreign scorer', async () => {
      const body = { trace_ids: [await on.trace()] };
      expect((await on.score({ scorer_id: 'scr_x' }, body)).status).toBe(404);
      const other = await ScoringFixture.create(app);
      expect((await on.score(await other.scorer(), body)).status).toBe(404);
    });

    it('returns 409 for an archived scorer', async () => {
      const scorer = await on.scorer();
      await on.evaluator.post(`/eval/v1/scorers/${scorer.scorer_id}/archive`);
      expect((await on.score(scorer, { trace_ids: [await on.trace()] })).status).toBe(409);
    });

    it('returns 400 for a human scorer', async () => {
      const answer = await on.score(await on.scorer(HUMAN), { trace_ids: [await on.trace()] });
      expect(answer.status).toBe(400);
      expect(answer.body.code).toBe('invalid_request');
    });

    it.each(['score', 'test'])('returns 503 in mode %s for a judge without a backend', async (mode) => {
      const answer = await on.score(await on.scorer(JUDGE), { mode, trace_ids: [await on.trace()] });
      expect(answer.status).toBe(503);
      expect(answer.body.code).toBe('service_unavailable');
      // The detail says what is missing, and what to do.
      expect(answer.body.detail).toMatch(
        /^No judge is configured\. .*operator to set JUDGE_BASE_URL, JUDGE_MODEL.*JUDGE_API_KEY/,
      );
      expect(answer.body.detail).toMatch(
        /`gateway:<name>`.*upload its scores with this scorer_id\. Nothing was stored\.$/,
      );
      expect(await runsOf()).toEqual([]);
    });

    it('returns 404, and names each unknown id', async () => {
      const scorer = await on.scorer();
      const [existing, unknown] = [await on.trace({ sessionId: 's1' }), newTraceId()];
      const other = await ScoringFixture.create(app);
      const foreign = await other.trace();
      const traces = await on.score(scorer, { trace_ids: [existing, existing, unknown, foreign] });
      expect(traces.status).toBe(404);
      expect(traces.body.code).toBe('not_found');
      expect(traces.body.detail).toContain(unknown);
      expect(traces.body.errors).toEqual([
        { pointer: '/trace_ids/2', detail: expect.stringContaining(unknown) },
        { pointer: '/trace_ids/3', detail: expect.stringContaining(foreign) },
      ]);
      const sessions = await on.score(scorer, { session_ids: ['s1', 's2'] });
      expect(sessions.status).toBe(404);
      expect(errorPointers(sessions)).toEqual(['/session_ids/1']);
      const agents = await on.score(scorer, { agent_ids: ['agt_1'] });
      expect(agents.status).toBe(404);
      expect(agents.body.errors).toEqual([
        { pointer: '/agent_ids/0', detail: expect.stringContaining('agt_1') },
      ]);
      const foreignExperiment = await other.experiment();
      const experiments = await on.score(scorer, { experiment_id: foreignExperiment.experiment_id });
      expect(experiments.status).toBe(404);
      expect(errorPointers(experiments)).toEqual(['/experiment_id']);
      expect(await runsOf()).toEqual([]);
    });

    it.each([
      ['a limit over the cap', { limit: 101 }],
      ['a limit of 0', { limit: 0 }],
      ['an unknown mode', { mode: 'dry_run' }],
    ])('returns 404 for an unknown experiment, even with %s', async (_, body) => {
      const answer = await on.score(await on.scorer(), { experiment_id: 'exp_x', ...body });
      expect(answer.status).toBe(404);
      expect(errorPointers(answer)).toEqual(['/experiment_id']);
    });

    it('returns 400 if it can never select a target', async () => {
      const at = '2025-01-01T00:00:00Z';
      const scorer = await on.scorer();
      for (const [pointer, body] of [
        ['/trace_ids', { trace_ids: [], since: at }],
        ['/session_ids', { session_ids: [] }],
        ['/agent_ids', { agent_ids: [] }],
        ['/since', { since: at, until: at }],
      ] as const) {
        const answer = await on.score(scorer, body);
        expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request']);
        expect(errorPointers(answer)).toEqual([pointer]);
      }
    });

    it.each([
      ['score', 101, 100],
      ['test', 6, 5],
      ['preview', 6, 5],
    ])('returns 422 for a limit over the cap of mode %s', async (mode, limit, cap) => {
      const answer = await on.score(await on.scorer(), { mode, limit, trace_ids: [await on.trace()] });
      expect(answer.status).toBe(422);
      expect(answer.body.code).toBe('validation_failed');
      expect(answer.body.detail).toContain(String(cap));
    });

    it('returns 422 with the count if the selection exceeds the cap', async () => {
      const scorer = await on.scorer();
      const experiment = await on.experiment();
      await on.results(
        experiment,
        Array.from({ length: 100 }, () => ({ output: 1, expected: 1 })),
      );
      const body = { experiment_id: experiment.experiment_id };
      expect((await on.score(scorer, body)).status).toBe(202);
      await on.result(experiment);
      const over = await on.score(scorer, body);
      expect(over.status).toBe(422);
      expect(over.body.code).toBe('validation_failed');
      expect(over.body.detail).toBe(
        'The selection matches 101 targets, more than 100. Set a limit or narrow the selection. To score all of them, use POST /eval/v1/scorers/{scorer_id}/batches.',
      );
      const test = await on.score(scorer, { ...body, mode: 'test' });
      expect([test.status, test.body.detail]).toEqual([
        422,
        'The selection matches 101 targets, more than 5. Set a limit or narrow the selection.',
      ]);
      expect((await on.score(scorer, { ...body, limit: 100 })).body.total).toBe(100);
    });

    it('returns 422 with the count if the selection by time exceeds the cap', async () => {
      const scorer = await on.scorer();
      for (let at = 0; at < 6; at++) await on.trace({ sessionId: `s${at}` });
      const body = { mode: 'preview', since: '2025-01-01T00:00:00Z' };
      const traces = await on.score(scorer, body);
      expect(traces.status).toBe(422);
      expect(traces.body.detail).toContain('matches 6 targets');
      const sessions = await on.score(scorer, { ...body, grain: 'session' });
      expect(sessions.status).toBe(422);
      expect(sessions.body.detail).toContain('matches 6 targets');
    });
  });

  it('succeeds at once if nothing matches, so that a loop over unscored targets ends', async () => {
    const scorer = await on.scorer();
    const traceId = await on.trace({ startedAt: Date.parse('2025-01-01T00:00:00Z') });
    for (const body of [
      { experiment_id: (await on.experiment()).experiment_id },
      { since: '2030-01-01T00:00:00Z', unscored_only: true },
      { trace_ids: [traceId], since: '2025-01-02T00:00:00Z' },
      { trace_ids: [traceId], limit: 0 },
      { trace_ids: [traceId], limit: 0, unscored_only: true },
    ]) {
      const answer = await on.score(scorer, body);
      expect([answer.status, answer.body.total, answer.body.run_status]).toEqual([202, 0, 'queued']);
      const run = await on.evaluator.get(answer.headers.get('location')!);
      expect(run.body).toMatchObject({
        total: 0,
        run_status: 'succeeded',
        failure_code: null,
        completed_count: 0,
      });
      expect(run.body.started_at).toEqual(run.body.finished_at);
      expect(await on.resultsOf(answer.body.score_run_id)).toEqual([]);
      for (const mode of ['test', 'preview']) {
        const synchronous = await on.score(scorer, { ...body, mode });
        expect([synchronous.status, synchronous.body.results]).toEqual([200, []]);
      }
    }
    expect(await runsOf()).toHaveLength(5);
  });

  it('is listed and read by viewers of its workspace', async () => {
    const scorer = await on.scorer();
    const experiment = await on.experiment();
    await on.result(experiment, { output: 1 });
    const { experiment_id } = experiment;
    const { body: byExperiment } = await on.score(scorer, { experiment_id });
    const { body: byTrace } = await on.score(await on.scorer(), { trace_ids: [await on.trace()] });
    const viewer = await on.organization.as('viewer');
    const ids = async (query: string) =>
      (await viewer.get(`/eval/v1/score-runs${query}`)).body.items.map((one: any) => one.score_run_id);
    expect(await ids('')).toEqual([byTrace.score_run_id, byExperiment.score_run_id]);
    expect(await ids(`?scorer_id=${scorer.scorer_id}`)).toEqual([byExperiment.score_run_id]);
    expect(await ids(`?experiment_id=${experiment_id}`)).toEqual([byExperiment.score_run_id]);
    expect(await ids('?run_status=queued')).toHaveLength(2);
    expect(await ids('?run_status=failed')).toEqual([]);
    expect(await ids('?scorer_id=scr_unknown')).toEqual([]);
    expect((await viewer.get('/eval/v1/score-runs?run_status=done')).status).toBe(422);
    expect((await viewer.get('/eval/v1/score-runs?status=queued')).status).toBe(400);
    const path = `/eval/v1/score-runs/${byTrace.score_run_id}`;
    expect((await viewer.post(`${path}/cancel`)).status).toBe(403);
    const other = (await ScoringFixture.create(app)).evaluator;
    expect((await other.get(path)).status).toBe(404);
    expect((await other.get(`${path}/results`)).status).toBe(404);
    expect((await other.post(`${path}/cancel`)).status).toBe(404);
  });

  it('can be cancelled while it is queued, and then has an error for every target', async () => {
    const scorer = await on.scorer();
    const { body } = await on.score(scorer, { trace_ids: [await on.trace(), await on.trace()] });
    const path = `/eval/v1/score-runs/${body.score_run_id}`;
    const cancelled = await on.evaluator.post(`${path}/cancel`);
    expect(cancelled.status).toBe(200);
    expect(cancelled.body).toMatchObject({
      run_status: 'failed',
      failure_code: 'cancelled',
      completed_count: 0,
      failed_count: 2,
    });
    expect(cancelled.body.finished_at).not.toBeNull();
    const again = await on.evaluator.post(`${path}/cancel`);
    expect(again.status).toBe(200);
    expect(again.body).toEqual(cancelled.body);
    const results = await on.resultsOf(body.score_run_id);
    expect(results.map((one) => [one.error, one.score])).toEqual([
      ['The run was cancelled before it scored this target.', undefined],
      ['The run was cancelled before it scored this target.', undefined],
    ]);
  });
});
