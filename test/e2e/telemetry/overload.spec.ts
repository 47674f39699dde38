import http from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { Client } from 'pg';
import {
  ownApp,
  jsonExport,
  newOrganization,
  newSpan,
  protobufExport,
  type TestOrganization,
  type TestSpan,
} from '#testing';
import { BodyBudgets } from '#platform/http';
import { Metrics } from '#platform/metrics';
import { EXPORT_BUDGET } from '../../../src/telemetry/otlp-http/otlp-body.decorator';
import { answered, type ExportAnswer, JSON_MEDIA, PROTOBUF, RawExporter, TRACES } from './otlp.harness';

const MIB = 1024 * 1024;
/** The minimum of TELEMETRY_QUEUE_BYTES. */
const BUDGET = MIB;

describe('telemetry load', () => {
  const app = ownApp({
    env: {
      DATABASE_POOL_SIZE: '8',
      TELEMETRY_QUEUE_BYTES: String(BUDGET),
      TELEMETRY_LIMIT_BYTES: String(2 * MIB),
    },
  });
  let database: Client;
  let organization: TestOrganization;
  let exporter: RawExporter;

  beforeAll(async () => {
    organization = await newOrganization(app);
    exporter = await exporterOf(organization);
    database = new Client({ connectionString: app.databaseUrl });
    await database.connect();
  });
  afterAll(async () => {
    await database.end();
  });
  afterEach(() => database.query('ROLLBACK'));

  const exporterOf = async (of: TestOrganization): Promise<RawExporter> =>
    new RawExporter(app.url, await of.token('runtime'), of.workspaceId);

  /** Blocks storing until `unblockWrites`. */
  const blockWrites = (): Promise<unknown> =>
    database.query('BEGIN; LOCK TABLE traces IN SHARE ROW EXCLUSIVE MODE');
  const unblockWrites = (): Promise<unknown> => database.query('COMMIT');

  /** Waits until exports take this many bytes of the budget, or until a response arrives. */
  async function waitForBytes(
    bytes: number,
    answer?: Promise<ExportAnswer>,
  ): Promise<ExportAnswer | undefined> {
    for (;;) {
      const first = await Promise.race([...(answer ? [answer] : []), delay(10)]);
      if (first) return first;
      if (app.get(BodyBudgets).of(EXPORT_BUDGET).used >= bytes) return undefined;
    }
  }

  /** Returns the number of failed exports so far. */
  async function failureCount(): Promise<number> {
    const reported = await app.get(Metrics).text();
    return Number(
      /telemetry_exports_total\{signal="traces",outcome="failed"\} (\d+)/.exec(reported)?.[1] ?? 0,
    );
  }

  /** Waits until this many groups are being written, and are blocked. */
  async function waitForBlockedGroups(groups: number): Promise<void> {
    const waiting = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    while (Number((await database.query<{ count: string }>(waiting)).rows[0]!.count) < groups)
      await delay(10);
  }

  const lengthOf = (spans: readonly TestSpan[]): number =>
    spans.reduce((length, span) => length + protobufExport([span]).length, 0);

  /** Returns a span of about this many bytes. */
  const sized = (bytes: number): TestSpan => newSpan({ attributes: { text: 'x'.repeat(bytes) } });

  const areStored = async (spans: readonly TestSpan[]): Promise<boolean[]> => {
    const { rows } = await database.query<{ trace_id: string }>(
      'SELECT trace_id FROM traces JOIN spans USING (workspace_id, day, trace_no) WHERE trace_id = ANY($1)',
      [spans.map(({ traceId }) => traceId)],
    );
    return spans.map(({ traceId }) => rows.some((row) => row.trace_id === traceId));
  };

  /** Sends until an export is rejected. @returns the exports before it, and the rejection */
  async function fill(
    by: RawExporter,
    bytes: number,
  ): Promise<{ spans: TestSpan[]; accepted: Promise<ExportAnswer>[]; refused: ExportAnswer }> {
    const spans: TestSpan[] = [];
    const accepted: Promise<ExportAnswer>[] = [];
    for (;;) {
      const span = sized(bytes);
      const answer = by.protobuf([span]);
      const first = await waitForBytes((spans.length + 1) * bytes, answer);
      if (first) return { spans, accepted, refused: first };
      spans.push(span);
      accepted.push(answer);
      if (spans.length * bytes > 2 * BUDGET) throw new Error('Nothing was rejected.');
    }
  }

  const statuses = async (answers: Promise<ExportAnswer>[]): Promise<number[]> =>
    (await Promise.all(answers)).map(({ status }) => status);

  it('is rejected with 503 and Retry-After over the limit, and accepted exports are stored', async () => {
    await blockWrites();
    const { spans, accepted, refused } = await fill(exporter, 100_000);
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
    expect(answered.status(refused)).toMatchObject({ code: 14, reason: 'service_overloaded' });
    const inJson = await exporter.send(jsonExport([sized(100_000)]), { media: JSON_MEDIA });
    expect([inJson.status, inJson.headers['retry-after'], answered.json(inJson).code]).toEqual([
      503,
      '1',
      'service_overloaded',
    ]);
    // one organization may use half of the budget
    expect(accepted).toHaveLength(Math.floor(BUDGET / 2 / 100_300));
    await unblockWrites();
    expect(await statuses(accepted)).toEqual(accepted.map(() => 200));
    expect(await areStored(spans)).toEqual(spans.map(() => true));
    expect((await exporter.protobuf([sized(100_000)])).status).toBe(200);
  });

  it('leaves capacity to other organizations if one organization causes it', async () => {
    const other = await exporterOf(await newOrganization(app));
    await blockWrites();
    const { accepted } = await fill(exporter, 100_000);
    const span = sized(100_000);
    const taking = other.protobuf([span]);
    expect(await waitForBytes((accepted.length + 1) * 100_000, taking)).toBeUndefined();
    await unblockWrites();
    expect(await statuses([...accepted, taking])).toEqual([...accepted.map(() => 200), 200]);
    expect(await areStored([span])).toEqual([true]);
  });

  it.each([
    ['compressed', (body: Buffer) => exporter.send(gzipSync(body), { encoding: 'gzip' })],
    ['without a length', (body: Buffer) => exporter.send(body, { isChunked: true })],
  ])('is measured in memory: %s', async (_, send) => {
    await blockWrites();
    const first = exporter.protobuf([sized(400_000)]);
    await waitForBytes(400_000);
    const refused = await send(protobufExport([sized(200_000)]));
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
    await unblockWrites();
    expect(await statuses([first])).toEqual([200]);
    expect((await send(protobufExport([sized(200_000)]))).status).toBe(200);
  });

  it('is accepted as one large export when the service is idle', async () => {
    const span = sized(1.5 * MIB);
    for (const sent of [
      await exporter.protobuf([span]),
      await exporter.send(gzipSync(protobufExport([span])), { encoding: 'gzip' }),
    ]) {
      expect(sent.status).toBe(200);
    }
  });

  it('frees its bytes when the client disconnects, and stores nothing', async () => {
    await blockWrites();
    const blocked = [newSpan(), newSpan()].map((span) => exporter.protobuf([span]));
    await waitForBlockedGroups(2);
    const span = sized(400_000);
    const body = protobufExport([span]);
    const disconnecting = http.request(app.url + TRACES, {
      method: 'POST',
      agent: false,
      headers: {
        authorization: `Bearer ${exporter.token}`,
        'x-service-workspace-id': organization.workspaceId,
        'content-type': PROTOBUF,
        'content-length': body.length,
      },
    });
    disconnecting.on('error', () => undefined);
    disconnecting.end(body);
    await waitForBytes(400_000);
    expect((await exporter.protobuf([sized(400_000)])).status).toBe(503);
    disconnecting.destroy();
    while (app.get(BodyBudgets).of(EXPORT_BUDGET).used >= 400_000) await delay(10);
    const next = sized(400_000);
    const taking = exporter.protobuf([next]);
    expect(await waitForBytes(400_000, taking)).toBeUndefined();
    await unblockWrites();
    expect(await statuses([...blocked, taking])).toEqual([200, 200, 200]);
    expect(await areStored([span, next])).toEqual([false, true]);
  });

  it('is committed in groups across workspaces', async () => {
    const other = await exporterOf(await newOrganization(app));
    await blockWrites();
    const spans = Array.from({ length: 60 }, () => newSpan());
    const answers = spans.map((span, index) => (index % 2 === 0 ? exporter : other).protobuf([span]));
    await waitForBytes(lengthOf(spans));
    await unblockWrites();
    expect(await statuses(answers)).toEqual(spans.map(() => 200));
    const { rows } = await database.query<{ transactions: string }>(
      'SELECT count(DISTINCT xmin::text) AS transactions FROM traces WHERE trace_id = ANY($1)',
      [spans.map(({ traceId }) => traceId)],
    );
    // the first two are alone, and those that arrived while the first were blocked are grouped
    expect(Number(rows[0]!.transactions)).toBeLessThanOrEqual(5);
  });

  it('stores the rest of a group when one export fails', async () => {
    const before = await failureCount();
    await database.query(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN IF NEW.name = 'cannot be stored' THEN RAISE 'it cannot be stored'; END IF; RETURN NEW; END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON spans FOR EACH ROW EXECUTE FUNCTION refuse()`);
    await blockWrites();
    const spans = Array.from({ length: 9 }, (_, n) => newSpan(n === 4 ? { name: 'cannot be stored' } : {}));
    const answers = spans.map((span) => exporter.protobuf([span]));
    await waitForBytes(lengthOf(spans));
    await unblockWrites();
    expect(await statuses(answers)).toEqual(spans.map((_, n) => (n === 4 ? 500 : 200)));
    expect(await areStored(spans)).toEqual(spans.map((_, n) => n !== 4));
    expect((await failureCount()) - before).toBe(1);
    await database.query('DROP TRIGGER refuse ON spans; DROP FUNCTION refuse');
  });
});
