import { createTestApp, type TestApp } from '#testing';
import { ScoringFixture } from './scoring.fixture';

describe('selecting targets to score takes', () => {
  let app: TestApp;
  let on: ScoringFixture;

  beforeAll(async () => {
    app = await createTestApp();
  });
  afterAll(() => app.close());
  beforeEach(async () => {
    on = await ScoringFixture.create(app);
  });

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

  it('a time range, start included and end excluded', async () => {
    await on.trace({ startedAt: day(1) });
    const two = await on.trace({ startedAt: day(2) });
    await on.trace({ startedAt: day(3) });
    const body = { since: '2025-01-02T12:00:00Z', until: '2025-01-03T12:00:00Z' };
    expect(await selected(body)).toEqual([two]);
  });

  it('targets that match all selectors', async () => {
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

  it('sessions of an experiment, by its results and their traces', async () => {
    const experiment = await on.experiment();
    const traceId = await on.trace({ startedAt: day(1), sessionId: 'by-trace' });
    await on.result(experiment, { trace_id: traceId });
    await on.result(experiment, { trace_id: null, session_id: 'by-result' });
    const found = await selected({ experiment_id: experiment.experiment_id, grain: 'session' });
    expect(found.sort()).toEqual(['by-result', 'by-trace']);
  });

  it('the grain of the ids, else of the scorer', async () => {
    const traceId = await on.trace({ sessionId: 's1' });
    const ofSessions = await on.scorer({ grain: 'session' });
    const grainOf = async (body: object) =>
      (await on.score(ofSessions, { mode: 'preview', ...body })).body.grain;
    expect(await grainOf({ trace_ids: [traceId] })).toBe('trace');
    expect(await grainOf({ session_ids: ['s1'] })).toBe('session');
    expect(await grainOf({ since: '2025-01-01T00:00:00Z' })).toBe('session');
    expect(await grainOf({ since: '2025-01-01T00:00:00Z', grain: 'trace' })).toBe('trace');
  });

  it('traces without spans that results name', async () => {
    const result = await on.result(await on.experiment(), { output: 1 });
    expect(await selected({ trace_ids: [result.trace_id] })).toEqual([result.trace_id]);
  });

  describe('targets without spans by any of their results:', () => {
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

    it('a session with another trace in the store', async () => {
      await on.trace({ sessionId: 'said' });
      const body = { grain: 'session', session_ids: ['said'] };
      expect(await selected({ ...body, trace_ids: [traces[0]] })).toEqual(['said']);
      expect(await selected({ ...body, trace_ids: [traces[0]], experiment_id })).toEqual(['said']);
    });

    it('a session by the time of each of its results', async () => {
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

    it('a session by the start of its trace, if stored', async () => {
      await on.trace({ traceId: traces[0]!, startedAt: Date.now() - 5 * HOUR });
      const body = { grain: 'session', session_ids: ['said'], trace_ids: [traces[0]] };
      expect(await selected({ ...body, until: from(-4 * HOUR) })).toEqual(['said']);
      expect((await on.score(await on.scorer(), { ...body, since: from(-4 * HOUR) })).status).toBe(400);
    });

    it('a trace by each session of its results', async () => {
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
