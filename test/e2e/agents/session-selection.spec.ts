import {
  type Answer,
  type ApiClient,
  ownApp,
  jsonExport,
  newOrganization,
  newSpan,
  newTraceId,
  type TestOrganization,
} from '#testing';
import { workOf } from '../evaluation/work.harness';

/** More sessions than are looked up by id. */
const MANY = 2_000;
/** The maximum number of rows that a statement may read to select a few sessions. */
const ROWS_MAX = 5_000;

describe('selecting among many sessions of agents', () => {
  const app = ownApp({ autovacuum: false });
  let org: TestOrganization;
  let evaluator: ApiClient;
  let runtime: ApiClient;
  /** The time that ages are relative to, however long a test takes. */
  let began: Date;

  beforeEach(async () => {
    org = await newOrganization(app);
    evaluator = await org.as('evaluator');
    runtime = await org.as('runtime');
    began = new Date();
  });

  const newScorer = async (): Promise<string> => {
    const made = await evaluator.post('/eval/v1/scorers', {
      workspace_id: org.workspaceId,
      name: 'any',
      scorer_kind: 'code',
      grain: 'session',
      definition: { language: 'javascript', source: 'function score() { return 1; }' },
    });
    return made.body.scorer_id as string;
  };
  let made = 0;
  /** Inserts an agent with sessions, named after their age in minutes. */
  const newAgent = async (count: number): Promise<{ agent: string; session: (age: number) => string }> => {
    const name = `agent-${(made += 1)}`;
    const { body } = await evaluator.post('/agent/v1/agents', { workspace_id: org.workspaceId, name });
    const id = (age: number) => `${name}-${age}`;
    await app.database.query(
      `INSERT INTO agent_sessions
         (session_id, org_id, workspace_id, agent_id, version_ordinal, prompt, session_status, message_count,
          last_message_at, metadata, generation, created_at, updated_at, created_by)
       SELECT $4 || '-' || n, $1, $2, $3, 1, 'many', 'active', 0, $6::timestamptz - n * interval '1 minute', '{}', 1,
              now(), now(), 'test'
       FROM generate_series(1, $5::integer) n`,
      [org.orgId, org.workspaceId, body.agent_id, name, count, began],
    );
    return { agent: body.agent_id as string, session: id };
  };
  const trace = async (session: string, at: Date): Promise<void> => {
    const attributes = { 'session.id': session };
    const start = BigInt(at.getTime()) * 1_000_000n;
    const span = newSpan({ traceId: newTraceId(), attributes, start });
    expect((await runtime.post('/telemetry/v1/traces', jsonExport([span]))).status).toBe(200);
  };
  const ago = (minutes: number): Date => new Date(began.getTime() - minutes * 60_000);
  const score = (scorer: string, selection: Record<string, unknown>): Promise<Answer> =>
    evaluator.post(`/eval/v1/scorers/${scorer}/score`, { mode: 'test', ...selection });
  const selected = async (scorer: string, selection: Record<string, unknown>): Promise<string[]> => {
    const answer = await score(scorer, selection);
    expect([answer.status, answer.body.detail]).toEqual([200, undefined]);
    return answer.body.results.map(({ session_id }: any) => session_id);
  };

  it('reads only the selected sessions among 100,001', async () => {
    const { agent, session } = await newAgent(100_001);
    const scorer = await newScorer();
    // No trace is newer than the selected sessions. Without statistics, the planner may prefer a full scan to an index.
    await app.database.query(
      `INSERT INTO traces (workspace_id, trace_id, session_id, started_at, ended_at, span_count, error_count, models)
       SELECT $1, lpad(to_hex(n), 32, '0'), $2 || '-' || n, $3::timestamptz - (n + 2) * interval '1 minute', now(), 1, 0, '{}'
       FROM generate_series(1, 20000) n`,
      [org.workspaceId, session(1).slice(0, -2), began],
    );
    const agent_ids = [agent];
    const future = new Date(Date.now() + 3_600_000).toISOString();
    const cases: [Record<string, unknown>, number, string[]][] = [
      [{ limit: 1 }, 200, [session(1)]],
      [{ limit: 2, until: ago(50_000.5).toISOString() }, 200, [session(50_001), session(50_002)]],
      [{ since: future }, 200, []],
      [{ limit: 1, since: future }, 200, []],
      [{ limit: 1, session_ids: [session(90_000), session(90_001)] }, 200, [session(90_000)]],
      [{ limit: 1, unscored_only: true }, 200, [session(1)]],
    ];
    const check = async ([selection, status, expected]: (typeof cases)[number]): Promise<void> => {
      let answer: Answer | undefined;
      const works = await workOf(app.database, async () => {
        answer = await score(scorer, { agent_ids, ...selection });
      });
      expect([selection, answer!.status]).toEqual([selection, status]);
      expect((answer!.body.results ?? []).map((one: any) => one.session_id)).toEqual(expected);
      const large = works.filter(({ rows }) => rows > ROWS_MAX);
      expect([selection, large.map(({ statement, rows }) => [statement, rows])]).toEqual([selection, []]);
    };
    for (const one of cases) await check(one);
    await app.database.query(
      `UPDATE traces SET started_at = started_at + interval '20000 minutes' WHERE workspace_id = $1`,
      [org.workspaceId],
    );
    await check([{ limit: 2 }, 200, [session(1), session(2)]]);
    const all = await score(scorer, { agent_ids });
    expect([all.status, all.body.detail]).toEqual([
      422,
      expect.stringContaining('matches 100001 targets') as string,
    ]);
  });

  it('finds sessions by their traces among many newer traces of other sessions', async () => {
    const { agent, session } = await newAgent(MANY);
    const scorer = await newScorer();
    const traces = (of: string, count: number, age: string) =>
      app.database.query(
        `INSERT INTO traces (workspace_id, trace_id, session_id, started_at, ended_at, span_count, error_count, models)
         SELECT $1, md5($2 || n), $2 || n, $4::timestamptz - interval '1 second' * (${age}), now(), 1, 0, '{}'
         FROM generate_series(1, $3::integer) n`,
        [org.workspaceId, of, count, began],
      );
    await traces('other-', 1_500, '1 + n * 0.001');
    await traces(session(100).slice(0, -3), 3, '10 + n');
    await traces(session(100).slice(0, -1), 3, '5 + n');
    const agent_ids = [agent];
    const newest = [101, 102, 103, 1].map(session);
    expect(await selected(scorer, { agent_ids, limit: 1 })).toEqual(newest.slice(0, 1));
    expect(await selected(scorer, { agent_ids, limit: 4 })).toEqual(newest);
  });

  it('uses the later of the last message and the last trace', async () => {
    const { agent, session } = await newAgent(MANY);
    const scorer = await newScorer();
    const agent_ids = [agent];
    await trace(session(1_500), ago(0.5));
    await trace(session(1_600), ago(1.5));
    await trace(session(1_700), ago(1_000_000));
    await trace('of-no-agent', ago(0.1));
    const [one, other] = [session(1_500), session(1_600)];
    expect(await selected(scorer, { agent_ids, limit: 1 })).toEqual([one]);
    expect(await selected(scorer, { agent_ids, limit: 4 })).toEqual([one, session(1), other, session(2)]);
    const since = ago(2.5).toISOString();
    expect(await selected(scorer, { agent_ids, since })).toEqual([one, session(1), other, session(2)]);
    expect(await selected(scorer, { agent_ids, until: ago(500_000).toISOString() })).toEqual([
      session(1_700),
    ]);
    const many = await score(scorer, { agent_ids, since: ago(100.5).toISOString() });
    expect(many.body.detail).toContain('matches 102 targets');
  });

  it('combines several agents, and skips archived sessions', async () => {
    const [one, other] = [await newAgent(MANY), await newAgent(3)];
    const scorer = await newScorer();
    const agent_ids = [other.agent, one.agent];
    await app.database.query('UPDATE agent_sessions SET archived_at = now() WHERE session_id = ANY ($1)', [
      [one.session(1), other.session(2)],
    ]);
    await trace(one.session(1), ago(0));
    const sessionIds = await selected(scorer, { agent_ids, limit: 4 });
    expect([sessionIds[0], sessionIds.slice(1, 2), sessionIds.slice(2).sort()]).toEqual([
      other.session(1),
      [one.session(2)],
      [one.session(3), other.session(3)].sort(),
    ]);
    const counted = await score(scorer, { agent_ids });
    expect(counted.body.detail).toContain(`matches ${MANY - 1 + 2} targets`);
  });

  it('skips sessions that are already queued for scoring', async () => {
    const { agent, session } = await newAgent(MANY);
    const scorer = await newScorer();
    await trace(session(1_000), ago(0));
    const selection = { agent_ids: [agent], unscored_only: true, limit: 2 };
    expect((await score(scorer, { ...selection, mode: 'score' })).status).toBe(202);
    expect(await selected(scorer, selection)).toEqual([session(2), session(3)]);
    const counted = await score(scorer, { ...selection, limit: undefined });
    expect(counted.body.detail).toContain(`matches ${MANY - 2} targets`);
  });

  it('filters by traces and by results', async () => {
    const { agent, session } = await newAgent(MANY);
    const { session: ofOther } = await newAgent(1);
    const scorer = await newScorer();
    for (const id of [session(1_900), ofOther(1)]) await trace(id, ago(1));
    const rows = await app.database.query<{ trace_id: string }>(
      'SELECT trace_id FROM traces WHERE workspace_id = $1 ORDER BY session_id = $2 DESC',
      [org.workspaceId, session(1_900)],
    );
    const trace_ids = rows.map((row) => row.trace_id);
    const agent_ids = [agent];
    expect(await selected(scorer, { agent_ids, trace_ids, grain: 'session' })).toEqual([session(1_900)]);
    const byTrace = await score(scorer, { agent_ids, trace_ids, mode: 'preview' });
    expect(byTrace.body.results.map((one: any) => one.trace_id)).toEqual(trace_ids.slice(0, 1));
    const { body: experiment } = await evaluator.post('/eval/v1/experiments', {
      workspace_id: org.workspaceId,
      name: 'narrowing',
    });
    for (const session_id of [session(1_800), ofOther(1)]) {
      const body = { workspace_id: org.workspaceId, case_id: session_id, session_id, output: 'x' };
      const path = `/eval/v1/experiments/${experiment.experiment_id}/results`;
      expect(await evaluator.post(path, body)).toMatchObject({ status: 201 });
    }
    const { experiment_id } = experiment;
    expect(await selected(scorer, { agent_ids, experiment_id })).toEqual([session(1_800)]);
  });
});
