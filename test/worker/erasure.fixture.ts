import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { type ApiClient, type TestApp, until } from '#testing';

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
    `SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`,
  );
  const found: Occurrence[] = [];
  for (const { name } of tables) {
    const rows = await app.database.query<{ text: string; rows: number }>(
      `SELECT text, count(*) AS rows FROM ${name} t, unnest($1::text[], $2::text[]) AS searched (text, hex)
       WHERE position(text IN t::text) > 0 OR position(hex IN t::text) > 0 GROUP BY text`,
      [texts, texts.map((text) => Buffer.from(text).toString('hex'))],
    );
    for (const row of rows) found.push({ table: name, ...row });
  }
  return found;
}

/** Returns everything that a Redis holds, as text. */
export async function contentOfRedis(url: string): Promise<string> {
  const redis = new Redis(url);
  const contents: unknown[] = [];
  for (const key of await redis.keys('*')) {
    const read: Record<string, () => Promise<unknown>> = {
      string: () => redis.get(key),
      hash: () => redis.hgetall(key),
      list: () => redis.lrange(key, 0, -1),
      set: () => redis.smembers(key),
      zset: () => redis.zrange(key, 0, -1),
      stream: () => redis.xrange(key, '-', '+'),
    };
    contents.push([key, await read[await redis.type(key)]!()]);
  }
  await redis.quit();
  return JSON.stringify(contents);
}

/** Returns the objects in the storage directory of an application. */
export async function storedFilesOf(app: TestApp): Promise<string[]> {
  const entries = await readdir(fileURLToPath(app.env.STORAGE_URL!), {
    recursive: true,
    withFileTypes: true,
  });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => `${parentPath}/${name}`);
}

/** Waits until an erasure has succeeded, and returns its receipt. Fails at once if an attempt fails. */
export async function receiptOf(client: ApiClient, erasureId: string): Promise<any> {
  let receipt: any;
  await until(async () => {
    receipt = (await client.get(`/registry/v1/erasures/${erasureId}`)).body;
    if (receipt.last_error) throw new Error(JSON.stringify(receipt));
    return receipt.erasure_status === 'succeeded';
  });
  return receipt;
}
