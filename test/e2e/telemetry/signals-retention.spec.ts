import { randomUUID } from 'node:crypto';
import { type ApiClient, ownApp, createTestWorker, newOrganization, type TestWorker } from '#testing';
import { DayPartitionRepository } from '../../../src/telemetry/partitions/day-partition.repository';
import { DayPartitions } from '../../../src/telemetry/partitions/day-partitions';
import { TelemetryRetention } from '../../../src/telemetry/retention/telemetry-retention';
import { JSON_MEDIA, RawExporter } from './otlp.harness';
import { SIGNALS, type TestSignal } from './signals.harness';

const DAYS = { TRACE_RETENTION_DAYS: '5', LOG_RETENTION_DAYS: '10' };
/** The retention in days. Metrics have no separate setting. */
const KEPT = { logs: 10, metrics: 5 };

describe('expired logs and metrics', () => {
  const app = ownApp();
  let worker: TestWorker;
  let exporter: RawExporter;
  let reader: ApiClient;

  beforeAll(async () => {
    worker = await createTestWorker(app, DAYS);
    const organization = await newOrganization(app);
    exporter = new RawExporter(app.url, await organization.token('runtime'), organization.workspaceId);
    reader = await organization.as('viewer');
  });
  afterAll(async () => {
    await worker.close();
  });

  async function dayBefore(days: number): Promise<string> {
    const [row] = await app.database.query<{ day: string }>(
      `SELECT ((now() AT TIME ZONE 'UTC')::date - $1::int)::text AS day`,
      [days],
    );
    return row!.day;
  }

  /** Stores a record with its own service that arrived this many days ago. */
  async function recordFrom({ path, json, table }: TestSignal, days: number): Promise<string> {
    const text = randomUUID();
    const body = json([{ text, service: text }]);
    expect((await exporter.send(body, { media: JSON_MEDIA, path })).status).toBe(200);
    const day = await dayBefore(days);
    await app.get(DayPartitionRepository).create(table, day);
    await app.database.query(`UPDATE ${table} SET day = $1::date WHERE service_name = $2`, [day, text]);
    await app.database.query(
      `UPDATE span_sources SET day = $1::date WHERE resource::text LIKE '%' || $2 || '%'`,
      [day, text],
    );
    return text;
  }

  const servicesOf = async ({ path }: TestSignal): Promise<string[]> =>
    (await reader.get(`${path}?limit=500`)).body.items.map((item: any) => item.service_name);

  it.each(['logs', 'metrics'] as const)('are dropped by day: %s', async (name) => {
    const signal = SIGNALS[name];
    const kept = await recordFrom(signal, KEPT[name]);
    const over = await recordFrom(signal, KEPT[name] + 1);
    await worker.get(TelemetryRetention).deleteExpired();
    const days = await app.get(DayPartitionRepository).list(signal.table);
    expect(days).toContain(await dayBefore(KEPT[name]));
    expect(days).not.toContain(await dayBefore(KEPT[name] + 1));
    const services = await servicesOf(signal);
    expect([services.includes(kept), services.includes(over)]).toEqual([true, false]);
  });

  it('keep the sources that are still referenced', async () => {
    const text = await recordFrom(SIGNALS.logs, KEPT.logs);
    await worker.get(TelemetryRetention).deleteExpired();
    const { items } = (await reader.get(`${SIGNALS.logs.path}?service_name=${text}`)).body;
    expect(items).toMatchObject([{ resource: { attributes: { 'service.name': text } } }]);
  });

  it('are stored again if the export is repeated much later', async () => {
    const { path, json } = SIGNALS.logs;
    const [old, recent] = [randomUUID(), randomUUID()];
    const bodies = [old, recent].map((text) => json([{ text, service: text }]));
    for (const body of bodies) await exporter.send(body, { media: JSON_MEDIA, path });
    const ages = `UPDATE telemetry_exports e SET day = $1::date FROM log_records l
      WHERE l.service_name = $2 AND l.workspace_id = e.workspace_id AND e.xmin = l.xmin`;
    await app.database.query(ages, [await dayBefore(3), old]);
    await app.database.query(ages, [await dayBefore(2), recent]);
    await worker.get(TelemetryRetention).deleteExpired();
    for (const body of bodies) await exporter.send(body, { media: JSON_MEDIA, path });
    const services = await servicesOf(SIGNALS.logs);
    expect([old, recent].map((text) => services.filter((service) => service === text).length)).toEqual([
      2, 1,
    ]);
  });

  it('get their partitions ahead of time', async () => {
    const days = await app.get(DayPartitionRepository).days(3);
    for (const { table } of Object.values(SIGNALS)) {
      await app.get(DayPartitions).createAhead(table);
      expect(await app.get(DayPartitionRepository).list(table)).toEqual(expect.arrayContaining(days));
    }
  });
});
