import { sharedApp } from '#testing';
import { ManySessions } from './session-selection.fixture';

/** More sessions than are looked up by id. */
const MANY = 2_000;

describe('selecting among many sessions of agents', () => {
  const app = sharedApp();
  let on: ManySessions;

  beforeEach(async () => {
    on = await ManySessions.of(app);
  });

  it('finds sessions by their traces among many newer traces of other sessions', async () => {
    const { agent, session } = await on.newAgent(MANY);
    const scorer = await on.newScorer();
    const traces = (of: string, count: number, age: string) =>
      app.database.query(
        `INSERT INTO traces (workspace_id, trace_id, session_id, started_at, ended_at, span_count, error_count, models)
         SELECT $1, md5($2 || n), $2 || n, $4::timestamptz - interval '1 second' * (${age}), now(), 1, 0, '{}'
         FROM generate_series(1, $3::integer) n`,
        [on.org.workspaceId, of, count, on.began],
      );
    await traces('other-', 1_500, '1 + n * 0.001');
    await traces(session(100).slice(0, -3), 3, '10 + n');
    await traces(session(100).slice(0, -1), 3, '5 + n');
    const agent_ids = [agent];
    const newest = [101, 102, 103, 1].map(session);
    expect(await on.selected(scorer, { agent_ids, limit: 1 })).toEqual(newest.slice(0, 1));
    expect(await on.selected(scorer, { agent_ids, limit: 4 })).toEqual(newest);
  });

  it('uses the later of the last message and the last trace', async () => {
    const { agent, session } = await on.newAgent(MANY);
    const scorer = await on.newScorer();
    const agent_ids = [agent];
    await on.trace(session(1_500), on.ago(0.5));
    await on.trace(session(1_600), on.ago(1.5));
    await on.trace(session(1_700), on.ago(1_000_000));
    await on.trace('of-no-agent', on.ago(0.1));
    const [one, other] = [session(1_500), session(1_600)];
    expect(await on.selected(scorer, { agent_ids, limit: 1 })).toEqual([one]);
    expect(await on.selected(scorer, { agent_ids, limit: 4 })).toEqual([one, session(1), other, session(2)]);
    const since = on.ago(2.5).toISOString();
    expect(await on.selected(scorer, { agent_ids, since })).toEqual([one, session(1), other, session(2)]);
    expect(await on.selected(scorer, { agent_ids, until: on.ago(500_000).toISOString() })).toEqual([
      session(1_700),
    ]);
    const many = await on.score(scorer, { agent_ids, since: on.ago(100.5).toISOString() });
    expect(many.body.detail).toContain('matches 102 targets');
  });

  it('combines several agents, and skips archived sessions', async () => {
    const [one, other] = [await on.newAgent(MANY), await on.newAgent(3)];
    const scorer = await on.newScorer();
    const agent_ids = [other.agent, one.agent];
    await app.database.query('UPDATE agent_sessions SET archived_at = now() WHERE session_id = ANY ($1)', [
      [one.session(1), other.session(2)],
    ]);
    await on.trace(one.session(1), on.ago(0));
    const sessionIds = await on.selected(scorer, { agent_ids, limit: 4 });
    expect([sessionIds[0], sessionIds.slice(1, 2), sessionIds.slice(2).sort()]).toEqual([
      other.session(1),
      [one.session(2)],
      [one.session(3), other.session(3)].sort(),
    ]);
    const counted = await on.score(scorer, { agent_ids });
    expect(counted.body.detail).toContain(`matches ${MANY - 1 + 2} targets`);
  });

  it('skips sessions that are already queued for scoring', async () => {
    const { agent, session } = await on.newAgent(MANY);
    const scorer = await on.newScorer();
    await on.trace(session(1_000), on.ago(0));
    const selection = { agent_ids: [agent], unscored_only: true, limit: 2 };
    expect((await on.score(scorer, { ...selection, mode: 'score' })).status).toBe(202);
    expect(await on.selected(scorer, selection)).toEqual([session(2), session(3)]);
    const counted = await on.score(scorer, { ...selection, limit: undefined });
    expect(counted.body.detail).toContain(`matches ${MANY - 2} targets`);
  });

  it('filters by traces and by results', async () => {
    const { agent, session } = await on.newAgent(MANY);
    const { session: ofOther } = await on.newAgent(1);
    const scorer = await on.newScorer();
    for (const id of [session(1_900), ofOther(1)]) await on.trace(id, on.ago(1));
    const rows = await app.database.query<{ trace_id: string }>(
      'SELECT trace_id FROM traces WHERE workspace_id = $1 ORDER BY session_id = $2 DESC',
      [on.org.workspaceId, session(1_900)],
    );
    const trace_ids = rows.map((row) => row.trace_id);
    const agent_ids = [agent];
    expect(await on.selected(scorer, { agent_ids, trace_ids, grain: 'session' })).toEqual([session(1_900)]);
    const byTrace = await on.score(scorer, { agent_ids, trace_ids, mode: 'preview' });
    expect(byTrace.body.results.map((one: any) => one.trace_id)).toEqual(trace_ids.slice(0, 1));
    const { body: experiment } = await on.evaluator.post('/eval/v1/experiments', {
      workspace_id: on.org.workspaceId,
      name: 'narrowing',
    });
    for (const session_id of [session(1_800), ofOther(1)]) {
      const body = { workspace_id: on.org.workspaceId, case_id: session_id, session_id, output: 'x' };
      const path = `/eval/v1/experiments/${experiment.experiment_id}/results`;
      expect(await on.evaluator.post(path, body)).toMatchObject({ status: 201 });
    }
    const { experiment_id } = experiment;
    expect(await on.selected(scorer, { agent_ids, experiment_id })).toEqual([session(1_800)]);
  });
});
