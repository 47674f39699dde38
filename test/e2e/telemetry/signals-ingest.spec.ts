import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { Client } from 'pg';
import { type ApiClient, ownApp, newOrganization, type TestApp, type TestOrganization } from '#testing';
import { DayPartitionRepository } from '../../../src/telemetry/partitions/day-partition.repository';
import { answered, type ExportAnswer, JSON_MEDIA, PROTOBUF, RawExporter } from './otlp.harness';
import { SIGNALS } from './signals.harness';

const app = ownApp();

describe.each(['logs', 'metrics'] as const)('POST /telemetry/v1/%s', (name) => {
  const signal = SIGNALS[name];
  let other: TestApp;
  let organization: TestOrganization;
  let exporter: RawExporter;
  let reader: ApiClient;
  /** An exporter that sends to another process. */
  let elsewhere: ApiClient;

  beforeAll(async () => {
    other = await app.another();
    organization = await newOrganization(app);
    exporter = new RawExporter(app.url, await organization.token('runtime'), organization.workspaceId);
    reader = await organization.as('viewer');
    elsewhere = other.api(await organization.token('viewer')).in(organization.workspaceId);
  });
  afterAll(async () => {
    await other.close();
  });

  const send = (body: Buffer, media = JSON_MEDIA, through = exporter): Promise<ExportAnswer> =>
    through.send(body, { media, path: signal.path });

  /** Returns how often each of these records is stored. */
  async function countsOf(texts: readonly string[], by: ApiClient = reader): Promise<number[]> {
    const items: any[] = (await by.get(`${signal.path}?limit=500`)).body.items;
    return texts.map((text) => items.filter((item) => signal.textOf(item) === text).length);
  }

  const some = (count = 1): string[] => Array.from({ length: count }, () => randomUUID());
  const bodyOf = (texts: readonly string[]): Buffer => signal.json(texts.map((text) => ({ text })));

  it.each([
    ['protobuf', PROTOBUF, ''],
    ['JSON', JSON_MEDIA, '{}'],
  ])('returns 200 once everything is readable: %s', async (_, media, empty) => {
    for (const encoding of [undefined, 'gzip']) {
      const texts = some(3);
      const records = texts.map((text) => ({ text }));
      const body = media === PROTOBUF ? signal.protobuf(records) : signal.json(records);
      const sent = encoding ? gzipSync(body) : body;
      const answer = await exporter.send(sent, { media, encoding, path: signal.path });
      expect([answer.status, answer.headers['content-type'], answer.bytes.toString()]).toEqual([
        200,
        media,
        empty,
      ]);
      expect(await countsOf(texts, elsewhere)).toEqual([1, 1, 1]);
    }
  });

  it('does not respond before the transaction has committed', async () => {
    const database = new Client({ connectionString: app.databaseUrl });
    await database.connect();
    await database.query('BEGIN');
    await database.query(`LOCK TABLE ${signal.table} IN EXCLUSIVE MODE`);
    const texts = some();
    let isAnswered = false;
    const answer = send(bodyOf(texts)).finally(() => (isAnswered = true));
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
    while (!isAnswered && (await app.database.query(waiting)).length === 0) await delay(10);
    expect(isAnswered).toBe(false);
    await database.query('COMMIT');
    await database.end();
    expect((await answer).status).toBe(200);
    expect(await countsOf(texts)).toEqual([1]);
  });

  it('accepts an empty export', async () => {
    expect((await send(Buffer.alloc(0), PROTOBUF)).status).toBe(200);
    expect((await send(Buffer.from('{}'))).status).toBe(200);
  });

  it('stores valid records, and reports rejected ones each time', async () => {
    const [text] = some();
    const body = signal.partlyInvalid(text!);
    for (let attempt = 0; attempt < 2; attempt++) {
      const answer = await send(body);
      expect(answer.status).toBe(200);
      expect(answered.json(answer).partialSuccess).toEqual({
        [signal.rejected]: '1',
        errorMessage: expect.stringContaining('at index 0).'),
      });
    }
    expect(await countsOf([text!])).toEqual([1]);
  });

  describe('with a repeated export', () => {
    it('stores it once in later requests', async () => {
      const texts = some(2);
      const body = bodyOf(texts);
      for (let attempt = 0; attempt < 3; attempt++) expect((await send(body)).status).toBe(200);
      expect(await countsOf(texts)).toEqual([1, 1]);
    });

    it('counts it as a new one if a record has no time', async () => {
      const [timed, untimed] = some(2) as [string, string];
      const body = signal.json([{ text: timed }, { text: untimed, time: 0n }]);
      for (let attempt = 0; attempt < 3; attempt++) expect((await send(body)).status).toBe(200);
      expect(await countsOf([timed, untimed])).toEqual([3, 3]);
    });

    it('stores it once if two processes receive it concurrently', async () => {
      const through = new RawExporter(other.url, exporter.token, organization.workspaceId);
      const groups = Array.from({ length: 6 }, () => some(2));
      const bodies = groups.map(bodyOf);
      const answers = await Promise.all(
        [...bodies, ...bodies.toReversed(), ...bodies].map((body, index) =>
          send(body, JSON_MEDIA, index % 2 === 0 ? exporter : through),
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual(Array(18).fill(200));
      expect(await countsOf(groups.flat())).toEqual(Array(12).fill(1));
    });

    it('stores it after a rollback', async () => {
      const texts = some();
      const body = bodyOf(texts);
      await app.database.query(`
        CREATE FUNCTION fail_${name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'broken'; END $$;
        CREATE TRIGGER fail BEFORE INSERT ON ${signal.table} FOR EACH ROW EXECUTE FUNCTION fail_${name}()`);
      const { status } = await send(body);
      await app.database.query(`DROP FUNCTION fail_${name} CASCADE`);
      expect([status, await countsOf(texts)]).toEqual([500, [0]]);
      expect((await send(body)).status).toBe(200);
      expect(await countsOf(texts)).toEqual([1]);
    });

    it('counts it as a new one in another workspace', async () => {
      const stranger = await newOrganization(app);
      const texts = some();
      const body = bodyOf(texts);
      const foreign = new RawExporter(app.url, await stranger.token('runtime'), stranger.workspaceId);
      expect((await send(body)).status).toBe(200);
      expect((await send(body, JSON_MEDIA, foreign)).status).toBe(200);
      expect(await countsOf(texts)).toEqual([1]);
      expect(await countsOf(texts, await stranger.as('viewer'))).toEqual([1]);
    });
  });

  it('stores records that other workspaces cannot see', async () => {
    const texts = some();
    await send(bodyOf(texts));
    const stranger = await newOrganization(app);
    expect(await countsOf(texts, await stranger.as('viewer'))).toEqual([0]);
  });

  it('stores a record of any time in the partition of its arrival', async () => {
    const [day] = await app.get(DayPartitionRepository).days(0);
    for (const time of [0n, 1n, 9_223_372_036_854_775_807n, 18_446_744_073_709_551_615n]) {
      const [text] = some();
      expect((await send(signal.protobuf([{ text: text!, time }]), PROTOBUF)).status).toBe(200);
      expect(await countsOf([text!])).toEqual([1]);
    }
    const rows = await app.database.query(
      `SELECT DISTINCT tableoid::regclass::text AS partition FROM ${signal.table}`,
    );
    expect(rows).toEqual([{ partition: `${signal.table}_${day!.replaceAll('-', '')}` }]);
  });

  it('creates a missing partition', async () => {
    for (const day of await app.get(DayPartitionRepository).list(signal.table)) {
      await app.database.query(`DROP TABLE ${signal.table}_${day.replaceAll('-', '')}`);
    }
    const texts = some(4);
    const answers = await Promise.all(texts.map((text) => send(bodyOf([text]))));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(await countsOf(texts)).toEqual([1, 1, 1, 1]);
  });
});
