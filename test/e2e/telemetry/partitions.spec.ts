import { ownApp, newOrganization, newSpan, SPAN_START, type TestSpan } from '#testing';
import { DayPartitionRepository } from '../../../src/telemetry/partitions/day-partition.repository';
import { DayPartitions } from '../../../src/telemetry/partitions/day-partitions';
import { RawExporter } from './otlp.harness';

const MINUTE = 60_000_000_000n;

describe('spans, partitioned by the day their trace arrived', () => {
  const app = ownApp();
  let exporter: RawExporter;

  beforeAll(async () => {
    const organization = await newOrganization(app);
    exporter = new RawExporter(app.url, await organization.token('runtime'), organization.workspaceId);
  });

  const send = async (...spans: TestSpan[]): Promise<number> => (await exporter.protobuf(spans)).status;
  const partitions = (): Promise<string[]> => app.get(DayPartitionRepository).list('spans');
  const today = async (): Promise<string> => (await app.get(DayPartitionRepository).days(0))[0]!;

  /** Returns the partition of each span of a trace, and the trace's row. */
  async function placesOf(traceId: string): Promise<{ day: string; partition: string; counted: number }[]> {
    return app.database.query(
      `SELECT t.day::text AS day, s.tableoid::regclass::text AS partition, t.span_count AS counted
       FROM traces t JOIN spans s USING (workspace_id, day, trace_no) WHERE t.trace_id = $1`,
      [traceId],
    );
  }

  /** Moves a trace to another day, as if it had arrived then. */
  async function moveTo(day: string, traceId: string): Promise<void> {
    await app.get(DayPartitionRepository).create('spans', day);
    await app.database.transaction(async (tx) => {
      await tx.query(
        `UPDATE spans s SET day = $1::date FROM traces t
         WHERE t.trace_id = $2 AND s.day = t.day AND s.trace_no = t.trace_no`,
        [day, traceId],
      );
      await tx.query('UPDATE traces SET day = $1::date WHERE trace_id = $2', [day, traceId]);
    });
  }

  it('are in today’s partition, whatever the sender’s clock', async () => {
    const day = await today();
    for (const start of [0n, SPAN_START, 9_223_372_036_854_775_807n, 18_446_744_073_709_551_615n]) {
      const span = newSpan({ start, end: start });
      expect(await send(span)).toBe(200);
      const [place] = await placesOf(span.traceId);
      expect(place).toEqual({ day, partition: `spans_${day.replaceAll('-', '')}`, counted: 1 });
    }
  });

  it('stay together across midnight, without duplicates', async () => {
    const first = newSpan();
    await send(first);
    await moveTo('2026-01-31', first.traceId);
    const later = newSpan({ traceId: first.traceId, parentSpanId: first.spanId, start: SPAN_START + MINUTE });
    expect([await send(later), await send(first, later), await send(later)]).toEqual([200, 200, 200]);
    const place = { day: '2026-01-31', partition: 'spans_20260131', counted: 2 };
    expect(await placesOf(first.traceId)).toEqual([place, place]);
  });

  it('get a missing partition, even with concurrent exports', async () => {
    for (const day of await partitions()) {
      await app.database.query(`DROP TABLE spans_${day.replaceAll('-', '')}`);
    }
    await app.database.query('TRUNCATE traces');
    const spans = Array.from({ length: 6 }, () => newSpan());
    expect(await Promise.all(spans.map((span) => send(span)))).toEqual(Array(6).fill(200));
    for (const { traceId } of spans) expect(await placesOf(traceId)).toHaveLength(1);
  });

  it('get their partitions ahead of time, with any number of workers', async () => {
    const days = await app.get(DayPartitionRepository).days(3);
    await app.database.query(`DROP TABLE spans_${days[2]!.replaceAll('-', '')}`);
    await Promise.all(Array.from({ length: 4 }, () => app.get(DayPartitions).createAhead('spans')));
    expect(await partitions()).toEqual(expect.arrayContaining(days));
  });
});
