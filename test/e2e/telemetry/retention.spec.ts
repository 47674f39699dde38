import { setTimeout as delay } from 'node:timers/promises';
import {
  type ApiClient,
  ownApp,
  createTestWorker,
  newOrganization,
  newSpan,
  SPAN_START,
  type TestSpan,
  type TestWorker,
} from '#testing';
import { jsonExport } from '#testing';
import { DayPartitionRepository } from '../../../src/telemetry/partitions/day-partition.repository';
import { TelemetryRetention } from '../../../src/telemetry/retention/telemetry-retention';
import { JSON_MEDIA, RawExporter } from './otlp.harness';
import { inconsistentSessions } from './reading.fixture';

const RETENTION_DAYS = 30;

describe('expired traces', () => {
  const app = ownApp();
  let worker: TestWorker;
  let exporter: RawExporter;
  let reader: ApiClient;
  let experiment: string;

  beforeAll(async () => {
    worker = await createTestWorker(app, { TRACE_RETENTION_DAYS: String(RETENTION_DAYS) });
    const organization = await newOrganization(app);
    exporter = new RawExporter(app.url, await organization.token('runtime'), organization.workspaceId);
    reader = await organization.as('editor');
    const fields = { workspace_id: organization.workspaceId, name: 'traced' };
    experiment = (await reader.post('/eval/v1/experiments', fields)).body.experiment_id;
  });
  afterAll(async () => {
    await worker.close();
  });

  const partitions = (): Promise<string[]> => app.get(DayPartitionRepository).list('spans');
  const dropExpired = (by: TestWorker = worker): Promise<void> => by.get(TelemetryRetention).deleteExpired();
  const spansOf = async (traceId: string): Promise<[number, string[]]> => {
    const { status, body } = await reader.get(`/eval/v1/experiments/${experiment}/traces/${traceId}/spans`);
    return [status, (body.items ?? []).map((span: { span_id: string }) => span.span_id)];
  };

  async function daysAgo(days: number): Promise<string> {
    const [row] = await app.database.query<{ day: string }>(
      `SELECT ((now() AT TIME ZONE 'UTC')::date - $1::int)::text AS day`,
      [days],
    );
    return row!.day;
  }

  /** Stores a span with its own source whose trace arrived this many days ago. */
  async function traceFrom(days: number, overrides: Partial<TestSpan> = {}): Promise<TestSpan> {
    const span = newSpan({ attributes: { 'gen_ai.request.model': 'm' }, ...overrides });
    await exporter.send(jsonExport([span], { 'service.name': span.traceId }), { media: JSON_MEDIA });
    const day = await daysAgo(days);
    await app.get(DayPartitionRepository).create('spans', day);
    await app.database.transaction(async (tx) => {
      const which = `(SELECT workspace_id, day, trace_no FROM traces WHERE trace_id = $2) t`;
      await tx.query(
        `UPDATE span_sources o SET day = $1::date FROM spans s, ${which}
         WHERE s.day = t.day AND s.trace_no = t.trace_no AND o.source_id = s.source_id`,
        [day, span.traceId],
      );
      await tx.query(
        `UPDATE spans s SET day = $1::date FROM ${which} WHERE s.day = t.day AND s.trace_no = t.trace_no`,
        [day, span.traceId],
      );
      await tx.query('UPDATE traces SET day = $1::date WHERE trace_id = $2', [day, span.traceId]);
    });
    return span;
  }

  /** Waits until a statement waits for a lock. */
  async function waitForLock(): Promise<void> {
    const waits = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    while ((await app.database.query(waits)).length === 0) await delay(10);
  }

  /** Counts the remaining rows of a trace. */
  async function remainingRowsOf({ traceId }: TestSpan): Promise<object> {
    const [row] = await app.database.query<object>(
      `SELECT (SELECT count(*) FROM traces WHERE trace_id = $1) AS traces,
         (SELECT count(*) FROM trace_models WHERE trace_id = $1) AS models,
         (SELECT count(*) FROM span_sources WHERE resource::text LIKE '%' || $1 || '%') AS sources`,
      [traceId],
    );
    return row!;
  }

  it('are dropped by day, with all their data', async () => {
    const last = await traceFrom(RETENTION_DAYS);
    const [over, longOver] = [await traceFrom(RETENTION_DAYS + 1), await traceFrom(400)];
    await dropExpired();
    const days = await partitions();
    expect(days).toContain(await daysAgo(RETENTION_DAYS));
    for (const day of [await daysAgo(RETENTION_DAYS + 1), await daysAgo(400)])
      expect(days).not.toContain(day);
    expect(await spansOf(last.traceId)).toEqual([200, [last.spanId]]);
    expect(await remainingRowsOf(last)).toEqual({ traces: 1, models: 1, sources: 1 });
    for (const { traceId } of [over, longOver]) expect((await spansOf(traceId))[0]).toBe(404);
    // sources are stored a little longer than their records
    expect(await remainingRowsOf(over)).toEqual({ traces: 0, models: 0, sources: 1 });
    expect(await remainingRowsOf(longOver)).toEqual({ traces: 0, models: 0, sources: 0 });
  });

  it('are dropped with their sessions, and update sessions that have other traces', async () => {
    const day = { 'session.id': 'of a day' };
    const [over, kept, last] = [
      await traceFrom(RETENTION_DAYS + 3, { attributes: day }),
      await traceFrom(1, { attributes: { 'session.id': 'of two' } }),
      await traceFrom(RETENTION_DAYS + 3, {
        attributes: { 'session.id': 'of two' },
        start: SPAN_START + 3_600_000_000_000n,
      }),
    ];
    const sessions = async (): Promise<[string, string][]> =>
      (await reader.get('/telemetry/v1/sessions')).body.items.map(
        (session: { session_id: string; last_started_at: string }) => [
          session.session_id,
          session.last_started_at,
        ],
      );
    expect(await sessions()).toEqual([
      ['of two', '2026-11-20T01:00:00.000Z'],
      ['of a day', '2026-11-20T00:00:00.000Z'],
    ]);
    await dropExpired();
    for (const { traceId } of [over, last]) expect((await spansOf(traceId))[0]).toBe(404);
    expect((await spansOf(kept.traceId))[0]).toBe(200);
    expect(await sessions()).toEqual([['of two', '2026-11-20T00:00:00.000Z']]);
    expect(await inconsistentSessions(app.database)).toEqual([]);
  });

  it('are created again by a late span', async () => {
    const over = await traceFrom(RETENTION_DAYS + 5);
    await dropExpired();
    expect((await exporter.protobuf([over])).status).toBe(200);
    expect(await spansOf(over.traceId)).toEqual([200, [over.spanId]]);
    await dropExpired();
    expect(await spansOf(over.traceId)).toEqual([200, [over.spanId]]);
  });

  it('are dropped once by concurrent workers', async () => {
    const over = await Promise.all([7, 8, 9].map((days) => traceFrom(RETENTION_DAYS + days)));
    const other = await createTestWorker(app, { TRACE_RETENTION_DAYS: String(RETENTION_DAYS) });
    try {
      await Promise.all([dropExpired(), dropExpired(other)]);
    } finally {
      await other.close();
    }
    for (const span of over) expect(await remainingRowsOf(span)).toMatchObject({ traces: 0, models: 0 });
  });

  it('wait for exports in progress, and lose no acknowledged span', async () => {
    const over = await traceFrom(RETENTION_DAYS + 11);
    const another = newSpan({ traceId: over.traceId });
    let release!: () => void;
    const released = new Promise<void>((resolve) => (release = resolve));
    const locked = new Promise<void>((resolve, reject) => {
      app.database
        .transaction(async (tx) => {
          // an export finds the trace, and must wait before it stores its spans
          await tx.query('LOCK TABLE spans IN SHARE MODE');
          resolve();
          await released;
        })
        .catch(reject);
    });
    await locked;
    const stored = exporter.protobuf([another]);
    await waitForLock();
    await dropExpired();
    expect(await remainingRowsOf(over)).toMatchObject({ traces: 1 });
    expect(await partitions()).toContain(await daysAgo(RETENTION_DAYS + 11));
    release();
    expect((await stored).status).toBe(200);
    expect((await spansOf(over.traceId))[1].sort()).toEqual([over.spanId, another.spanId].sort());
    await dropExpired();
    expect((await spansOf(over.traceId))[0]).toBe(404);
    expect(await partitions()).not.toContain(await daysAgo(RETENTION_DAYS + 11));
  });

  it('are dropped after exports in progress have ended', async () => {
    const over = await traceFrom(RETENTION_DAYS + 13, { attributes: { 'session.id': 'of the rest' } });
    const another = newSpan({ traceId: over.traceId });
    let release!: () => void;
    const released = new Promise<void>((resolve) => (release = resolve));
    let writing!: Promise<unknown>;
    await new Promise<void>((resolve, reject) => {
      writing = app.database
        .transaction(async (tx) => {
          // like an export that adds to the trace
          await tx.query('UPDATE traces SET span_count = span_count + 1 WHERE trace_id = $1', [over.traceId]);
          resolve();
          await released;
        })
        .catch(reject);
    });
    // Without its own, shorter lock timeout, the drop also waits for the export on a slow machine.
    const timeout = jest.spyOn(worker.get(DayPartitionRepository), 'setLockTimeout').mockResolvedValue();
    const swept = dropExpired();
    await waitForLock();
    release();
    await Promise.all([writing, swept]);
    timeout.mockRestore();
    expect(await partitions()).not.toContain(await daysAgo(RETENTION_DAYS + 13));
    expect(await remainingRowsOf(over)).toMatchObject({ traces: 0, models: 0 });
    expect(await inconsistentSessions(app.database)).toEqual([]);
    expect((await exporter.protobuf([another])).status).toBe(200);
    expect(await spansOf(over.traceId)).toEqual([200, [another.spanId]]);
  });

  it('are stored forever by default', async () => {
    const old = await traceFrom(5_000);
    const keeping = await createTestWorker(app);
    try {
      await dropExpired(keeping);
    } finally {
      await keeping.close();
    }
    expect(await spansOf(old.traceId)).toEqual([200, [old.spanId]]);
  });
});
