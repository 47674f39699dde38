import { pipeline } from 'node:stream/promises';
import { Client } from 'pg';
import { from } from 'pg-copy-streams';
import { createTestDatabase, type TestDatabase } from '../../testing/test-database';
import { type ArrayElements, arrayParameter, type ArrayType } from './array-parameter';
import { BulkColumns } from './bulk-columns';
import { sql } from './sql';

describe('arrayParameter', () => {
  let database: TestDatabase;
  let client: Client;

  beforeAll(async () => {
    database = await createTestDatabase();
    client = new Client({ connectionString: database.url });
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  async function roundTrip<Type extends ArrayType>(
    type: Type,
    values: (ArrayElements[Type] | null)[],
    as = 'text',
  ): Promise<(string | null)[]> {
    const { rows } = await client.query<{ value: string | null }>(
      `SELECT value::${as} FROM unnest($1::${type}[]) WITH ORDINALITY AS input(value, place) ORDER BY place`,
      [arrayParameter(type, values)],
    );
    return rows.map((row) => row.value);
  }

  it.each([
    ['text', ['', 'plain', '"{},\\', 'Grüße, 世界 🌍', null, 'NULL', 'x'.repeat(100_000)]],
    ['json', ['{"a": [1, "\\"{}"]}', 'null', '"世界"', null]],
  ] as const)('keeps texts verbatim: %s', async (type, values) => {
    expect(await roundTrip(type, [...values])).toEqual(values);
  });

  it('keeps bytes', async () => {
    const values = [Buffer.alloc(0), Buffer.from([0, 255, 92, 10]), Buffer.alloc(100_000, 1)];
    const texts = await roundTrip('bytea', [...values, null]);
    expect(texts).toEqual([...values.map((value) => `\\x${value.toString('hex')}`), null]);
  });

  it('keeps integers up to 2^53', async () => {
    const values = [0, -1, 1e9, Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER];
    expect(await roundTrip('int8', [...values, null])).toEqual([...values.map(String), null]);
  });

  it('keeps integers of 64 bits', async () => {
    const values = [-(2n ** 63n), 2n ** 63n - 1n, 0n];
    expect(await roundTrip('int8', values)).toEqual(values.map(String));
  });

  it('accepts 64 bits in hexadecimal', async () => {
    const values = ['0000000000000001', '7fffffffffffffff', 'ffffffffffffffff', '8000000000000000'];
    expect(await roundTrip('int8', values)).toEqual([
      '1',
      String(2n ** 63n - 1n),
      '-1',
      String(-(2n ** 63n)),
    ]);
  });

  it('rejects values that are not integers', () => {
    for (const value of [0.5, NaN, Infinity, 2 ** 63])
      expect(() => arrayParameter('int8', [value])).toThrow(RangeError);
  });

  it('rejects a text that is not 64 or 128 bits in hexadecimal', () => {
    for (const value of ['', '1', '-1', '12345678', '0'.repeat(15), '0'.repeat(17), `${'0'.repeat(15)}x`]) {
      expect(() => arrayParameter('int8', [value])).toThrow(RangeError);
      expect(() => arrayParameter('uuid', [value.repeat(2)])).toThrow(RangeError);
    }
  });

  it('accepts JSON in UTF-8', async () => {
    const texts = ['"short"', `"${'世界 🌍'.repeat(1_000)}"`, '1'];
    expect(await roundTrip('json', [...texts.map((text) => Buffer.from(text)), null])).toEqual([
      ...texts,
      null,
    ]);
  });

  it('keeps integers of 32 bits', async () => {
    const values = [0, -(2 ** 31), 2 ** 31 - 1];
    expect(await roundTrip('int4', [...values, null])).toEqual([...values.map(String), null]);
  });

  it('keeps days', async () => {
    const values = ['2000-01-01', '1999-12-31', '2024-02-29', '2026-11-20'];
    expect(await roundTrip('date', [...values, null])).toEqual([...values, null]);
  });

  it('keeps doubles to the last bit', async () => {
    const values = [0.1, -0, 5e-324, 1.7976931348623157e308, 1 / 3];
    expect((await roundTrip('float8', values)).map(Number)).toEqual(values);
  });

  it('keeps times to the microsecond, from before 2000 to after 2262', async () => {
    const values = [0n, -1n, 946_684_800_000_000n, 1_795_132_800_123_456n, 18_446_744_073_709_551n];
    await client.query(`SET TIME ZONE 'UTC'`);
    expect(await roundTrip('timestamptz', [...values, null])).toEqual([
      '1970-01-01 00:00:00+00',
      '1969-12-31 23:59:59.999999+00',
      '2000-01-01 00:00:00+00',
      '2026-11-20 00:00:00.123456+00',
      '2554-07-21 23:34:33.709551+00',
      null,
    ]);
  });

  it('keeps 128 bits as a uuid', async () => {
    expect(await roundTrip('uuid', ['00112233445566778899aabbccddeeff', null])).toEqual([
      '00112233-4455-6677-8899-aabbccddeeff',
      null,
    ]);
  });

  it('sends an empty array', async () => {
    expect(await roundTrip('text', [])).toEqual([]);
  });

  it('unnests several columns row by row', async () => {
    const columns = new BulkColumns<{ id: string; size: number | null }>([
      { name: 'id', type: 'text', value: ({ id }) => id },
      { name: 'size', type: 'int8', value: ({ size }) => size },
    ]);
    const rows = [
      { id: 'b', size: 1 },
      { id: 'a', size: null },
    ];
    const { text, values } =
      sql`SELECT ${columns.columnList}, ${'x'} AS own FROM ${columns.table(rows, 'input')}`;
    const result = await client.query(text, values);
    expect(result.rows).toEqual([
      { id: 'b', size: '1', own: 'x' },
      { id: 'a', size: null, own: 'x' },
    ]);
  });

  it('encodes the same values for COPY, small rows together and large ones alone', async () => {
    type Row = [id: string | null, at: bigint | null, day: string, place: number | null, bytes: Buffer];
    const columns = new BulkColumns<Row>([
      { name: 'id', type: 'text', value: ([id]) => id },
      { name: 'at', type: 'timestamptz', value: ([, at]) => at },
      { name: 'day', type: 'date', value: ([, , day]) => day },
      { name: 'place', type: 'int4', value: ([, , , place]) => place },
      { name: 'bytes', type: 'bytea', value: ([, , , , bytes]) => bytes },
    ]);
    const rows: Row[] = [
      ...Array.from({ length: 500 }, (_, n): Row => [
        'ä'.repeat(n * 50),
        BigInt(n),
        '2000-01-01',
        n,
        Buffer.from(`${n}`),
      ]),
      [
        'Grüße, 世界 🌍\t\\N\n',
        1_795_132_800_123_456n,
        '2026-11-20',
        2_147_483_647,
        Buffer.alloc(300_000, 7),
      ],
      [null, null, '1999-12-31', null, Buffer.alloc(0)],
    ];
    const chunks: Buffer[] = [];
    for await (const chunk of columns.copyChunks([rows])) chunks.push(chunk);
    expect(chunks.length).toBeGreaterThan(3);
    await client.query('CREATE TABLE copied (id text, at timestamptz, day date, place integer, bytes bytea)');
    const statement = client.query(from(`COPY copied (${columns.names}) FROM STDIN (FORMAT binary)`));
    await pipeline(chunks, statement);
    const result = await client.query<Record<string, unknown>>(
      `SELECT id, (extract(epoch FROM at) * 1000000)::bigint AS at, day::text AS day, place, bytes
       FROM copied ORDER BY copied.at NULLS LAST`,
    );
    const stored = rows.map(([id, at, ...others]) => [id, at === null ? null : String(at), ...others]);
    expect(result.rows.map((row) => Object.values(row))).toEqual(stored);
  });
});
