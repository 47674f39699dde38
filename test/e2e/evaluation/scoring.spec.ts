import { gzipSync } from 'node:zlib';
import { type ApiClient, createTestApp, type TestApp } from '#testing';
import { EXACT, newTraceId, ScoringFixture } from './scoring.fixture';

const HUMAN = { scorer_kind: 'human', definition: { rubric: 'Kind?', output: { type: 'boolean' } } };
const JUDGE = { scorer_kind: 'llm_judge', definition: { prompt: 'Kind?', output: { type: 'boolean' } } };
const script = (source: string) => ({ definition: { language: 'javascript', source } });

/** Answers what it was given to see. */
const MIRROR = script(
  'function score(subject) { return { score: 1, answers: { seen: subject, spans: subject.trace && subject.trace.spans.length } }; }',
);

describe('a request to score', () => {
  let app: TestApp;
  let on: ScoringFixture;
  let evaluator: ApiClient;

  beforeAll(async () => {
    app = await createTestApp();
  });
  afterAll(() => app.close());
  beforeEach(async () => {
    on = await ScoringFixture.create(app);
    evaluator = on.evaluator;
  });

  const runsOf = async (): Promise<any[]> => (await evaluator.get('/eval/v1/score-runs')).body.items;
  const errorPointers = (answer: any): string[] => answer.body.errors.map((error: any) => error.pointer);

  describe('is accepted', () => {
    it('with 202, the queued run and its address', async () => {
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
    ])('with a concurrency of %s as %s', async (concurrency, effective) => {
      const scorer = await on.scorer();
      const answer = await on.score(scorer, { trace_ids: [await on.trace()], concurrency });
      expect(answer.body.concurrency).toBe(effective);
    });

    it('with unscored_only, when many ask at once, never twice for one target', async () => {
      const scorer = await on.scorer();
      const experiment = await on.experiment();
      const made = await on.results(
        experiment,
        Array.from({ length: 10 }, () => ({ output: 1 })),
      );
      const body = { experiment_id: experiment.experiment_id, unscored_only: true, limit: 3 };
      const answers = await Promise.all(Array.from({ length: 12 }, () => on.score(scorer, body)));
      const statuses = answers.map((answer) => answer.status).sort();
      expect(statuses).toEqual([202, 202, 202, 202, ...Array<number>(8).fill(400)]);
      const taken = await app.database.query<{ trace_id: string }>(
        'SELECT trace_id FROM score_targets JOIN score_runs USING (score_run_id) WHERE scorer_id = $1',
        [scorer.scorer_id],
      );
      expect(taken.map((one) => one.trace_id).sort()).toEqual(made.map((one) => one.trace_id).sort());
    });

    it('with unscored_only and without a limit, when many ask at once, by one run', async () => {
      const scorer = await on.scorer();
      for (let n = 0; n < 3; n++) await on.trace();
      const body = { since: '2025-01-01T00:00:00Z', unscored_only: true };
      const answers = await Promise.all(Array.from({ length: 12 }, () => on.score(scorer, body)));
      const totals = answers.flatMap((answer) => (answer.status === 202 ? [answer.body.total] : []));
      expect(totals).toEqual([3]);
    });

    it('once under one Idempotency-Key', async () => {
      const scorer = await on.scorer();
      const path = `/eval/v1/scorers/${scorer.scorer_id}/score`;
      const body = { trace_ids: [await on.trace()] };
      const first = await evaluator.post(path, body, { 'idempotency-key': 'k1' });
      const second = await evaluator.post(path, body, { 'idempotency-key': 'k1' });
      expect(second.headers.get('idempotency-replayed')).toBe('true');
      expect(second.body).toEqual(first.body);
      expect(second.headers.get('location')).toBe(first.headers.get('location'));
      expect(await runsOf()).toHaveLength(1);
    });
  });

  describe('is refused', () => {
    it('to everyone below an evaluator', async () => {
      const scorer = await on.scorer();
      const body = { trace_ids: [await on.trace()] };
      for (const role of ['viewer', 'editor', 'runtime'] as const) {
        const answer = await on.score(scorer, body, await on.organization.as(role));
        expect(answer.status).toBe(403);
        expect(answer.body.code).toBe('access_denied');
      }
    });

    it('by any method but POST', async () => {
      const scorer = await on.scorer();
      const answer = await evaluator.get(`/eval/v1/scorers/${scorer.scorer_id}/score`);
      expect(answer.status).toBe(405);
      expect(answer.headers.get('allow')).toBe('POST');
    });

    it.each([
      ['nothing', {}],
      ['only how', { mode: 'score', concurrency: 2, limit: 3, grain: 'trace', unscored_only: true }],
      ['members without a value', { trace_ids: null, since: null }],
    ])('where it selects %s', async (_, body) => {
      const answer = await on.score(await on.scorer(), body);
      expect(answer.status).toBe(400);
      expect(answer.body.code).toBe('invalid_request');
      expect(answer.body.detail).toMatch(/trace_ids, session_ids, agent_ids, experiment_id, since or until/);
    });

    it.each<[string, object]>([
      ['/trace_id', { trace_id: [], since: '2025-01-01T00:00:00Z' }],
      ['/filter', { filter: {}, since: '2025-01-01T00:00:00Z' }],
    ])('with the unknown member %s, which could have been meant to narrow it', async (pointer, body) => {
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
    ])('with %s of the wrong form in %j', async (pointer, body) => {
      const answer = await on.score(await on.scorer(), { since: '2025-01-01T00:00:00Z', ...body });
      expect(answer.status).toBe(400);
      expect(errorPointers(answer)).toContain(pointer);
    });

    it('where since is after until', async () => {
      const answer = await on.score(await on.scorer(), {
        since: '2025-01-02T00:00:00Z',
        until: '2025-01-01T23:59:59Z',
      });
      expect(answer.status).toBe(400);
      expect(errorPointers(answer)).toEqual(['/since']);
    });

    it('where the grain contradicts the ids', async () => {
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
    ])('with an unknown %s as a value (422)', async (member, value) => {
      const answer = await on.score(await on.scorer(), { trace_ids: [await on.trace()], [member]: value });
      expect(answer.status).toBe(422);
      expect(answer.body.code).toBe('validation_failed');
      expect(errorPointers(answer)).toEqual([`/${member}`]);
    });

    it('for a scorer that does not exist, or is in another workspace', async () => {
      const body = { trace_ids: [await on.trace()] };
      expect((await on.score({ scorer_id: 'scr_x' }, body)).status).toBe(404);
      const other = await ScoringFixture.create(app);
      expect((await on.score(await other.scorer(), body)).status).toBe(404);
    });

    it('for an archived scorer', async () => {
      const scorer = await on.scorer();
      await evaluator.post(`/eval/v1/scorers/${scorer.scorer_id}/archive`);
      expect((await on.score(scorer, { trace_ids: [await on.trace()] })).status).toBe(409);
    });

    it('for a scorer that is people', async () => {
      const answer = await on.score(await on.scorer(HUMAN), { trace_ids: [await on.trace()] });
      expect(answer.status).toBe(400);
      expect(answer.body.code).toBe('invalid_request');
    });

    it.each(['score', 'test', 'preview'])(
      'in mode %s for a judge, where no judge backend is configured, and nothing is stored',
      async (mode) => {
        const answer = await on.score(await on.scorer(JUDGE), { mode, trace_ids: [await on.trace()] });
        expect(answer.status).toBe(503);
        expect(answer.body.code).toBe('service_unavailable');
        expect(await runsOf()).toEqual([]);
      },
    );

    it('naming each id that is not known', async () => {
      const scorer = await on.scorer();
      const [known, unknown] = [await on.trace({ sessionId: 's1' }), newTraceId()];
      const other = await ScoringFixture.create(app);
      const foreign = await other.trace();
      const traces = await on.score(scorer, { trace_ids: [known, unknown, foreign] });
      expect(traces.status).toBe(404);
      expect(traces.body.code).toBe('not_found');
      expect(traces.body.detail).toContain(unknown);
      expect(traces.body.errors).toEqual([
        { pointer: '/trace_ids/1', detail: expect.stringContaining(unknown) },
        { pointer: '/trace_ids/2', detail: expect.stringContaining(foreign) },
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
      ['a mode that there is not', { mode: 'dry_run' }],
    ])('for an experiment that does not exist, before %s', async (_, body) => {
      const answer = await on.score(await on.scorer(), { experiment_id: 'exp_x', ...body });
      expect(answer.status).toBe(404);
      expect(errorPointers(answer)).toEqual(['/experiment_id']);
    });

    it('with a limit of 0, saying that this selects nothing', async () => {
      const answer = await on.score(await on.scorer(), { trace_ids: [await on.trace()], limit: 0 });
      expect(answer.status).toBe(400);
      expect(answer.body.errors).toEqual([
        { pointer: '/limit', detail: expect.stringContaining('selects nothing') },
      ]);
    });

    it('where it selects no target', async () => {
      const scorer = await on.scorer();
      const traceId = await on.trace({ startedAt: Date.parse('2025-01-01T00:00:00Z') });
      for (const body of [
        { experiment_id: (await on.experiment()).experiment_id },
        { since: '2030-01-01T00:00:00Z' },
        { trace_ids: [traceId], since: '2025-01-02T00:00:00Z' },
        { trace_ids: [] },
      ]) {
        const answer = await on.score(scorer, body);
        expect(answer.status).toBe(400);
        expect(answer.body.code).toBe('invalid_request');
      }
    });

    it.each([
      ['score', 101, 100],
      ['test', 6, 5],
      ['preview', 6, 5],
    ])('with a limit over the cap of mode %s', async (mode, limit, cap) => {
      const answer = await on.score(await on.scorer(), { mode, limit, trace_ids: [await on.trace()] });
      expect(answer.status).toBe(422);
      expect(answer.body.code).toBe('validation_failed');
      expect(answer.body.detail).toContain(String(cap));
    });

    it('with the count of a selection over the cap, which is never cut in silence', async () => {
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
      expect(over.body.detail).toContain('101');
      expect((await on.score(scorer, { ...body, mode: 'test' })).status).toBe(422);
      expect((await on.score(scorer, { ...body, limit: 100 })).body.total).toBe(100);
    });

    it('with the count of a selection by time over the cap', async () => {
      const scorer = await on.scorer();
      for (let at = 0; at < 6; at++) await on.trace({ sessionId: `s${at}` });
      const body = { mode: 'preview', since: '2025-01-01T00:00:00Z' };
      const traces = await on.score(scorer, body);
      expect(traces.status).toBe(422);
      expect(traces.body.detail).toContain('holds 6 targets');
      const sessions = await on.score(scorer, { ...body, grain: 'session' });
      expect(sessions.status).toBe(422);
      expect(sessions.body.detail).toContain('holds 6 targets');
    });

    it('in an encoding, before it is looked into', async () => {
      const scorer = await on.scorer();
      const body = gzipSync(JSON.stringify({ trace_ids: [await on.trace()] }));
      const path = `/eval/v1/scorers/${scorer.scorer_id}/score`;
      const answer = await evaluator.post(path, body, { 'content-encoding': 'gzip' });
      expect(answer.status).toBe(415);
      expect(answer.body.code).toBe('unsupported_content_encoding');
      expect(answer.headers.get('accept-encoding')).toBe('identity');
    });
  });

  describe('selects', () => {
    const day = (n: number): number => Date.parse(`2025-01-0${n}T12:00:00Z`);

    /** The traces or sessions that a selection comes to, in their order. */
    const selected = async (body: object): Promise<string[]> => {
      const answer = await on.score(await on.scorer(), { mode: 'preview', ...body });
      expect(answer.status).toBe(200);
      return answer.body.results.map((one: any) => one.trace_id ?? one.session_id);
    };

    it('the newest up to the limit', async () => {
      const one = await on.trace({ startedAt: day(1) });
      const three = await on.trace({ startedAt: day(3) });
      const two = await on.trace({ startedAt: day(2) });
      expect(await selected({ trace_ids: [one, two, three], limit: 2 })).toEqual([three, two]);
      expect(await selected({ since: '2025-01-01T00:00:00Z', limit: 2 })).toEqual([three, two]);
    });

    it('by time, with the first moment and without the last', async () => {
      await on.trace({ startedAt: day(1) });
      const two = await on.trace({ startedAt: day(2) });
      await on.trace({ startedAt: day(3) });
      const body = { since: '2025-01-02T12:00:00Z', until: '2025-01-03T12:00:00Z' };
      expect(await selected(body)).toEqual([two]);
    });

    it('what all selectors have in common', async () => {
      const experiment = await on.experiment();
      const [a, b, c] = [
        await on.trace({ startedAt: day(1), sessionId: 's1' }),
        await on.trace({ startedAt: day(2), sessionId: 's1' }),
        await on.trace({ startedAt: day(3), sessionId: 's2' }),
      ];
      for (const trace_id of [a, b, c]) await on.result(experiment, { trace_id });
      const elsewhere = await on.trace({ startedAt: day(2), sessionId: 's1' });
      const { experiment_id } = experiment;
      expect(await selected({ experiment_id })).toEqual([c, b, a]);
      expect(await selected({ experiment_id, trace_ids: [a, elsewhere] })).toEqual([a]);
      expect(await selected({ experiment_id, since: '2025-01-02T00:00:00Z' })).toEqual([c, b]);
      expect(await selected({ experiment_id, trace_ids: [a, b, c], session_ids: ['s1'] })).toEqual([b, a]);
      expect(await selected({ session_ids: ['s1', 's2'], since: '2025-01-03T00:00:00Z' })).toEqual(['s2']);
      expect(await selected({ grain: 'session', session_ids: ['s1', 's2'], trace_ids: [c] })).toEqual(['s2']);
    });

    it('sessions of an experiment by its results and by their traces', async () => {
      const experiment = await on.experiment();
      const traceId = await on.trace({ startedAt: day(1), sessionId: 'by-trace' });
      await on.result(experiment, { trace_id: traceId });
      await on.result(experiment, { trace_id: null, session_id: 'by-result' });
      const found = await selected({ experiment_id: experiment.experiment_id, grain: 'session' });
      expect(found.sort()).toEqual(['by-result', 'by-trace']);
    });

    it('the grain of the ids, else the one of the scorer', async () => {
      const traceId = await on.trace({ sessionId: 's1' });
      const ofSessions = await on.scorer({ grain: 'session' });
      const grainOf = async (body: object) =>
        (await on.score(ofSessions, { mode: 'preview', ...body })).body.grain;
      expect(await grainOf({ trace_ids: [traceId] })).toBe('trace');
      expect(await grainOf({ session_ids: ['s1'] })).toBe('session');
      expect(await grainOf({ since: '2025-01-01T00:00:00Z' })).toBe('session');
      expect(await grainOf({ since: '2025-01-01T00:00:00Z', grain: 'trace' })).toBe('trace');
    });

    it('traces that only results know, because their spans never came', async () => {
      const result = await on.result(await on.experiment(), { output: 1 });
      expect(await selected({ trace_ids: [result.trace_id] })).toEqual([result.trace_id]);
    });

    describe('of traces and sessions that only results know, what any of their results says, not the newest alone:', () => {
      const HOUR = 3_600_000;
      const from = (ms: number): string => new Date(Date.now() + ms).toISOString();
      let experiment_id: string;
      let traces: string[];

      beforeEach(async () => {
        const experiment = await on.experiment();
        experiment_id = experiment.experiment_id;
        traces = [];
        for (let n = 0; n < 2; n++) {
          traces.push((await on.result(experiment, { session_id: 'said' })).trace_id as string);
        }
      });
      const madeBefore = (traceId: string, ms: number) =>
        app.database.query(
          `UPDATE results SET created_at = created_at - $2 * interval '1 ms' WHERE trace_id = $1`,
          [traceId, ms],
        );

      it('a session by each of its traces', async () => {
        const body = { grain: 'session', session_ids: ['said'] };
        for (const id of traces) {
          expect(await selected({ ...body, trace_ids: [id] })).toEqual(['said']);
          expect(await selected({ ...body, trace_ids: [id], experiment_id })).toEqual(['said']);
        }
        const elsewhere = await on.trace();
        for (const more of [{}, { experiment_id }]) {
          const answer = await on.score(await on.scorer(), { ...body, ...more, trace_ids: [elsewhere] });
          expect(answer.status).toBe(400);
        }
      });

      it('a session that the store knows by another trace', async () => {
        await on.trace({ sessionId: 'said' });
        const body = { grain: 'session', session_ids: ['said'] };
        expect(await selected({ ...body, trace_ids: [traces[0]] })).toEqual(['said']);
        expect(await selected({ ...body, trace_ids: [traces[0]], experiment_id })).toEqual(['said']);
      });

      it('a session by when each of its results was made', async () => {
        await madeBefore(traces[0]!, 5 * HOUR);
        const body = { grain: 'session', session_ids: ['said'] };
        for (const more of [{}, { experiment_id }, { trace_ids: traces }]) {
          expect(await selected({ ...body, ...more, until: from(-4 * HOUR) })).toEqual(['said']);
          expect(await selected({ ...body, ...more, since: from(-4 * HOUR) })).toEqual(['said']);
          const between = { since: from(-4 * HOUR), until: from(-3 * HOUR) };
          expect((await on.score(await on.scorer(), { ...body, ...more, ...between })).status).toBe(400);
        }
        const both = { ...body, trace_ids: [traces[0]], since: from(-4 * HOUR) };
        expect((await on.score(await on.scorer(), both)).status).toBe(400);
      });

      it('a session by when its trace happened, where the store knows that', async () => {
        await on.trace({ traceId: traces[0]!, startedAt: Date.now() - 5 * HOUR });
        const body = { grain: 'session', session_ids: ['said'], trace_ids: [traces[0]] };
        expect(await selected({ ...body, until: from(-4 * HOUR) })).toEqual(['said']);
        expect((await on.score(await on.scorer(), { ...body, since: from(-4 * HOUR) })).status).toBe(400);
      });

      it('a trace by each session that a result names with it', async () => {
        const trace_id = traces[0]!;
        await on.result({ experiment_id }, { trace_id, session_id: 'other' });
        const expectBoth = async () => {
          for (const session_id of ['said', 'other']) {
            const body = { grain: 'trace', trace_ids: [trace_id], session_ids: [session_id] };
            expect(await selected(body)).toEqual([trace_id]);
            expect(await selected({ ...body, experiment_id })).toEqual([trace_id]);
          }
        };
        await expectBoth();
        await on.trace({ traceId: trace_id });
        await expectBoth();
      });
    });

    it('each trace once, however many results name it', async () => {
      const experiment = await on.experiment();
      const trace_id = await on.trace();
      for (const output of [1, 2]) await on.result(experiment, { trace_id, output });
      expect(await selected({ experiment_id: experiment.experiment_id })).toEqual([trace_id]);
    });
  });

  describe('shows a scorer', () => {
    const seen = async (body: object, scorer = MIRROR): Promise<any> => {
      const answer = await on.score(await on.scorer(scorer), { mode: 'test', ...body });
      expect(answer.status).toBe(200);
      expect(answer.body.results[0].error).toBeUndefined();
      return answer.body.results[0].answers.seen;
    };

    it('the result of the experiment that names the trace, else the newest that does', async () => {
      const trace_id = await on.trace({ input: 'root in', output: 'root out' });
      const [first, second] = [await on.experiment(), await on.experiment()];
      const content = { input: { q: 1 }, expected: [null], metadata: { m: 1 } };
      await on.result(first, { trace_id, ...content, output: 'first' });
      await on.result(second, { trace_id, output: 'second' });
      expect(await seen({ trace_ids: [trace_id], experiment_id: first.experiment_id })).toMatchObject({
        ...content,
        output: 'first',
      });
      expect(await seen({ trace_ids: [trace_id] })).toMatchObject({
        input: null,
        output: 'second',
        expected: null,
        metadata: {},
      });
    });

    it('what the root span was given and answered, where no result names the trace', async () => {
      const trace_id = await on.trace({ input: 'in', output: 'out' });
      expect(await seen({ trace_ids: [trace_id] })).toMatchObject({
        input: 'in',
        output: 'out',
        expected: null,
        metadata: null,
        session: null,
        trace: { trace_id, root_name: 'root', duration_ms: 100, spans: [{ name: 'root' }] },
      });
    });

    it('no trace where its spans never came', async () => {
      const { trace_id } = await on.result(await on.experiment(), { output: 'x' });
      expect(await seen({ trace_ids: [trace_id] })).toMatchObject({
        output: 'x',
        trace: null,
        session: null,
      });
    });

    it('the spans of the trace in their order, up to a bound that it is told of', async () => {
      const trace_id = await on.trace({ spans: 3 });
      const few = await seen({ trace_ids: [trace_id] });
      expect(few.trace.spans.map((span: any) => span.name)).toEqual(['root', 'step 1', 'step 2']);
      expect(few.trace).toMatchObject({ span_count: 3, is_truncated: false });
      const large = await on.trace({ spans: 1_100 });
      const source = `function score({ trace }) {
        return { score: trace.spans.length, answers: { seen: { cut: trace.is_truncated, of: trace.span_count } } };
      }`;
      const counted = await on.score(await on.scorer(script(source)), { mode: 'test', trace_ids: [large] });
      expect(counted.body.results[0]).toMatchObject({
        score: 1_000,
        answers: { seen: { cut: true, of: 1_100 } },
      });
    });

    it('checks nothing but what is certain of a trace that is cut', async () => {
      const trace_ids = [await on.trace({ spans: 1_100 })];
      const checked = async (check: object): Promise<any> => {
        const scorer = await on.scorer({ definition: { checks: [check] } });
        return (await on.score(scorer, { mode: 'test', trace_ids })).body.results[0];
      };
      for (const check of [
        { type: 'tool_called', tool: 'rm', max: 0 },
        { type: 'max_steps', max: 1_050 },
        { type: 'contains', path: 'trace.spans', value: { name: 'step 1099' } },
      ]) {
        const item = await checked(check);
        expect(item.error).toContain('larger than a scorer is shown');
        expect(item).not.toHaveProperty('score');
      }
      expect(await checked({ type: 'max_duration_ms', max: 5_000 })).toMatchObject({ score: 1 });
      expect(await checked({ type: 'equals', path: 'trace.span_count', value: 1_100 })).toMatchObject({
        score: 1,
      });
    });

    it('the session of a trace', async () => {
      const sessionId = 'chat';
      const at = Date.now();
      const first = await on.trace({ sessionId, startedAt: at - 1000, input: 'hello', output: 'hi' });
      const second = await on.trace({ sessionId, startedAt: at, input: 'and now?', output: 'bye' });
      const { session } = await seen({ trace_ids: [second] });
      expect(session).toMatchObject({
        session_id: sessionId,
        messages: [
          { role: 'user', content: 'hello', trace_id: first },
          { role: 'assistant', content: 'hi', trace_id: first },
          { role: 'user', content: 'and now?', trace_id: second },
          { role: 'assistant', content: 'bye', trace_id: second },
        ],
        traces: [{ trace_id: first }, { trace_id: second }],
        is_truncated: false,
      });
    });

    it('of a session with more traces than it is shown what was said first and last of all', async () => {
      const sessionId = 'long';
      const at = Date.now();
      for (let i = 0; i < 102; i++) {
        await on.trace({ sessionId, startedAt: at + i, input: `ask ${i}`, output: `tell ${i}` });
      }
      const source = `function score({ input, output, session }) {
        const { traces, messages, trace_count, is_truncated } = session;
        return { score: 1, answers: { input, output, shown: [traces.length, messages.length], trace_count, is_truncated } };
      }`;
      const answer = await on.score(await on.scorer(script(source)), {
        mode: 'test',
        session_ids: [sessionId],
      });
      expect(answer.body.results[0].answers).toEqual({
        input: 'ask 0',
        output: 'tell 101',
        shown: [100, 200],
        trace_count: 102,
        is_truncated: true,
      });
    });

    describe('of what is large', () => {
      const MIB = 1024 * 1024;
      const SHAPE = `function score({ input, output, trace, session }) {
        const size = (value) => (value === null ? 0 : JSON.stringify(value).length);
        const told = (one) => [size(one.input), size(one.output), one.is_truncated];
        return { score: 1, answers: {
          given: [size(input), size(output)],
          trace: trace && [...told(trace), trace.spans.map((span) => [size(span.attributes) > 2, span.is_truncated])],
          session: session && {
            messages: session.messages.map(({ content }) => size(content)),
            count: session.trace_count,
            traces: session.traces.map(told),
            cut: session.is_truncated,
          },
        } };
      }`;

      /** How much of a target a script is shown; what it is shown is held to the engine's limit. */
      async function shapeOf(selection: object): Promise<any> {
        const definition = { language: 'javascript', source: SHAPE, memory_mb: 256, timeout_ms: 10_000 };
        const scorer = await on.scorer({ definition });
        const preview = await on.score(scorer, { mode: 'preview', ...selection });
        const [{ preview_request, error: refusal }] = preview.body.results;
        expect(refusal).toBeUndefined();
        const members = Object.values(preview_request.subject).map((one) => JSON.stringify(one).length);
        expect(members.reduce((sum, length) => sum + length)).toBeLessThanOrEqual(8 * MIB);
        const answer = await on.score(scorer, { mode: 'test', ...selection });
        expect(answer.body.results).toMatchObject([{ score: 1 }]);
        return answer.body.results[0].answers;
      }

      it('a root span of 3 MiB as it is given and with its span, the trace without a copy of its own', async () => {
        const size = 3 * MIB;
        const trace_id = await on.trace({ output: 'x'.repeat(size - 2), spans: 3 });
        expect(await shapeOf({ trace_ids: [trace_id] })).toEqual({
          given: [0, size],
          trace: [
            0,
            0,
            true,
            [
              [true, false],
              [false, false],
              [false, false],
            ],
          ],
          session: null,
        });
      });

      it('a root span of 5 MiB as it is given, and the other spans of the trace', async () => {
        const size = 5 * MIB;
        const trace_id = await on.trace({ output: 'x'.repeat(size - 2), spans: 2 });
        expect(await shapeOf({ trace_ids: [trace_id] })).toMatchObject({
          given: [0, size],
          trace: [
            0,
            0,
            true,
            [
              [false, true],
              [false, false],
            ],
          ],
        });
      });

      it('what a result gives, though its root span alone is larger than a scorer is shown', async () => {
        const trace_id = await on.trace({ output: 'x'.repeat(9 * MIB), spans: 2 });
        await on.result(await on.experiment(), { trace_id, input: 'i', output: 'o' });
        expect(await shapeOf({ trace_ids: [trace_id] })).toMatchObject({
          given: [3, 3],
          trace: [
            0,
            0,
            true,
            [
              [false, true],
              [false, false],
            ],
          ],
        });
      });

      it('nothing where the root span alone is larger than a scorer is shown', async () => {
        const trace_id = await on.trace({ output: 'x'.repeat(9 * MIB) });
        const answer = await on.score(await on.scorer(), { mode: 'test', trace_ids: [trace_id] });
        expect(answer.body.results).toMatchObject([{ error: expect.stringContaining('Its root span') }]);
        expect(answer.body.results[0]).not.toHaveProperty('score');
      });

      it('nothing of a session that begins or ends with more than a scorer is shown', async () => {
        const at = Date.now();
        const refusal = async (sessionId: string): Promise<string> => {
          const answer = await on.score(await on.scorer(), { mode: 'test', session_ids: [sessionId] });
          return answer.body.results[0].error;
        };
        const output = 'x'.repeat(9 * MIB);
        await on.trace({ sessionId: 'begins', startedAt: at, output });
        await on.trace({ sessionId: 'begins', startedAt: at + 1, output: 'small' });
        expect(await refusal('begins')).toContain('What was said first in it');
        await on.trace({ sessionId: 'ends', startedAt: at, output: 'small' });
        await on.trace({ sessionId: 'ends', startedAt: at + 1, output });
        expect(await refusal('ends')).toContain('What was said last in it');
      });

      it('of a session its messages before what its traces repeat of them, and is told', async () => {
        const sessionId = 'large';
        for (let i = 0; i < 3; i++) {
          await on.trace({ sessionId, startedAt: Date.now() + i, output: 'x'.repeat(MIB - 2) });
        }
        const shown = await shapeOf({ session_ids: [sessionId] });
        expect(shown).toMatchObject({ given: [0, MIB], trace: null });
        expect(shown.session).toEqual({
          messages: [MIB, MIB, MIB],
          count: 3,
          traces: [
            [0, 0, true],
            [0, 0, true],
            [0, 0, true],
          ],
          cut: false,
        });
      });

      it('of a session as many messages as there is room for, and is told', async () => {
        const sessionId = 'larger';
        for (let i = 0; i < 4; i++) {
          await on.trace({ sessionId, startedAt: Date.now() + i, output: 'x'.repeat(3 * MIB - 2) });
        }
        const { session } = await shapeOf({ session_ids: [sessionId] });
        expect(session).toMatchObject({ count: 4, cut: true });
        expect(session.messages.length).toBeGreaterThan(0);
        expect(session.messages.length).toBeLessThan(4);
        expect(session.traces).toHaveLength(4);
      });
    });

    it('of a session its first user message, its last answer, and its traces with their spans', async () => {
      const sessionId = 'chat';
      const at = Date.now();
      const say = (role: string, content: string) => ({ role, content });
      const history = [say('system', 'be kind'), say('user', 'hello')];
      await on.trace({
        sessionId,
        startedAt: at - 1000,
        input: history,
        output: [say('assistant', 'hi')],
        spans: 2,
      });
      const longer = [...history, say('assistant', 'hi'), say('user', 'and now?')];
      await on.trace({ sessionId, startedAt: at, input: longer, output: [say('assistant', 'bye')] });
      await on.result(await on.experiment(), {
        session_id: sessionId,
        trace_id: null,
        expected: 'bye',
        metadata: { m: 1 },
      });
      const shown = await seen({ session_ids: [sessionId] });
      expect(shown).toMatchObject({
        input: 'hello',
        output: 'bye',
        expected: 'bye',
        metadata: { m: 1 },
        trace: null,
      });
      expect(shown.session.messages.map((one: any) => [one.role, one.content])).toEqual([
        ['system', 'be kind'],
        ['user', 'hello'],
        ['assistant', 'hi'],
        ['user', 'and now?'],
        ['assistant', 'bye'],
      ]);
      expect(shown.session.traces.map((one: any) => one.spans.length)).toEqual([2, 1]);
    });
  });

  describe('in preview and test', () => {
    it('has the time of a test for a test alone', async () => {
      const slow = await createTestApp({ env: { REQUEST_TIMEOUT_MS: '2000' } });
      try {
        const there = await ScoringFixture.create(slow);
        const experiment = await there.experiment();
        await there.result(experiment, { output: 1, expected: 1 });
        const scorer = await there.scorer();
        const body = { experiment_id: experiment.experiment_id };
        // no statement waits for as long as a request may take, but they do together
        const answers = await lockedFor(slow, 'results', 2_800, () =>
          lockedFor(slow, 'experiments', 1_400, () =>
            Promise.resolve(
              ['test', 'preview', 'score'].map((mode) => there.score(scorer, { ...body, mode })),
            ),
          ),
        );
        const statuses = (await Promise.all(answers)).map((answer) => answer.status);
        expect(statuses).toEqual([200, 504, 504]);
      } finally {
        await slow.close();
      }
    });

    it('previews exactly what would be run, and runs and keeps nothing', async () => {
      const definition = { ...EXACT, timeout_ms: 700 };
      const scorer = await on.scorer({ definition });
      const { trace_id } = await on.result(await on.experiment(), { input: 'i', output: 'o', expected: 'e' });
      const answer = await on.score(scorer, { mode: 'preview', trace_ids: [trace_id] });
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({
        grain: 'trace',
        mode: 'preview',
        scorer_id: scorer.scorer_id,
        scorer_version: 1,
        results: [
          {
            trace_id,
            elapsed_ms: 0,
            preview_request: {
              ...definition,
              subject: { input: 'i', output: 'o', expected: 'e', metadata: {}, trace: null, session: null },
            },
          },
        ],
      });
      expect(await runsOf()).toEqual([]);
    });

    it('tests the targets in their order and keeps nothing', async () => {
      const scorer = await on.scorer();
      const experiment = await on.experiment();
      const made = await on.results(experiment, [
        { output: 'a', expected: 'a' },
        { output: 'a', expected: 'b' },
      ]);
      const answer = await on.score(scorer, { mode: 'test', experiment_id: experiment.experiment_id });
      expect(answer.status).toBe(200);
      expect(answer.body).toMatchObject({ mode: 'test', grain: 'trace', scorer_version: 1 });
      const scores = new Map(answer.body.results.map((one: any) => [one.trace_id, one.score]));
      expect(made.map((result) => scores.get(result.trace_id))).toEqual([1, 0]);
      for (const one of answer.body.results) expect(one.elapsed_ms).toBeGreaterThanOrEqual(0);
      expect(await runsOf()).toEqual([]);
      const kept = await evaluator.get(`/eval/v1/experiments/${experiment.experiment_id}/results`);
      for (const result of kept.body.items) expect(result.scores).toEqual({});
    });

    it('tells a failure as an error, never as a score of 0, and an abstention as neither', async () => {
      const trace_ids = [await on.trace()];
      const one = async (source: string) =>
        (await on.score(await on.scorer(script(source)), { mode: 'test', trace_ids })).body.results[0];
      const failed = await one('function score() { throw new Error("no luck"); }');
      expect(failed.error).toContain('no luck');
      expect(failed).not.toHaveProperty('score');
      const looping = await one('function score() { for (;;); }');
      expect(looping.error).toMatch(/timeout_ms/);
      const abstained = await one('function score() { return null; }');
      expect(abstained).not.toHaveProperty('score');
      expect(abstained).not.toHaveProperty('error');
    });

    it('answers what the scorer says beside its score', async () => {
      const source = `function score() {
        return { score: 0.5, label: 'fair', reasoning: 'because', answers: { a: 1 } };
      }`;
      const answer = await on.score(await on.scorer(script(source)), {
        mode: 'test',
        trace_ids: [await on.trace()],
      });
      expect(answer.body.results[0]).toMatchObject({
        score: 0.5,
        choice: 'fair',
        reasoning: 'because',
        answers: { a: 1 },
      });
    });
  });

  it('is listed and read as a run by those who may read, of its own workspace alone', async () => {
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

  it('can be cancelled while it is queued: every target then ends with an error', async () => {
    const scorer = await on.scorer();
    const { body } = await on.score(scorer, { trace_ids: [await on.trace(), await on.trace()] });
    const path = `/eval/v1/score-runs/${body.score_run_id}`;
    const cancelled = await evaluator.post(`${path}/cancel`);
    expect(cancelled.status).toBe(200);
    expect(cancelled.body).toMatchObject({
      run_status: 'failed',
      failure_code: 'cancelled',
      completed_count: 0,
      failed_count: 2,
    });
    expect(cancelled.body.finished_at).not.toBeNull();
    const again = await evaluator.post(`${path}/cancel`);
    expect(again.status).toBe(200);
    expect(again.body).toEqual(cancelled.body);
    const results = await on.resultsOf(body.score_run_id);
    expect(results.map((one) => [one.error, one.score])).toEqual([
      ['The run was cancelled before this was scored.', undefined],
      ['The run was cancelled before this was scored.', undefined],
    ]);
  });
});

/** Holds a table for so many milliseconds from now, at the beginning of which some work is begun. */
async function lockedFor<Result>(
  { database }: TestApp,
  table: string,
  ms: number,
  begin: () => Promise<Result>,
): Promise<Result> {
  return database.transaction(async (tx) => {
    await tx.query(`LOCK TABLE ${table}`);
    const [result] = await Promise.all([begin(), new Promise((resolve) => setTimeout(resolve, ms))]);
    return result;
  });
}
