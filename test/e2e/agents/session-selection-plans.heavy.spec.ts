import { type Answer, ownApp } from '#testing';
import { workOf } from '../evaluation/work.harness';
import { ManySessions } from './session-selection.fixture';

/** The maximum number of rows that a statement may read to select a few sessions. */
const ROWS_MAX = 5_000;

describe('selecting among many sessions of agents', () => {
  const app = ownApp({ autovacuum: false });

  it('reads only the selected sessions among 100,001', async () => {
    const on = await ManySessions.of(app);
    const { agent, session } = await on.newAgent(100_001);
    const scorer = await on.newScorer();
    // No trace is newer than the selected sessions. Without statistics, the planner may prefer a full scan to an index.
    await app.database.query(
      `INSERT INTO traces (workspace_id, trace_id, session_id, started_at, ended_at, span_count, error_count, models)
       SELECT $1, lpad(to_hex(n), 32, '0'), $2 || '-' || n, $3::timestamptz - (n + 2) * interval '1 minute', now(), 1, 0, '{}'
       FROM generate_series(1, 20000) n`,
      [on.org.workspaceId, session(1).slice(0, -2), on.began],
    );
    const agent_ids = [agent];
    const future = new Date(Date.now() + 3_600_000).toISOString();
    const cases: [Record<string, unknown>, number, string[]][] = [
      [{ limit: 1 }, 200, [session(1)]],
      [{ limit: 2, until: on.ago(50_000.5).toISOString() }, 200, [session(50_001), session(50_002)]],
      [{ since: future }, 200, []],
      [{ limit: 1, since: future }, 200, []],
      [{ limit: 1, session_ids: [session(90_000), session(90_001)] }, 200, [session(90_000)]],
      [{ limit: 1, unscored_only: true }, 200, [session(1)]],
    ];
    const check = async ([selection, status, expected]: (typeof cases)[number]): Promise<void> => {
      let answer: Answer | undefined;
      const works = await workOf(app.database, async () => {
        answer = await on.score(scorer, { agent_ids, ...selection });
      });
      expect([selection, answer!.status]).toEqual([selection, status]);
      expect((answer!.body.results ?? []).map((one: any) => one.session_id)).toEqual(expected);
      const large = works.filter(({ rows }) => rows > ROWS_MAX);
      expect([selection, large.map(({ statement, rows }) => [statement, rows])]).toEqual([selection, []]);
    };
    for (const one of cases) await check(one);
    await app.database.query(
      `UPDATE traces SET started_at = started_at + interval '20000 minutes' WHERE workspace_id = $1`,
      [on.org.workspaceId],
    );
    await check([{ limit: 2 }, 200, [session(1), session(2)]]);
    const all = await on.score(scorer, { agent_ids });
    expect([all.status, all.body.detail]).toEqual([
      422,
      expect.stringContaining('matches 100001 targets') as string,
    ]);
  });
});
