import { sharedApp, newSpan, jsonExport } from '#testing';
import { ScoreBatchService } from '../../../src/evaluation/scoring/score-batches/score-batch.service';
import { newTraceId, ScoringFixture } from './scoring.fixture';

const HUMAN = { scorer_kind: 'human', definition: { rubric: 'Kind?', output: { type: 'boolean' } } };
const JUDGE = { scorer_kind: 'llm_judge', definition: { prompt: 'Kind?', output: { type: 'boolean' } } };
const SINCE = '2025-01-01T00:00:00Z';
const ALL = [{ field: 'span_count', op: 'gte', value: 0 }];

describe('a request for a batch', () => {
  const app = sharedApp();
  let on: ScoringFixture;

  beforeEach(async () => {
    on = await ScoringFixture.create(app);
  });

  /** Inserts traces of this workspace with SQL. */
  const fill = (count: number) =>
    app.database.query(
      `INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models, root_name)
       SELECT $1, md5($1 || n), timestamptz '2026-01-01' + n * interval '1 ms', timestamptz '2026-01-02', 1, 0, '{}',
              'agent ' || n % 2
       FROM generate_series(1, $2::int) n`,
      [on.workspaceId, count],
    );
  const waiting = async (): Promise<number> => {
    const [row] = await app.database.query<{ count: number }>(
      `SELECT count(*) AS count FROM score_batch_targets JOIN score_batches USING (score_batch_id) WHERE workspace_id = $1`,
      [on.workspaceId],
    );
    return row!.count;
  };
  const list = async (query = ''): Promise<any[]> =>
    (await on.evaluator.get(`/eval/v1/score-batches${query}`)).body.items;

  describe('that is accepted', () => {
    it('returns 202 with the batch, its address and its first runs', async () => {
      await fill(950);
      const scorer = await on.scorer();
      const answer = await on.batch(scorer, { since: SINCE, concurrency: 8 });
      expect(answer.status).toBe(202);
      expect(answer.body).toEqual({
        score_batch_id: expect.stringMatching(/^batch_/),
        workspace_id: on.workspaceId,
        scorer_id: scorer.scorer_id,
        scorer_version: 1,
        scorer_erased: false,
        experiment_id: null,
        grain: 'trace',
        batch_status: 'queued',
        concurrency: 8,
        total: 950,
        completed_count: 0,
        failed_count: 0,
        not_written_back_count: 0,
        truncated_count: 0,
        too_large_count: 0,
        run_count: 3,
        cost_usd: null,
        max_cost_usd: null,
        cache: true,
        failure_code: null,
        failure_detail: null,
        started_at: null,
        finished_at: null,
        created_at: expect.any(String),
        updated_at: expect.any(String),
        created_by: expect.any(String),
        archived_at: null,
      });
      expect(answer.headers.get('location')).toBe(`/eval/v1/score-batches/${answer.body.score_batch_id}`);
      expect(await on.readBatch(answer.body)).toEqual(answer.body);
      const runs = await on.runsOfBatch(answer.body);
      expect(runs.map(({ total, concurrency, run_status }) => [total, concurrency, run_status])).toEqual(
        Array(3).fill([100, 8, 'queued']),
      );
      expect(await waiting()).toBe(650);
    });

    it('creates a batch that has succeeded if there are no targets', async () => {
      const traceId = await on.trace();
      const scorer = await on.scorer();
      await on.batch(scorer, { trace_ids: [traceId] });
      const again = await on.batch(scorer, { trace_ids: [traceId], unscored_only: true });
      expect(again).toMatchObject({
        status: 202,
        body: { total: 0, batch_status: 'succeeded', run_count: 0, failure_code: null },
      });
      expect(again.body.finished_at).not.toBeNull();
    });

    it('creates one batch per Idempotency-Key, with the same response', async () => {
      await fill(150);
      const scorer = await on.scorer();
      const send = () => on.batch(scorer, { since: SINCE }, on.evaluator, { 'Idempotency-Key': 'batch-1' });
      const [first, again] = [await send(), await send()];
      expect(again.headers.get('idempotency-replayed')).toBe('true');
      expect(again.body).toEqual(first.body);
      expect(await list()).toHaveLength(1);
      expect((await on.evaluator.get('/eval/v1/score-runs')).body.items).toHaveLength(2);
    });

    it('selects the newest targets up to the limit, each once', async () => {
      await fill(300);
      const scorer = await on.scorer();
      const { body } = await on.batch(scorer, { since: SINCE, limit: 120 });
      expect(body).toMatchObject({ total: 120, run_count: 2 });
      const newest = await app.database.query<{ trace_id: string }>(
        'SELECT trace_id FROM traces WHERE workspace_id = $1 ORDER BY started_at DESC LIMIT 120',
        [on.workspaceId],
      );
      const targets = await app.database.query<{ trace_id: string }>(
        'SELECT trace_id FROM score_targets JOIN score_runs r USING (score_run_id) WHERE score_batch_id = $1',
        [body.score_batch_id],
      );
      const ids = (rows: { trace_id: string }[]) => rows.map((row) => row.trace_id).sort();
      expect(ids(targets)).toEqual(ids(newest));
    });

    it('has no targets with a limit of 0', async () => {
      const { status, body } = await on.batch(await on.scorer(), { since: SINCE, limit: 0 });
      expect([status, body.total, body.batch_status]).toEqual([202, 0, 'succeeded']);
    });

    it('selects all results of an experiment, and creates a batch that is found by experiment, scorer and status', async () => {
      const experiment = await on.experiment();
      await on.results(
        experiment,
        Array.from({ length: 3 }, () => ({ output: 1 })),
      );
      const { experiment_id } = experiment;
      const scorer = await on.scorer();
      const { body } = await on.batch(scorer, { experiment_id });
      expect(body).toMatchObject({ experiment_id, total: 3 });
      for (const query of [
        `experiment_id=${experiment_id}`,
        `scorer_id=${scorer.scorer_id}`,
        'batch_status=queued',
      ]) {
        expect(await list(`?${query}`)).toMatchObject([{ score_batch_id: body.score_batch_id }]);
      }
      expect(await list('?batch_status=failed')).toEqual([]);
    });

    it('selects each target once with unscored_only, even for concurrent requests', async () => {
      await fill(500);
      const scorer = await on.scorer();
      const body = { since: SINCE, unscored_only: true };
      const answers = await Promise.all([
        ...Array.from({ length: 6 }, () => on.batch(scorer, body)),
        on.score(scorer, { ...body, limit: 100 }),
      ]);
      expect(answers.map(({ status }) => status)).toEqual(Array(7).fill(202));
      expect(answers.reduce((sum, answer) => sum + (answer.body.total as number), 0)).toBe(500);
      const left = await on.score(scorer, body);
      expect(left.body).toMatchObject({ total: 0, run_status: 'queued' });
    });
  });

  describe('that is rejected', () => {
    it('returns 409 for an archived scorer', async () => {
      const scorer = await on.scorer();
      await on.evaluator.post(`/eval/v1/scorers/${scorer.scorer_id}/archive`);
      const answer = await on.batch(scorer, { since: SINCE });
      expect([answer.status, answer.body.code]).toEqual([409, 'conflict']);
    });

    it('returns 400 for a human scorer', async () => {
      const answer = await on.batch(await on.scorer(HUMAN), { since: SINCE });
      expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request']);
    });

    it('returns 503 without a judge backend', async () => {
      const answer = await on.batch(await on.scorer(JUDGE), { since: SINCE });
      expect([answer.status, answer.body.code]).toEqual([503, 'service_unavailable']);
      expect(await list()).toEqual([]);
    });

    it('returns 404 for the scorer, the targets or the batch of another organization', async () => {
      const other = await ScoringFixture.create(app);
      const theirs = await on.scorer();
      const traceId = await on.trace();
      const { body } = await on.batch(theirs, { trace_ids: [traceId] });
      const path = `/eval/v1/score-batches/${body.score_batch_id}`;
      for (const answer of [
        await other.batch(theirs, { since: SINCE }),
        await other.batch(await other.scorer(), { trace_ids: [traceId] }),
        await other.evaluator.get(path),
        await other.evaluator.post(`${path}/cancel`),
      ]) {
        expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
      }
      const runs = await other.evaluator.get(`/eval/v1/score-runs?score_batch_id=${body.score_batch_id}`);
      expect(runs.body.items).toEqual([]);
      expect(await on.readBatch(body)).toMatchObject({ batch_status: 'queued' });
    });

    it('returns 400 without a selector, and with mode', async () => {
      const scorer = await on.scorer();
      for (const body of [{}, { filters: [] }, { since: SINCE, mode: 'test' }]) {
        expect((await on.batch(scorer, body)).status).toBe(400);
      }
    });

    it('returns 403 to a viewer', async () => {
      const viewer = await on.organization.as('viewer');
      expect((await on.batch(await on.scorer(), { since: SINCE }, viewer)).status).toBe(403);
    });
  });

  it('creates a batch that is invisible if a crash interrupted it, and is later deleted', async () => {
    await fill(5);
    const scorer = await on.scorer();
    const { body } = await on.batch(scorer, { since: SINCE, limit: 2 });
    await app.database.query(
      `INSERT INTO score_batches (score_batch_id, org_id, workspace_id, scorer_id, scorer_version, grain, concurrency,
                                  uses_cache, created_by, created_at)
       SELECT id, org_id, workspace_id, scorer_id, scorer_version, grain, concurrency, uses_cache, created_by, created
       FROM score_batches, (VALUES ('batch_lost', now() - interval '1 hour'), ('batch_selecting', now())) v(id, created)
       WHERE score_batch_id = $1`,
      [body.score_batch_id],
    );
    await app.database.query(
      `INSERT INTO score_batch_targets (score_batch_id, ordinal, trace_id)
       SELECT id, n, md5($1 || n) FROM unnest('{batch_lost,batch_selecting}'::text[]) id, generate_series(1, 5) n`,
      [on.workspaceId],
    );
    // It does not take targets from other requests.
    expect((await on.score(scorer, { since: SINCE, unscored_only: true })).body.total).toBe(3);
    for (const id of ['batch_lost', 'batch_selecting']) {
      expect((await on.evaluator.get(`/eval/v1/score-batches/${id}`)).status).toBe(404);
      expect((await on.evaluator.post(`/eval/v1/score-batches/${id}/cancel`)).status).toBe(404);
    }
    expect(await list()).toHaveLength(1);
    await app.get(ScoreBatchService).deleteAbandoned();
    const left = await app.database.query(
      `SELECT DISTINCT score_batch_id FROM score_batches JOIN score_batch_targets USING (score_batch_id)
       WHERE workspace_id = $1`,
      [on.workspaceId],
    );
    expect(left).toEqual([{ score_batch_id: 'batch_selecting' }]);
  });

  describe('or a run with filters', () => {
    const scored = async (body: object): Promise<string[]> => {
      const answer = await on.score(await on.scorer(), { mode: 'preview', ...body });
      expect([answer.status, answer.body.detail]).toEqual([200, undefined]);
      return answer.body.results.map((one: any) => one.result_id ?? one.trace_id ?? one.session_id).sort();
    };
    const trace = async (service: string, members: object = {}): Promise<string> => {
      const traceId = newTraceId();
      const span = newSpan({ traceId, ...members });
      await on.evaluator.post('/telemetry/v1/traces', jsonExport([span], { 'service.name': service }));
      return traceId;
    };
    const of = (service: string) => [{ field: 'service_name', op: 'eq', value: service }];

    it('selects traces as a rule does, among all traces of the workspace', async () => {
      const shop = await trace('shop');
      await trace('other');
      const foreign = await ScoringFixture.create(app);
      await foreign.trace();
      expect(await scored({ filters: of('shop') })).toEqual([shop]);
      expect(await scored({ filters: of('none') })).toEqual([]);
      expect(
        await scored({ filters: [...of('shop'), { field: 'status', op: 'eq', value: 'error' }] }),
      ).toEqual([]);
      const models = await trace('shop', { attributes: { 'gen_ai.request.model': 'm-1' } });
      expect(await scored({ filters: [{ field: 'model', op: 'in', value: ['m-1', 'm-2'] }] })).toEqual([
        models,
      ]);
      expect(await scored({ filters: of('shop'), trace_ids: [shop] })).toEqual([shop]);
      const { body } = await on.batch(await on.scorer(), { filters: of('shop') });
      expect(body.total).toBe(2);
    });

    it('narrows the other selectors', async () => {
      const attributes = { 'session.id': 's1' };
      const [a, b] = [await trace('shop', { attributes }), await trace('other', { attributes })];
      await trace('other', { attributes: { 'session.id': 's2' } });
      const filters = of('shop');
      const future = new Date(Date.now() + 86_400_000).toISOString();
      expect(await scored({ filters, trace_ids: [a, b] })).toEqual([a]);
      expect(await scored({ filters, session_ids: ['s1', 's2'] })).toEqual(['s1']);
      expect(await scored({ filters, grain: 'session' })).toEqual(['s1']);
      expect(await scored({ filters, grain: 'session', session_ids: ['s1'], trace_ids: [b] })).toEqual([]);
      expect(await scored({ filters, since: future })).toEqual([]);
      const experiment = await on.experiment();
      const [ra] = await on.results(experiment, [{ trace_id: a }, { trace_id: b }, { trace_id: null }]);
      const { experiment_id } = experiment;
      expect(await scored({ filters, experiment_id })).toEqual([ra.result_id]);
      // A trace or session that only a result names meets no filter.
      const [unstored] = await on.results(experiment, [{ trace_id: newTraceId(), session_id: 'named' }]);
      expect(await scored({ filters, trace_ids: [unstored.trace_id] })).toEqual([]);
      expect(await scored({ filters, session_ids: ['named'] })).toEqual([]);
    });

    it('is rejected if they match more than the cap, with the count', async () => {
      await fill(101);
      const answer = await on.score(await on.scorer(), { filters: ALL });
      expect([answer.status, answer.body.code]).toEqual([422, 'validation_failed']);
      expect(answer.body.detail).toContain('matches 101 targets, more than 100');
      expect((await on.score(await on.scorer(), { filters: ALL, limit: 100 })).body.total).toBe(100);
    });

    it.each([
      ['a value of the wrong type', { field: 'span_count', op: 'gte', value: 'x' }, 400, '/filters/0/value'],
      ['an unknown field', { field: 'nothing', op: 'eq', value: 'x' }, 422, '/filters/0/field'],
      ['an unknown operator', { field: 'model', op: 'like', value: 'x' }, 422, '/filters/0/op'],
      ['an unknown status', { field: 'status', op: 'eq', value: 'x' }, 422, '/filters/0/value'],
      ['an unknown member', { field: 'model', op: 'eq', value: 'x', not: true }, 400, undefined],
    ])('is rejected for %s', async (_, filter, status, pointer) => {
      const scorer = await on.scorer();
      for (const answer of [
        await on.score(scorer, { filters: [filter] }),
        await on.batch(scorer, { filters: [filter] }),
      ]) {
        expect(answer.status).toBe(status);
        if (pointer) expect(answer.body.errors).toMatchObject([{ pointer }]);
      }
    });
  });
});
