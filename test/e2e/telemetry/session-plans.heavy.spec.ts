import { ownApp, newTraceId, SPAN_START } from '#testing';
import { workOf } from '../evaluation/work.harness';
import { addMissingSessions, MINUTE, ReadingWorkspace } from './reading.fixture';

const TRACES = 20_000;
const SESSIONS = 20;
/** Maximum number of rows that a statement may read: some per session, instead of all traces per session. */
const SOME = 15 * SESSIONS;

/** Exports and retention must stay fast if the statistics are outdated. */
describe('updating sessions with skewed statistics', () => {
  const app = ownApp({ autovacuum: false });
  let space: ReadingWorkspace;

  beforeAll(async () => {
    space = await ReadingWorkspace.open(app);
    await app.database.query(
      `INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models, session_id)
       SELECT $1, lpad(to_hex(n), 32, '0'), timestamptz '2026-11-21' + n * interval '1 second',
              timestamptz '2026-11-21' + n * interval '1 second', 1, 0, '{}', 'default'
       FROM generate_series(1, ${TRACES}) n`,
      [space.id],
    );
    await addMissingSessions(app.database);
    await app.database.query('ANALYZE traces, trace_sessions');
  });

  it('reads only the traces of each session', async () => {
    const sent = Array.from({ length: SESSIONS }, (_, n) => ({
      traceId: newTraceId(),
      parentSpanId: '00000000000000ff',
      start: SPAN_START + 5n * MINUTE,
      attributes: { 'session.id': `s ${n}` },
    }));
    await space.send(sent);
    const earlier = sent.map((span) => ({ ...span, start: SPAN_START + MINUTE }));
    const works = await workOf(app.database, () => space.send(earlier));
    const keeping = works.filter(({ statement }) => statement.includes('trace_sessions'));
    expect(keeping).toHaveLength(3);
    for (const { statement, rows } of keeping) {
      expect([statement, rows < SOME]).toEqual([statement, true]);
    }
  });
});
