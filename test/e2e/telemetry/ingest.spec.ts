import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { Client } from 'pg';
import {
  type Answer,
  type ApiClient,
  ownApp,
  newOrganization,
  type TestOrganization,
  jsonExport,
  newSpan,
  newTraceId,
  protobufExport,
  SPAN_START as START,
  type TestSpan,
} from '#testing';
import { answered, JSON_MEDIA, PROTOBUF, RawExporter, shuffled } from './otlp.harness';

const MS = 1_000_000n;

describe('POST /telemetry/v1/traces:', () => {
  const app = ownApp({
    env: { MODEL_PRICES: '{"gpt-4o":{"input_usd_per_million":2.5,"output_usd_per_million":10}}' },
  });
  let organization: TestOrganization;
  let exporter: RawExporter;
  let client: ApiClient;
  let experiment: string;
  let database: Client;

  beforeAll(async () => {
    organization = await newOrganization(app);
    exporter = new RawExporter(app.url, await organization.token('runtime'), organization.workspaceId);
    client = await organization.as('editor');
    const { body } = await client.post('/eval/v1/experiments', {
      workspace_id: organization.workspaceId,
      name: 'traced',
    });
    experiment = body.experiment_id;
    database = new Client({ connectionString: app.databaseUrl });
    await database.connect();
  });
  afterAll(async () => {
    await database.end();
  });

  const traceOf = async (traceId: string): Promise<any> =>
    (await client.get(`/eval/v1/experiments/${experiment}/traces/${traceId}`)).body;
  const spansOf = (traceId: string, query = ''): Promise<Answer> =>
    client.get(`/eval/v1/experiments/${experiment}/traces/${traceId}/spans${query}`);
  const countSpans = async (traceId: string): Promise<number> => {
    const { rows } = await database.query<{ count: string }>(
      'SELECT count(*) FROM spans JOIN traces USING (workspace_id, day, trace_no) WHERE trace_id = $1',
      [traceId],
    );
    return Number(rows[0]!.count);
  };

  describe('a 200 response', () => {
    it('means that the spans are visible everywhere', async () => {
      for (let round = 0; round < 20; round++) {
        const span = newSpan();
        const { status } = await exporter.protobuf([span]);
        expect([status, await countSpans(span.traceId)]).toEqual([200, 1]);
      }
    });

    it('is not sent before the transaction has committed', async () => {
      const span = newSpan();
      await database.query('BEGIN');
      await database.query('LOCK TABLE traces IN EXCLUSIVE MODE');
      let isAnswered = false;
      const answer = exporter.protobuf([span]).finally(() => (isAnswered = true));
      const watcher = new Client({ connectionString: app.databaseUrl });
      await watcher.connect();
      const waiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
      while (!isAnswered && (await watcher.query(waiting)).rowCount === 0) await delay(10);
      await watcher.end();
      expect(isAnswered).toBe(false);
      await database.query('COMMIT');
      expect((await answer).status).toBe(200);
      expect(await countSpans(span.traceId)).toBe(1);
    });

    it('is sent for a retry of a failed export, which was not stored partially', async () => {
      const span = newSpan();
      await database.query(`
        CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'broken'; END $$;
        CREATE TRIGGER fail BEFORE INSERT ON traces FOR EACH ROW EXECUTE FUNCTION fail()`);
      const { status } = await exporter.protobuf([span]);
      await database.query('DROP FUNCTION fail CASCADE');
      expect([status, await countSpans(span.traceId)]).toEqual([500, 0]);
      expect((await exporter.protobuf([span])).status).toBe(200);
      expect(await traceOf(span.traceId)).toMatchObject({ span_count: 1 });
    });

    it.each([
      ['protobuf', PROTOBUF, ''],
      ['JSON', JSON_MEDIA, '{}'],
    ])('is the empty OTLP response in the encoding of the request: %s', async (_, media, body) => {
      const bytes = media === PROTOBUF ? protobufExport([newSpan()]) : jsonExport([newSpan()]);
      const answer = await exporter.send(bytes, { media });
      expect(answer.status).toBe(200);
      expect(answer.headers['content-type']).toBe(media);
      expect(answer.bytes.toString()).toBe(body);
    });

    it('is sent for an export without spans', async () => {
      expect((await exporter.send(Buffer.alloc(0))).status).toBe(200);
      expect((await exporter.send(Buffer.from('{}'), { media: JSON_MEDIA })).status).toBe(200);
    });

    it('is sent for gzip, x-gzip and identity', async () => {
      for (const encoding of ['gzip', 'GZIP', 'x-gzip', 'identity, gzip', 'identity', '']) {
        const span = newSpan();
        const body = protobufExport([span]);
        const sent = /gzip/i.test(encoding) ? gzipSync(body) : body;
        expect((await exporter.send(sent, { encoding })).status).toBe(200);
        expect(await traceOf(span.traceId)).toMatchObject({ span_count: 1 });
      }
    });

    it('does not depend on parameters of the media type', async () => {
      const answer = await exporter.send(jsonExport([newSpan()]), {
        media: 'Application/JSON; charset=utf-8',
      });
      expect(answer.status).toBe(200);
    });
  });

  describe('partly invalid spans', () => {
    it.each([['protobuf'], ['json']] as const)(
      'are stored without the invalid ones, which are counted and explained (%s)',
      async (encoding) => {
        const good = newSpan();
        const bad = newSpan({ traceId: '0'.repeat(32) });
        const answer = await exporter[encoding]([bad, good]);
        expect(answer.status).toBe(200);
        const { rejectedSpans, errorMessage } =
          encoding === 'protobuf' ? answered.partialSuccess(answer)! : answered.json(answer).partialSuccess;
        expect(Number(rejectedSpans)).toBe(1);
        expect(errorMessage).toContain('traceId');
        expect(await countSpans(good.traceId)).toBe(1);
      },
    );
  });

  describe('a span that is sent again', () => {
    const figures = { 'gen_ai.usage.input_tokens': 100, 'gen_ai.response.model': 'gpt-4o' };

    it('is stored once and counted once in a later request', async () => {
      const span = newSpan({ attributes: figures, isError: true });
      for (let i = 0; i < 3; i++) expect((await exporter.protobuf([span])).status).toBe(200);
      expect(await countSpans(span.traceId)).toBe(1);
      expect(await traceOf(span.traceId)).toMatchObject({
        span_count: 1,
        error_count: 1,
        input_tokens: 100,
        cost_usd: 0.00025,
      });
    });

    it('is stored once and counted once within one request', async () => {
      const span = newSpan({ attributes: figures, name: 'first' });
      const { status } = await exporter.json([span, { ...span, name: 'second' }, span]);
      expect(status).toBe(200);
      expect((await spansOf(span.traceId)).body.items).toEqual([expect.objectContaining({ name: 'first' })]);
      expect(await traceOf(span.traceId)).toMatchObject({ span_count: 1, input_tokens: 100 });
    });

    it('is stored once and counted once in concurrent requests', async () => {
      const traceIds = Array.from({ length: 10 }, newTraceId);
      const spans = traceIds.flatMap((traceId) =>
        Array.from({ length: 20 }, () => newSpan({ traceId, attributes: figures })),
      );
      const before = await deadlocks();
      for (let round = 0; round < 2; round++) {
        // every request has the spans in a different order: without a lock order, there would be deadlocks
        const requests = Array.from({ length: 6 }, (_, i) =>
          exporter.protobuf(shuffled(spans, round * 10 + i)),
        );
        expect((await Promise.all(requests)).map(({ status }) => status)).toEqual(Array(6).fill(200));
        spans.push(...traceIds.map((traceId) => newSpan({ traceId, attributes: figures })));
      }
      for (const traceId of traceIds) {
        expect(await countSpans(traceId)).toBe(21);
        expect(await traceOf(traceId)).toMatchObject({ span_count: 21, input_tokens: 2100 });
      }
      expect(await deadlocks()).toBe(before);
    });

    /** Returns the number of deadlocks in this database so far. */
    async function deadlocks(): Promise<number> {
      await delay(1100); // a connection reports its statistics at most once a second
      await app.database.query('SELECT 1');
      const { rows } = await database.query<{ deadlocks: string }>(
        'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()',
      );
      return Number(rows[0]!.deadlocks);
    }
  });

  describe('times', () => {
    it.each([
      ['the year 1970', 1n, '1970-01-01T00:00:00.000Z'],
      [
        'the year 2262, beyond signed 64-bit nanoseconds',
        9_223_372_037_123_456_789n,
        '2262-04-11T23:47:17.123Z',
      ],
      ['the year 2554, the last of unsigned 64 bits', 2n ** 64n - 1n, '2554-07-21T23:34:33.709Z'],
    ])('are stored for %s', async (_, start, expected) => {
      const span = newSpan({ start, end: start });
      for (const encoding of ['protobuf', 'json'] as const) {
        const sent = { ...span, traceId: newTraceId() };
        expect((await exporter[encoding]([sent])).status).toBe(200);
        expect(await traceOf(sent.traceId)).toMatchObject({ started_at: expected, duration_ms: 0 });
        expect((await spansOf(sent.traceId)).body.items[0]).toMatchObject({ started_at: expected });
      }
    });

    it('are stored to the microsecond', async () => {
      const span = newSpan({ end: START + 1_234_567n });
      await exporter.protobuf([span]);
      expect(await traceOf(span.traceId)).toMatchObject({ duration_ms: 1.234 });
    });

    it('never give a negative duration', async () => {
      const span = newSpan({ end: START - 5n * MS });
      await exporter.protobuf([span]);
      expect(await traceOf(span.traceId)).toMatchObject({ duration_ms: 0 });
      expect((await spansOf(span.traceId)).body.items[0]).toMatchObject({
        duration_ms: 0,
        ended_at: '2026-11-19T23:59:59.995Z',
      });
    });

    it('default to the start for a missing end', async () => {
      const span = newSpan({ end: 0n });
      await exporter.protobuf([span]);
      expect((await spansOf(span.traceId)).body.items[0]).toMatchObject({
        ended_at: '2026-11-20T00:00:00.000Z',
      });
    });
  });

  it('accepts 10,000 spans in one request', async () => {
    const traceId = newTraceId();
    const spans = Array.from({ length: 10_000 }, (_, i) =>
      newSpan({ traceId, start: START + BigInt(i), attributes: { index: i, text: 'x'.repeat(500) } }),
    );
    const answer = await exporter.protobuf(spans);
    expect([answer.status, answer.bytes.length]).toEqual([200, 0]);
    expect(await traceOf(traceId)).toMatchObject({ span_count: 10_000 });
    expect(await countSpans(traceId)).toBe(10_000);
  });

  describe('spans of a workspace', () => {
    it('are invisible to other workspaces', async () => {
      const span = newSpan();
      await exporter.protobuf([span]);
      const otherWorkspace = await organization.newWorkspace();
      const stranger = await newOrganization(app);
      for (const [caller, workspaceId] of [
        [client.in(otherWorkspace), otherWorkspace],
        [await stranger.as('owner'), stranger.workspaceId],
      ] as const) {
        const { body } = await caller.post('/eval/v1/experiments', {
          workspace_id: workspaceId,
          name: 'own',
        });
        const traces = `/eval/v1/experiments/${body.experiment_id}/traces`;
        expect((await caller.get(`${traces}/${span.traceId}`)).status).toBe(404);
        expect((await caller.get(`${traces}/${span.traceId}/spans`)).status).toBe(404);
      }
    });

    it('are separate from spans with the same ids in other workspaces', async () => {
      const span = newSpan({ name: 'mine' });
      await exporter.protobuf([span]);
      const stranger = await newOrganization(app);
      const theirs = new RawExporter(app.url, await stranger.token('runtime'), stranger.workspaceId);
      await theirs.protobuf([{ ...span, name: 'theirs' }, newSpan({ traceId: span.traceId })]);
      expect(await traceOf(span.traceId)).toMatchObject({ root_name: 'mine', span_count: 1 });
    });
  });

  describe('hostile spans', () => {
    it('are stored with an overlong session, service or model, but cannot be found by it', async () => {
      const long = 'x'.repeat(5_000);
      const span = newSpan({ attributes: { 'session.id': long, 'gen_ai.response.model': long } });
      const answer = await exporter.send(protobufExport([span], { 'service.name': long }));
      expect(answer.status).toBe(200);
      expect(await traceOf(span.traceId)).toMatchObject({ session_id: null, service_name: null, models: [] });
      const [stored] = (await spansOf(span.traceId)).body.items;
      expect(stored.attributes['session.id']).toBe(long);
      expect(stored.resource.attributes['service.name']).toBe(long);
    });

    it('do not make the row of the trace large, even with many models', async () => {
      const traceId = newTraceId();
      for (let round = 0; round < 3; round++) {
        const spans = Array.from({ length: 80 }, (_, i) =>
          newSpan({ traceId, attributes: { 'gen_ai.response.model': `model-${round}-${i}` } }),
        );
        await exporter.protobuf(spans);
      }
      const { models, span_count } = await traceOf(traceId);
      expect([models.length, span_count]).toEqual([100, 240]);
    });

    it('are stored with NUL characters and names of prototypes', async () => {
      const attributes = Object.fromEntries([
        ['text', 'a\0b'],
        ['__proto__', 'own'],
        ['constructor', 'own'],
      ]) as TestSpan['attributes'];
      const span = newSpan({ name: 'a\0b', attributes });
      for (const encoding of ['protobuf', 'json'] as const) {
        const sent = { ...span, traceId: newTraceId() };
        expect((await exporter[encoding]([sent])).status).toBe(200);
        const [stored] = (await spansOf(sent.traceId)).body.items;
        expect(stored.name).toBe('a\ufffdb');
        expect(Object.entries(stored.attributes)).toEqual([
          ['text', 'a\ufffdb'],
          ['__proto__', 'own'],
          ['constructor', 'own'],
        ]);
      }
    });

    it('do not affect totals if their token counts are absurd', async () => {
      const traceId = newTraceId();
      const counts = [7, -5, 1e15, 2.5];
      await exporter.protobuf(
        counts.map((count) => newSpan({ traceId, attributes: { 'gen_ai.usage.input_tokens': count } })),
      );
      expect(await traceOf(traceId)).toMatchObject({ input_tokens: 7 });
    });
  });

  describe('the spans of a trace', () => {
    it('are paged in start order, without gaps or repeats, with the exact total', async () => {
      const traceId = newTraceId();
      // many spans have the same start, so a page must continue among them
      const spans = Array.from({ length: 25 }, (_, i) =>
        newSpan({ traceId, name: String(i), start: START + BigInt(Math.floor(i / 10)) * MS }),
      );
      await exporter.protobuf(shuffled(spans, 7));
      const starts = new Map(spans.map(({ spanId, start }) => [spanId, start!]));
      const seen: string[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const { body } = await spansOf(traceId, `?limit=4${cursor && `&cursor=${cursor}`}`);
        expect(body.page.total).toBe(25);
        seen.push(...body.items.map((span: { span_id: string }) => span.span_id));
        cursor = body.page.next_cursor;
      }
      expect([...seen].sort()).toEqual([...starts.keys()].sort());
      expect(seen.map((id) => starts.get(id))).toEqual(spans.map(({ start }) => start));
      const backwards = (await spansOf(traceId, '?sort=-started_at&limit=500')).body.items;
      expect(backwards.map((span: { span_id: string }) => span.span_id)).toEqual([...seen].reverse());
    });

    it('reject an unknown sort and a cursor of another list', async () => {
      const span = newSpan();
      await exporter.protobuf([span]);
      for (const query of ['?cursor=nonsense', '?limit=501', '?colour=red']) {
        const { status, body } = await spansOf(span.traceId, query);
        expect([status, body.code]).toEqual([400, 'invalid_query']);
      }
      const { status, body } = await spansOf(span.traceId, '?sort=name');
      expect([status, body.code]).toEqual([422, 'validation_failed']);
    });
  });
});
