import { sharedApp } from '#testing';
import { ScoringFixture } from './scoring.fixture';

describe('target selection', () => {
  const app = sharedApp();
  let on: ScoringFixture;

  beforeEach(async () => {
    on = await ScoringFixture.create(app);
  });

  const day = (n: number): number => Date.parse(`2025-01-0${n}T12:00:00Z`);

  /** Returns the traces or sessions that a selection contains, in order. */
  const selected = async (body: object): Promise<string[]> => {
    const answer = await on.score(await on.scorer(), { mode: 'preview', ...body });
    expect(answer.status).toBe(200);
    return answer.body.results.map((one: any) => one.trace_id ?? one.session_id);
  };

  it('takes the newest targets up to the limit', async () => {
    const one = await on.trace({ startedAt: day(1) });
    const three = await on.trace({ startedAt: day(3) });
    const two = await on.trace({ startedAt: day(2) });
    expect(await selected({ trace_ids: [one, two, three], limit: 2 })).toEqual([three, two]);
    expect(await selected({ since: '2025-01-01T00:00:00Z', limit: 2 })).toEqual([three, two]);
  });

  it('takes a time range, with the start and without the end', async () => {
    await on.trace({ startedAt: day(1) });
    const two = await on.trace({ startedAt: day(2) });
    await on.trace({ startedAt: day(3) });
    const body = { since: '2025-01-02T12:00:00Z', until: '2025-01-03T12:00:00Z' };
    expect(await selected(body)).toEqual([two]);
  });

  it('takes targets that match all selectors', async () => {
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

  it('uses the grain of the ids, else of the scorer', async () => {
    const traceId = await on.trace({ sessionId: 's1' });
    const ofSessions = await on.scorer({ grain: 'session' });
    const grainOf = async (body: object) =>
      (await on.score(ofSessions, { mode: 'preview', ...body })).body.grain;
    expect(await grainOf({ trace_ids: [traceId] })).toBe('trace');
    expect(await grainOf({ session_ids: ['s1'] })).toBe('session');
    expect(await grainOf({ since: '2025-01-01T00:00:00Z' })).toBe('session');
    expect(await grainOf({ since: '2025-01-01T00:00:00Z', grain: 'trace' })).toBe('trace');
  });

  it('takes traces without spans that results name', async () => {
    const result = await on.result(await on.experiment(), { output: 1 });
    expect(await selected({ trace_ids: [result.trace_id] })).toEqual([result.trace_id]);
  });

  describe('of targets without spans', () => {
    const HOUR = 3_600_000;
    const from = (ms: number): string => new Date(Date.now() + ms).toISOString();
    let experiment_id: string;
    let traces: string[];
    const expectNothing = async (body: object): Promise<void> => expect(await selected(body)).toEqual([]);

    beforeEach(async () => {
      const experiment = await on.experiment();
      experiment_id = experiment.experiment_id;
      traces = [];
      for (let n = 0; n < 2; n++) {
        traces.push((await on.result(experiment, { session_id: 'said' })).trace_id as string);
      }
    });
    const createdEarlier = (traceId: string, ms: number) =>
      app.database.query(
        `UPDATE results SET created_at = created_at - $2 * interval '1 ms' WHERE trace_id = $1`,
        [traceId, ms],
      );

    it('finds a session by each of its traces', async () => {
      const body = { grain: 'session', session_ids: ['said'] };
      for (const id of traces) {
        expect(await selected({ ...body, trace_ids: [id] })).toEqual(['said']);
      }
      await expectNothing({ ...body, trace_ids: [await on.trace()] });
    });

    it('finds a session with another trace in the store', async () => {
      await on.trace({ sessionId: 'said' });
      const body = { grain: 'session', session_ids: ['said'] };
      expect(await selected({ ...body, trace_ids: [traces[0]] })).toEqual(['said']);
    });

    it('finds a session by the time of each of its results', async () => {
      await createdEarlier(traces[0]!, 5 * HOUR);
      const body = { grain: 'session', session_ids: ['said'] };
      for (const more of [{}, { trace_ids: traces }]) {
        expect(await selected({ ...body, ...more, until: from(-4 * HOUR) })).toEqual(['said']);
        expect(await selected({ ...body, ...more, since: from(-4 * HOUR) })).toEqual(['said']);
        const between = { since: from(-4 * HOUR), until: from(-3 * HOUR) };
        await expectNothing({ ...body, ...more, ...between });
      }
      const both = { ...body, trace_ids: [traces[0]], since: from(-4 * HOUR) };
      await expectNothing(both);
    });

    it('finds a session by the start of its trace, if stored', async () => {
      await on.trace({ traceId: traces[0]!, startedAt: Date.now() - 5 * HOUR });
      const body = { grain: 'session', session_ids: ['said'], trace_ids: [traces[0]] };
      expect(await selected({ ...body, until: from(-4 * HOUR) })).toEqual(['said']);
      await expectNothing({ ...body, since: from(-4 * HOUR) });
    });

    it('finds a trace by each session of its results', async () => {
      const trace_id = traces[0]!;
      await on.result({ experiment_id }, { trace_id, session_id: 'other' });
      const expectBoth = async () => {
        for (const session_id of ['said', 'other']) {
          const body = { grain: 'trace', trace_ids: [trace_id], session_ids: [session_id] };
          expect(await selected(body)).toEqual([trace_id]);
        }
      };
      await expectBoth();
      await on.trace({ traceId: trace_id });
      await expectBoth();
    });
  });

  it('takes each trace once, however many results name it', async () => {
    const experiment = await on.experiment();
    const trace_id = await on.trace();
    for (const output of [1, 2]) await on.result(experiment, { trace_id, output });
    expect(await selected({ trace_ids: [trace_id] })).toEqual([trace_id]);
  });

  describe('of an experiment', () => {
    let experiment_id: string;

    beforeEach(async () => {
      experiment_id = (await on.experiment()).experiment_id;
    });

    const result = (members: object): Promise<any> => on.result({ experiment_id }, members);
    const itemsOf = async (body: object = {}): Promise<any[]> => {
      const answer = await on.score(await on.scorer(), { mode: 'preview', experiment_id, ...body });
      expect(answer.status).toBe(200);
      return answer.body.results;
    };
    const cases = async (body: object = {}): Promise<string[]> =>
      (await itemsOf(body)).map(({ case_id }) => case_id);

    it.each(['trace', 'session'])('includes a case without a trace, in grain %s', async (grain) => {
      const crashed = await result({ case_id: 'crashed', trace_id: null, error: { message: 'timeout' } });
      const right = await result({ case_id: 'right', output: 1, expected: 1 });
      expect(await itemsOf({ grain })).toMatchObject([
        { result_id: right.result_id, case_id: 'right', trace_id: right.trace_id },
        { result_id: crashed.result_id, case_id: 'crashed' },
      ]);
      expect((await itemsOf({ grain }))[1]).not.toHaveProperty('trace_id');
    });

    it.each(['trace', 'session'])(
      'includes two results with the same trace and session, in grain %s',
      async (grain) => {
        const named = { trace_id: await on.trace({ sessionId: 's' }), session_id: 's' };
        await result({ case_id: 'one', ...named });
        await result({ case_id: 'two', ...named });
        expect(await cases({ grain })).toEqual(['two', 'one']);
      },
    );

    it('takes the newest results first, up to the limit', async () => {
      for (const case_id of ['1', '2', '3']) await result({ case_id });
      expect(await cases({ limit: 2 })).toEqual(['3', '2']);
    });

    it('excludes results of another experiment that name the same trace', async () => {
      const { trace_id } = await result({ case_id: 'own' });
      await on.result(await on.experiment(), { trace_id, case_id: 'other' });
      expect(await cases()).toEqual(['own']);
    });

    it('can be narrowed by traces', async () => {
      const { trace_id } = await result({ case_id: 'one' });
      await result({ case_id: 'two' });
      await result({ case_id: 'crashed', trace_id: null });
      expect(await cases({ trace_ids: [trace_id] })).toEqual(['one']);
    });

    it('can be narrowed by the session of a result, else by the session of its trace', async () => {
      await on.trace({ sessionId: 'other' });
      const trace_id = await on.trace({ sessionId: 'said' });
      await result({ case_id: 'by trace', trace_id });
      await result({ case_id: 'by result', trace_id: null, session_id: 'said' });
      await result({ case_id: 'other', trace_id, session_id: 'other' });
      await result({ case_id: 'none', trace_id: null });
      expect(await cases({ session_ids: ['said'] })).toEqual(['by result', 'by trace']);
      const items = await itemsOf({ session_ids: ['said'] });
      expect(items.map(({ session_id }) => session_id)).toEqual(['said', 'said']);
    });

    it('can be narrowed by the agents of sessions', async () => {
      const editor = await on.organization.as('editor');
      const agent = async (name: string): Promise<string[]> => {
        const { body } = await editor.post('/agent/v1/agents', {
          ...{ workspace_id: on.workspaceId, name, display_name: name, model: 'm', instructions: 'x' },
        });
        const path = `/agent/v1/agents/${body.agent_id}/sessions`;
        const session = await (await on.organization.as('runtime')).post(path, { prompt: 'hi' });
        return [body.agent_id, session.body.session_id];
      };
      const [[helper, session_id], [other]] = [await agent('helper'), await agent('other')];
      await result({ case_id: 'one', trace_id: null, session_id });
      await result({ case_id: 'two', trace_id: null });
      expect(await cases({ agent_ids: [helper!] })).toEqual(['one']);
      expect(await cases({ agent_ids: [other!] })).toEqual([]);
    });

    it('can be narrowed by the start of a stored trace, else by the creation time of the result', async () => {
      const trace_id = await on.trace({ startedAt: day(1) });
      await result({ case_id: 'traced', trace_id });
      await result({ case_id: 'untraced', trace_id: null });
      expect(await cases({ until: '2025-01-02T00:00:00Z' })).toEqual(['traced']);
      expect(await cases({ since: '2025-01-02T00:00:00Z' })).toEqual(['untraced']);
    });

    it('is rejected over the cap, with the count of the narrowed selection', async () => {
      const trace_id = await on.trace({ startedAt: day(1), sessionId: 's' });
      for (let at = 0; at < 6; at++) await result({ trace_id });
      await result({ trace_id: null });
      for (const [more, count] of [[{}, 7], [{ session_ids: ['s'] }, 6], [{ trace_ids: [trace_id] }, 6]] as const) {
        const answer = await on.score(await on.scorer(), { mode: 'preview', experiment_id, ...more });
        expect([answer.status, answer.body.detail]).toEqual([422, expect.stringContaining(`matches ${count} targets`)]);
      }
    }); // oxfmt-ignore
  });
});
