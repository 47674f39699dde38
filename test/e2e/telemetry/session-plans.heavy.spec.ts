import { newSpanId, newTraceId, ownApp, SPAN_START } from '#testing';
import { workOf } from '../evaluation/work.harness';
import { addMissingSessions, MINUTE, ReadingWorkspace } from './reading.fixture';

const TRACES = 20_000;
const SESSIONS = 20;
const SPANS = 20_000;
/** Maximum number of rows that a statement may read: some per session, instead of all traces per session. */
const SOME = 15 * SESSIONS;

/** Exports and retention must stay fast if statistics are outdated or missing. */
describe('updating sessions and usage without good statistics', () => {
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

  it('reads only the spans above new ones, among many of their trace', async () => {
    const [traceId, rootId, stepId, missingId] = [newTraceId(), newSpanId(), newSpanId(), newSpanId()];
    const usage = { 'gen_ai.operation.name': 'chat', 'gen_ai.usage.input_tokens': 7 };
    await space.send([
      { traceId, spanId: rootId, attributes: usage },
      { traceId, spanId: stepId, parentSpanId: rootId },
    ]);
    await app.database.query(
      `INSERT INTO spans (workspace_id, day, trace_no, span_id, parent_span_id, name, kind, status_code, started_at, ended_at,
                          input_tokens, source_id, attributes)
       SELECT s.workspace_id, s.day, s.trace_no, n, s.parent_span_id, 'step', 'client', 'unset', s.started_at, s.ended_at, 1,
              s.source_id, '{}'
       FROM spans s, generate_series(1, ${SPANS}) n WHERE s.workspace_id = $1 AND s.parent_span_id = $2`,
      [space.id, BigInt.asIntN(64, BigInt(`0x${rootId}`))],
    );
    const calls = Array.from({ length: SESSIONS }, (_, n) => ({
      traceId,
      parentSpanId: n % 2 === 0 ? stepId : missingId,
      attributes: usage,
    }));
    const works = [
      ...(await workOf(app.database, () => space.send(calls))),
      ...(await workOf(app.database, () =>
        space.send([{ traceId, spanId: missingId, parentSpanId: stepId, attributes: usage }]),
      )),
    ].filter(({ statement }) => /RECURSIVE above|UPDATE spans|span_gaps/.test(statement));
    for (const part of ['RECURSIVE above', 'UPDATE spans', 'INTO span_gaps', 'FROM span_gaps']) {
      expect([part, works.some(({ statement }) => statement.includes(part))]).toEqual([part, true]);
    }
    for (const { statement, rows } of works) expect([statement, rows < SOME]).toEqual([statement, true]);
    const { body } = await space.viewer.get(`/telemetry/v1/traces/${traceId}`);
    expect(body.input_tokens).toBe(7 * SESSIONS);
  });
});
