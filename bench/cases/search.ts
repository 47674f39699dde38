import { PGlite } from '@electric-sql/pglite';
import { btree_gin } from '@electric-sql/pglite/contrib/btree_gin';
import { cube } from '@electric-sql/pglite/contrib/cube';
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm';
import { vector } from '@electric-sql/pglite-pgvector';
import type { Environment } from '#platform/config';
import type { Database, Tx } from '#platform/db';
import { Resources1795824000001 } from '../../src/database/migrations/1795824000001-resources';
import { BUILTIN_DIMENSIONS, embedBuiltin } from '../../src/resources/search-index/builtin.embedder';
import { BUILTIN_IDENTITY } from '../../src/resources/search-index/embedding';
import { VectorIndexRepository } from '../../src/registry/search/embeddings/vector-index.repository';
import type { SearchDocument } from '../../src/resources/search-index/search-document';
import { SearchIndex } from '../../src/resources/search-index/search-index';
import { SearchIndexRepository } from '../../src/resources/search-index/search-index.repository';
import { VectorSearchRepository } from '../../src/registry/search/vector-search.repository';
import type { Bench } from '../bench';
import { median } from '../measure';

const SIZES = [1_000, 10_000, 100_000];
const BATCH_SIZE = 1_000;
const QUERIES = 30;

/** Generates words with natural lengths and frequencies, identical in every run. */
class Words {
  private state = 7;
  private readonly words = Array.from({ length: 20_000 }, () =>
    Array.from({ length: 3 + this.below(8) }, () => String.fromCharCode(97 + this.below(26))).join(''),
  );

  text(count: number): string {
    return Array.from({ length: count }, () => this.words[Math.floor(20_000 * this.next() ** 3)]!).join(' ');
  }

  private next(): number {
    this.state = (Math.imul(this.state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return this.state / 0x80000000;
  }

  private below(limit: number): number {
    return Math.floor(this.next() * limit);
  }
}

const documentsOf = (words: Words, workspaceId: string, from: number, count: number): SearchDocument[] =>
  Array.from({ length: count }, (_, n) => ({
    type: 'repo',
    id: `repo_${String(from + n).padStart(26, '0')}`,
    workspaceId,
    name: words.text(3),
    description: words.text(15),
    body: words.text(40),
  }));

/**
 * Searches workspaces of 1,000, 10,000 and 100,000 documents of 58 words each with the built-in embedder, in milliseconds
 * per HTTP request. Also measures the cost of indexing a document, and the recall of pgvector's index among the nearest ten.
 */
export async function searchRegistry(bench: Bench): Promise<void> {
  const words = new Words();
  const index = new SearchIndex({} as Environment, new SearchIndexRepository());
  let filled = 0;
  for (const size of SIZES) {
    const startedAt = performance.now();
    for (; filled < size; filled += BATCH_SIZE) {
      const documents = documentsOf(words, bench.scope.workspaceId, filled, BATCH_SIZE);
      await bench.direct.transaction((tx) => index.put(tx, bench.scope, documents));
    }
    const ms = (performance.now() - startedAt) / size;
    bench.line(`search: ${ms.toFixed(2)} ms to index each of ${size} documents`);
    const unknown = Array.from({ length: QUERIES }, (_, n) => `unknownqz${n}x`);
    await measure(bench, `keyword, an unknown word, in ${size} new documents`, 'keyword', unknown);
    await bench.direct.query('VACUUM (ANALYZE) search_documents, search_embeddings');
    await measure(bench, `keyword, an unknown word, in ${size} documents`, 'keyword', unknown);
    const queries = Array.from({ length: QUERIES }, () => words.text(2));
    for (const mode of ['keyword', 'vector', 'hybrid'])
      await measure(bench, `${mode} in ${size} documents`, mode, queries);
  }
  for (const size of SIZES) await recall(bench, size);
}

async function measure(bench: Bench, title: string, mode: string, queries: string[]): Promise<void> {
  const times: number[] = [];
  for (const query of queries) {
    const startedAt = performance.now();
    await bench.http.send('POST', '/registry/v1/search', 200, JSON.stringify({ mode, query, limit: 10 }));
    times.push(performance.now() - startedAt);
  }
  const worst = Math.max(...times).toFixed(0);
  bench.line(`search ${title}: median ${median(times).toFixed(1)} ms, worst ${worst} ms`);
}

async function recall(bench: Bench, size: number): Promise<void> {
  const pglite = await PGlite.create({ extensions: { vector, btree_gin, pg_trgm, cube } });
  const query = async (statement: string | { text: string; values: unknown[] }) =>
    typeof statement === 'string'
      ? (await pglite.query(statement)).rows
      : (await pglite.query(statement.text, statement.values)).rows;
  const on = { query, runWithoutTimeout: query } as unknown as Database & Tx;
  await new Resources1795824000001().up({ query: (text: string) => pglite.exec(text) });
  // the indexes of words are slow in WebAssembly, and vectors do not use them
  await pglite.exec('DROP INDEX search_documents_by_words, search_documents_by_names');
  const words = new Words();
  const index = new SearchIndex({} as Environment, new SearchIndexRepository());
  for (let from = 0; from < size; from += BATCH_SIZE) {
    await index.put(on, bench.scope, documentsOf(words, 'wsp_bench', from, BATCH_SIZE));
  }
  const searches = new VectorSearchRepository();
  searches.comparedMax = 0;
  const scope = { ...bench.scope, workspacesWith: () => null };
  const nearest = async (text: string): Promise<number[]> => {
    await pglite.exec('BEGIN');
    const near = { identity: BUILTIN_IDENTITY, vector: embedBuiltin(text)! };
    const { documents } = await searches.rank(on, scope, {}, near, -1);
    await pglite.exec('COMMIT');
    return documents.slice(0, 10).map(({ document_id }) => document_id);
  };
  const texts = Array.from({ length: QUERIES }, () => words.text(5));
  const exact: number[][] = [];
  for (const text of texts) exact.push(await nearest(text));
  await new VectorIndexRepository(on).isUsable();
  await new VectorIndexRepository(on).create(BUILTIN_IDENTITY, BUILTIN_DIMENSIONS);
  let hits = 0;
  for (const [at, text] of texts.entries()) {
    const ids = new Set(await nearest(text));
    hits += exact[at]!.filter((id) => ids.has(id)).length;
  }
  bench.line(
    `search by pgvector in ${size} documents: finds ${((hits / QUERIES) * 10).toFixed(1)}% of the nearest 10`,
  );
  await pglite.close();
}
