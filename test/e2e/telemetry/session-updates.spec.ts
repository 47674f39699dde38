import { setTimeout as delay } from 'node:timers/promises';
import { ownApp, newSpan, newTraceId, SPAN_START, type TestSpan } from '#testing';
import { shuffled } from './otlp.harness';
import { MINUTE, ReadingWorkspace, SESSIONS, inconsistentSessions } from './reading.fixture';

describe('the table of sessions', () => {
  const app = ownApp({ env: { DATABASE_POOL_SIZE: '40' } });
  let space: ReadingWorkspace;

  beforeAll(async () => {
    // a quarter of the connections stores traces: ten transactions at a time
  });
  beforeEach(async () => {
    space = await ReadingWorkspace.open(app);
  });
  afterEach(async () => {
    expect(await inconsistentSessions(app.database)).toEqual([]);
  });

  const sessions = async (): Promise<[string, string, number][]> => {
    const { status, body } = await space.viewer.get(SESSIONS);
    expect([status, body.page.total]).toEqual([200, body.items.length]);
    return body.items.map((session: any) => [
      session.session_id,
      session.last_started_at.slice(11, 16),
      session.trace_count,
    ]);
  };
  const span = (traceId: string, minute: number, session?: string): Partial<TestSpan> => ({
    traceId,
    parentSpanId: '00000000000000ff',
    start: SPAN_START + BigInt(minute) * MINUTE,
    attributes: session === undefined ? {} : { 'session.id': session },
  });

  it('follows a trace that turns out to belong to another session', async () => {
    const traceId = newTraceId();
    await space.send([span(traceId, 5, 'guessed'), span(newTraceId(), 1, 'other')]);
    expect(await sessions()).toEqual([
      ['guessed', '00:05', 1],
      ['other', '00:01', 1],
    ]);
    await space.send([span(traceId, 4, 'other')]);
    expect(await sessions()).toEqual([['other', '00:04', 2]]);
  });

  it('follows a trace that turns out to have started earlier', async () => {
    const traceId = newTraceId();
    await space.send([
      span(traceId, 9, 'late'),
      span(newTraceId(), 3, 'late'),
      span(newTraceId(), 5, 'other'),
    ]);
    expect(await sessions()).toEqual([
      ['late', '00:09', 2],
      ['other', '00:05', 1],
    ]);
    await space.send([span(traceId, 1)]);
    expect(await sessions()).toEqual([
      ['other', '00:05', 1],
      ['late', '00:03', 2],
    ]);
  });

  it.each([
    ['have started earlier', undefined, 1, [['shared', '00:07', 2]]],
    [
      'belong to another session',
      'other',
      8,
      [
        ['other', '00:08', 1],
        ['shared', '00:07', 1],
      ],
    ],
  ] as const)(
    'includes concurrently stored traces if a trace turns out to %s',
    async (_, session, minute, reported) => {
      const traceId = newTraceId();
      await space.send([span(traceId, 9, 'shared')]);
      let release!: () => void;
      const released = new Promise<void>((resolve) => (release = resolve));
      let writing!: Promise<unknown>;
      await new Promise<void>((resolve, reject) => {
        writing = app.database
          .transaction(async (tx) => {
            // another trace of the session, by a writer that has not committed yet
            await tx.query(
              `INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models, session_id)
             VALUES ($1, $2, '2026-11-20T00:07:00Z', '2026-11-20T00:07:00Z', 1, 0, '{}', 'shared')`,
              [space.id, newTraceId()],
            );
            await tx.query(
              `SELECT 1 FROM trace_sessions WHERE workspace_id = $1 AND session_id = 'shared' FOR UPDATE`,
              [space.id],
            );
            resolve();
            await released;
          })
          .catch(reject);
      });
      const sent = space.send([span(traceId, minute, session)]);
      const waits = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      while ((await app.database.query(waits)).length === 0) await delay(10);
      release();
      await Promise.all([sent, writing]);
      expect(await sessions()).toEqual(reported);
    },
  );

  it('is the same for any order of spans', async () => {
    for (let seed = 0; seed < 2; seed++) {
      const spans = Array.from({ length: 24 }, (_, n) => ({ traceId: newTraceId(), n })).flatMap(
        ({ traceId, n }) =>
          Array.from({ length: 5 }, (_, i) =>
            newSpan(span(traceId, 60 - 10 * i + n, `s ${(n * 7 + i * 3) % 6}`)),
          ),
      );
      const mixed = shuffled(spans, seed);
      const batches = Array.from({ length: 40 }, (_, n) => mixed.slice(3 * n, 3 * n + 3));
      const answers = await Promise.all(batches.map((batch) => space.exporter.protobuf(batch)));
      expect(answers.map(({ status }) => status)).toEqual(batches.map(() => 200));
    }
    const rows = await sessions();
    expect(rows.reduce((sum, [, , traces]) => sum + traces, 0)).toBe(2 * 24);
  });
});
