import { type ApiClient, type TestApp, type TestWorker, until } from '#testing';
import { ErasureRunner } from '../../src/resources/erasure/erasure.runner';

/** Where a text was found: a table, and the number of its rows that contain it. */
export interface Occurrence {
  table: string;
  text: string;
  rows: number;
}

/**
 * Searches every table of every schema for texts, as text and as bytes. Also finds them in the queue, whose tables are in a schema
 * of their own.
 */
export async function occurrencesOf(app: TestApp, texts: readonly string[]): Promise<Occurrence[]> {
  const tables = await app.database.query<{ name: string }>(
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
     WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`,
  );
  const found: Occurrence[] = [];
  for (const { name } of tables) {
    for (const text of texts) {
      const [row] = await app.database.query<{ rows: number }>(
        `SELECT count(*) AS rows FROM ${name} t WHERE position($1 IN t::text) > 0 OR position($2 IN t::text) > 0`,
        [text, Buffer.from(text).toString('hex')],
      );
      if (row!.rows > 0) found.push({ table: name, text, rows: row!.rows });
    }
  }
  return found;
}

/** Waits until an erasure has succeeded, and returns its receipt. */
export async function receiptOf(client: ApiClient, erasureId: string): Promise<any> {
  let receipt: any;
  await until(async () => {
    receipt = (await client.get(`/registry/v1/erasures/${erasureId}`)).body;
    if (receipt.last_error) throw new Error(JSON.stringify(receipt));
    return receipt.erasure_status === 'succeeded';
  });
  return receipt;
}

/** Returns the runner of a worker. */
export const runnerOf = (worker: TestWorker): ErasureRunner => worker.get(ErasureRunner);
