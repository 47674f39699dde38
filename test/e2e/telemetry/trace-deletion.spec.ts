import { setTimeout as delay } from 'node:timers/promises';
import type { Tx } from '#platform/db';
import { NO_ROLES, workspaceScope } from '#platform/auth';
import { newId } from '#platform/ids';
import { Metrics } from '#platform/metrics';
import { type ApiClient, jsonExport, newOrganization, newSpan, SPAN_START, sharedApp } from '#testing';
import { TraceExportService } from '../../../src/telemetry';
import { USER_ATTRIBUTES } from '../../../src/telemetry/deletion/refusals';
import { LogExportService } from '../../../src/telemetry/logs/log.service';
import { MetricExportService } from '../../../src/telemetry/metrics/metric.service';
import { ErasedUsers } from '../../../src/telemetry/traces/erased-users';
import { TraceDeletion } from '../../../src/telemetry/traces/trace-deletion';
import { AnnotationFixture } from '../evaluation/annotation.fixture';
import { ScoringFixture } from '../evaluation/scoring.fixture';
import { answered, type ExportAnswer, JSON_MEDIA, RawExporter, TRACES } from './otlp.harness';
import { inconsistentSessions } from './reading.fixture';

const LOGS = '/telemetry/v1/logs';
const text = (stringValue: string) => ({ stringValue });

/** An export of a data point for each set of attributes. */
const pointExport = (...points: { attributes: object[]; time: bigint }[]): Buffer => {
  const dataPoints = points.map(({ attributes, time }) => ({
    timeUnixNano: String(time),
    asInt: '1',
    attributes,
  }));
  const metric = { name: 'turns', gauge: { dataPoints } };
  return Buffer.from(JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics: [metric] }] }] }));
};

interface SentLog {
  traceId?: string;
  userId?: string;
  time?: bigint;
}

/** An export of log records. */
const logExport = (...logs: SentLog[]): Buffer => {
  const logRecords = logs.map(({ traceId, userId, time = SPAN_START }) => ({
    timeUnixNano: String(time),
    body: text('said'),
    traceId,
    attributes: userId === undefined ? [] : [{ key: 'user.id', value: text(userId) }],
  }));
  return Buffer.from(JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
};

describe('deleted traces', () => {
  const app = sharedApp();
  let workspaceId: string;
  let exporter: RawExporter;
  let admin: ApiClient;

  beforeAll(async () => {
    const organization = await newOrganization(app);
    workspaceId = organization.workspaceId;
    exporter = new RawExporter(app.url, await organization.token('runtime'), workspaceId);
    admin = await organization.as('admin');
  });

  const sendLogs = (...logs: SentLog[]): Promise<ExportAnswer> =>
    exporter.send(logExport(...logs), { media: JSON_MEDIA, path: LOGS });
  const refusal = (answer: ExportAnswer): unknown => answered.json(answer).partialSuccess ?? null;
  const isStored = async (traceId: string): Promise<boolean> =>
    (await admin.get(`${TRACES}/${traceId}`)).status === 200;
  const remove = async (traceId: string, query = ''): Promise<number> =>
    (await admin.delete(`${TRACES}/${traceId}${query}`)).status;

  /** Counts the rows of a trace in every table that has its id or its number. */
  async function rowsOf(traceId: string, traceNo: number): Promise<Record<string, number>> {
    const [row] = await app.database.query<Record<string, number>>(
      `SELECT (SELECT count(*) FROM traces WHERE trace_id = $1) AS traces,
         (SELECT count(*) FROM spans WHERE trace_no = $2) AS spans,
         (SELECT count(*) FROM span_gaps WHERE trace_no = $2) AS gaps,
         (SELECT count(*) FROM trace_models WHERE trace_id = $1) AS models,
         (SELECT count(*) FROM log_records WHERE trace_id = $1::uuid) AS logs,
         (SELECT count(*) FROM scores WHERE trace_id = $1) AS scores`,
      [traceId, traceNo],
    );
    return row!;
  }

  async function numberOf(traceId: string): Promise<number> {
    const [row] = await app.database.query<{ trace_no: number }>(
      'SELECT trace_no FROM traces WHERE trace_id = $1',
      [traceId],
    );
    return row!.trace_no;
  }

  /** Waits until a statement waits for a lock. */
  async function waitForLock(): Promise<void> {
    const waits = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    while ((await app.database.query(waits)).length === 0) await delay(10);
  }

  /** Runs `work` in a transaction that stays open until `release` is called. */
  async function opened(work: (tx: Tx) => Promise<unknown>): Promise<{ release: () => Promise<void> }> {
    let release!: () => void;
    const released = new Promise<void>((resolve) => (release = resolve));
    let ended!: Promise<void>;
    await new Promise<void>((resolve, reject) => {
      ended = app.database.transaction(async (tx) => {
        await work(tx);
        resolve();
        await released;
      });
      ended.catch(reject);
    });
    return {
      release: () => {
        release();
        return ended;
      },
    };
  }

  it('leave no row, and their sessions show the traces that are left', async () => {
    const attributes = { 'gen_ai.request.model': 'm', 'gen_ai.usage.input_tokens': 1, 'session.id': 'two' };
    const root = newSpan({ attributes });
    const child = newSpan({ traceId: root.traceId, parentSpanId: 'aaaaaaaaaaaaaaaa', attributes });
    const other = newSpan({ attributes: { 'session.id': 'two' }, start: SPAN_START - 1_000_000_000n });
    await exporter.json([root, child, other]);
    await sendLogs({ traceId: root.traceId }, { traceId: other.traceId });
    const score = { workspace_id: workspaceId, trace_id: root.traceId, scorer_name: 'quality', score: 1 };
    for (const value of [1, 0]) await admin.post('/eval/v1/scores', { ...score, score: value });
    const traceNo = await numberOf(root.traceId);
    expect(await rowsOf(root.traceId, traceNo)).toEqual({
      traces: 1, spans: 2, gaps: 1, models: 1, logs: 1, scores: 2,
    }); // oxfmt-ignore
    expect(await remove(root.traceId)).toBe(204);
    expect(await rowsOf(root.traceId, traceNo)).toEqual({
      traces: 0, spans: 0, gaps: 0, models: 0, logs: 0, scores: 0,
    }); // oxfmt-ignore
    expect(await remove(root.traceId)).toBe(404);
    expect(await isStored(other.traceId)).toBe(true);
    expect((await admin.get(LOGS)).body.items.map((log: any) => log.trace_id)).toEqual([other.traceId]);
    expect(await inconsistentSessions(app.database, workspaceId)).toEqual([]);
    const entries = (await admin.get(`/registry/v1/audit-log?resource_id=${root.traceId}`)).body.items;
    expect(entries).toMatchObject([{ action: 'delete', resource_type: 'trace', workspace_id: workspaceId }]);
    expect((await admin.post('/eval/v1/scores', score)).status).toBe(404);
    expect(JSON.stringify(await app.database.query('SELECT * FROM deleted_traces'))).not.toContain(
      root.traceId,
    );
  });

  it('refuse late spans and log records, and tell the sender why', async () => {
    const gone = newSpan();
    await exporter.json([gone]);
    expect(await remove(gone.traceId)).toBe(204);
    const late = newSpan({ traceId: gone.traceId });
    const kept = newSpan();
    const before = await refusedCount('traces');
    expect(refusal(await exporter.json([gone, late, kept]))).toEqual({
      rejectedSpans: '2',
      errorMessage: '2 spans were refused: the trace was deleted.',
    });
    expect(answered.partialSuccess(await exporter.protobuf([late]))).toEqual({
      rejectedSpans: 1,
      errorMessage: '1 span was refused: the trace was deleted.',
    });
    expect(await refusedCount('traces')).toBe(before + 3);
    expect([await isStored(gone.traceId), await isStored(kept.traceId)]).toEqual([false, true]);
    expect(refusal(await sendLogs({ traceId: gone.traceId }, { traceId: kept.traceId }))).toEqual({
      rejectedLogRecords: '1',
      errorMessage: '1 log record was refused: the trace was deleted.',
    });
    expect((await admin.get(`${LOGS}?trace_id=${gone.traceId}`)).body.items).toEqual([]);
  });

  async function refusedCount(signal: string): Promise<number> {
    const line = new RegExp(
      `^registry_telemetry_refused_records_total\\{.*signal="${signal}".*\\} (\\d+)`,
      'm',
    );
    return Number(line.exec(await app.get(Metrics).text())?.[1] ?? 0);
  }

  it('are not created again by exports that wait for the deletion', async () => {
    const gone = newSpan();
    await exporter.json([gone]);
    const deletion = await opened((tx) => app.get(TraceDeletion).delete(tx, workspaceId, [gone.traceId]));
    const spans = exporter.json([newSpan({ traceId: gone.traceId })]);
    const logs = sendLogs({ traceId: gone.traceId });
    await waitForLock();
    await deletion.release();
    expect(refusal(await spans)).toMatchObject({ rejectedSpans: '1' });
    expect(refusal(await logs)).toMatchObject({ rejectedLogRecords: '1' });
    expect(await isStored(gone.traceId)).toBe(false);
  });

  it('include what exports in progress add', async () => {
    const gone = newSpan();
    await exporter.json([gone]);
    const traceNo = await numberOf(gone.traceId);
    const writing = await opened((tx) => tx.query('LOCK TABLE spans, log_records IN SHARE MODE'));
    const exports = [
      exporter.json([newSpan({ traceId: gone.traceId })]),
      sendLogs({ traceId: gone.traceId }),
    ];
    await waitForLock();
    const removed = remove(gone.traceId);
    await writing.release();
    await Promise.all(exports);
    expect(await removed).toBe(204);
    expect(await rowsOf(gone.traceId, traceNo)).toMatchObject({ traces: 0, spans: 0, logs: 0 });
  });

  it('get no score from a request that was checked before', async () => {
    const gone = newSpan();
    await exporter.json([gone]);
    const deletion = await opened((tx) => app.get(TraceDeletion).delete(tx, workspaceId, [gone.traceId]));
    const score = { workspace_id: workspaceId, trace_id: gone.traceId, scorer_name: 'quality', score: 1 };
    const scored = admin.post('/eval/v1/scores', score);
    await waitForLock();
    await deletion.release();
    expect(await scored).toMatchObject({ status: 409, body: { detail: 'The trace was deleted.' } });
  });

  it('of deleted workspaces do not return, nor do log records and data points', async () => {
    const gone = workspaceScope(newId('org'), newId('wsp'), 'gateway', NO_ROLES);
    const { signal } = new AbortController();
    const late = newSpan();
    const point = { attributes: [], time: SPAN_START };
    const sent = [
      [TraceExportService, jsonExport([late])],
      [LogExportService, logExport({})],
      [MetricExportService, pointExport(point)],
    ] as const;
    for (const [service, bytes] of sent) {
      const body = { bytes, encoding: 'json' } as const;
      expect(
        await app
          .get<TraceExportService | LogExportService | MetricExportService>(service)
          .export(gone, body, signal),
      ).toMatchObject({
        count: 1,
        reasons: [expect.stringContaining('refused: the workspace was deleted.')],
      });
    }
    for (const table of ['traces', 'spans', 'log_records', 'metric_points', 'span_sources']) {
      const stored = await app.database.query(`SELECT 1 FROM ${table} WHERE workspace_id = $1`, [
        gone.workspaceId,
      ]);
      expect([table, stored]).toEqual([table, []]);
    }
  });

  describe('of erased users', () => {
    let erasedNs: bigint;
    const erased = { 'user.id': 'erased' };
    const refused = (rejectedSpans: '1' | '2') => {
      const spans = rejectedSpans === '1' ? '1 span was' : '2 spans were';
      return { rejectedSpans, errorMessage: `${spans} refused: the user was erased later.` };
    };

    beforeAll(async () => {
      const users = app.get(ErasedUsers);
      const erasedAt = new Date();
      await app.database.transaction((tx) => users.add(tx, workspaceId, 'erased', erasedAt));
      erasedNs = BigInt(erasedAt.getTime()) * 1_000_000n;
    });

    it('are refused with the other spans of the trace, in the same export and later', async () => {
      const root = newSpan({ attributes: erased });
      const child = newSpan({ traceId: root.traceId, parentSpanId: root.spanId });
      const other = newSpan({ attributes: { 'user.id': 'another' } });
      expect(refusal(await exporter.json([child, root, other]))).toEqual(refused('2'));
      expect(refusal(await exporter.json([newSpan({ traceId: root.traceId })]))).toMatchObject({
        rejectedSpans: '1',
      });
      expect([await isStored(root.traceId), await isStored(other.traceId)]).toEqual([false, true]);
    });

    it('lose the spans that arrived before the one that names the user', async () => {
      const root = newSpan({ attributes: { 'enduser.id': 'erased' } });
      const child = newSpan({ traceId: root.traceId, parentSpanId: root.spanId });
      await exporter.json([child]);
      await sendLogs({ traceId: root.traceId });
      const traceNo = await numberOf(root.traceId);
      expect(refusal(await exporter.json([root]))).toEqual(refused('1'));
      expect(await rowsOf(root.traceId, traceNo)).toMatchObject({ traces: 0, spans: 0, gaps: 0, logs: 0 });
      expect(await inconsistentSessions(app.database, workspaceId)).toEqual([]);
    });

    it('are stored if they began after the erasure', async () => {
      const later = erasedNs + 1_000_000_000n;
      const root = newSpan({ attributes: erased, start: later, end: later });
      expect(refusal(await exporter.json([root]))).toBeNull();
      expect(await isStored(root.traceId)).toBe(true);
    });

    it('leave stored traces of other users, and those that began later', async () => {
      const later = erasedNs + 1_000_000_000n;
      const ofOther = newSpan({ attributes: { 'user.id': 'another' } });
      const ofReturned = newSpan({ attributes: erased, start: later, end: later });
      await exporter.json([ofOther, ofReturned]);
      for (const { traceId } of [ofOther, ofReturned]) {
        const old = newSpan({ traceId, attributes: erased });
        const more = newSpan({ traceId, start: later, end: later });
        expect(refusal(await exporter.json([old, more]))).toEqual(refused('1'));
        expect(refusal(await exporter.json([old]))).toEqual(refused('1'));
        const spans = (await admin.get(`${TRACES}/${traceId}/spans`)).body.items;
        expect(spans.map((span: any) => span.span_id)).not.toContain(old.spanId);
        expect((await admin.get(`${TRACES}/${traceId}`)).body).toMatchObject({ span_count: 2 });
      }
      expect(await inconsistentSessions(app.database, workspaceId)).toEqual([]);
    });

    it.each(USER_ATTRIBUTES)('include log records and data points with %s', async (name) => {
      const attributes = [{ key: name, value: text('erased') }];
      const log = { timeUnixNano: String(SPAN_START), attributes };
      const logs = Buffer.from(JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [log] }] }] }));
      const sentLogs = await exporter.send(logs, { media: JSON_MEDIA, path: LOGS });
      expect(refusal(sentLogs)).toMatchObject({ rejectedLogRecords: '1' });
      const points = pointExport(
        { attributes, time: SPAN_START },
        { attributes, time: erasedNs + 2_000_000n },
      );
      const sentPoints = await exporter.send(points, { media: JSON_MEDIA, path: '/telemetry/v1/metrics' });
      expect(refusal(sentPoints)).toEqual({
        rejectedDataPoints: '1',
        errorMessage: '1 data point was refused: the user was erased later.',
      });
    });

    it('include log records that name the user', async () => {
      const logs = [
        { userId: 'erased' },
        { userId: 'another' },
        { userId: 'erased', time: erasedNs + 2_000_000n },
      ];
      expect(refusal(await sendLogs(...logs))).toMatchObject({ rejectedLogRecords: '1' });
    });
  });
});

describe('traces in use', () => {
  const app = sharedApp();

  const remove = (api: ApiClient, traceId: string, query = '') => api.delete(`${TRACES}/${traceId}${query}`);

  it.each(['run', 'batch'] as const)('of an open scoring %s are only deleted with `force`', async (kind) => {
    const on = await ScoringFixture.create(app);
    const admin = await on.organization.as('admin');
    const traceId = await on.trace({ input: 'a', output: 'b' });
    const scorer = await on.scorer();
    const use = { trace_ids: [traceId] };
    const { status, body } = await (kind === 'run'
      ? on.score(scorer, { mode: 'score', ...use })
      : on.batch(scorer, use));
    expect(status).toBe(202);
    const id = body.score_run_id ?? body.score_batch_id;
    const refused = await remove(admin, traceId);
    expect(refused).toMatchObject({ status: 409, body: { code: 'conflict' } });
    expect(refused.body.detail).toContain(kind === 'run' ? id : 'scoring ');
    expect((await remove(admin, traceId, '?force=true')).status).toBe(204);
  });

  it('of an annotation queue leave it with `force`, and scored items stay', async () => {
    const fixture = await AnnotationFixture.open(app);
    const { organization } = fixture.space;
    const admin = await organization.as('admin');
    const [first, second, third] = await fixture.traces(3);
    const scorer = await fixture.scorer();
    const queue = await fixture.queue(scorer, { trace_ids: [first, second, third] });
    const claimed = await fixture.claim(queue);
    await fixture.score(queue, claimed);
    const items = (await admin.get(`/eval/v1/annotation-queues/${queue.queue_id}/items`)).body.items;
    const [scored, ...waiting] = items.map((item: any) => item.trace_id);
    await fixture.skip(queue, items[1].item_id);
    expect((await remove(admin, scored)).status).toBe(204);
    const refused = await remove(admin, waiting[0]);
    expect(refused).toMatchObject({ status: 409 });
    expect(refused.body.detail).toContain(queue.queue_id);
    for (const id of waiting) expect((await remove(admin, id, '?force=true')).status).toBe(204);
    expect(await fixture.read(queue)).toMatchObject({ item_count: 1, completed_count: 1, skipped_count: 0 });
    expect((await fixture.next(queue)).reason).toBe('completed');
  });

  it('rejects a misspelt parameter', async () => {
    const admin = await (await newOrganization(app)).as('admin');
    expect((await remove(admin, 'a'.repeat(32), '?forced=true')).body.code).toBe('invalid_query');
  });
});
