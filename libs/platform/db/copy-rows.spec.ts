import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Client } from 'pg';
import { from } from 'pg-copy-streams';
import { createTestDatabase, type TestDatabase } from '../../testing/test-database';
import { CopyRows } from './copy-rows';

describe('CopyRows', () => {
  let database: TestDatabase;
  let client: Client;

  beforeAll(async () => {
    database = await createTestDatabase();
    client = new Client({ connectionString: database.url });
    await client.connect();
    await client.query('CREATE TABLE copied (big bigint, small integer, words text, bytes bytea)');
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  type Row = [big: number, small: number | null, words: string, bytes: Buffer];

  function* chunksOf(rows: Row[]): Generator<Buffer> {
    const copy = new CopyRows();
    for (const [big, small, words, bytes] of rows) {
      copy.row(4).int8(big).int4(small).text(words).bytea(bytes);
      if (copy.isFull) yield copy.take();
    }
    yield copy.end();
  }

  it('copies rows verbatim, small ones together and large ones alone', async () => {
    const rows: Row[] = [
      [-2, null, 'Grüße, 世界 🌍\t\\N\n', Buffer.from([0, 255, 10, 92])],
      [-1, 2_147_483_647, 'x'.repeat(100_000), Buffer.alloc(300_000, 7)],
      ...Array.from({ length: 5_000 }, (_, n): Row => [n, n, `row ${n}`, Buffer.from(`${n}`)]),
      [Number.MAX_SAFE_INTEGER, -2_147_483_648, '', Buffer.alloc(0)],
    ];
    const chunks = [...chunksOf(rows)];
    expect(chunks.length).toBeGreaterThan(3);
    await pipeline(Readable.from(chunks), client.query(from('COPY copied FROM STDIN (FORMAT binary)')));
    const result = await client.query<{ big: string; small: number | null; words: string; bytes: Buffer }>(
      'SELECT * FROM copied ORDER BY big',
    );
    expect(result.rows.map((row) => [Number(row.big), row.small, row.words, row.bytes])).toEqual(rows);
  });
});
