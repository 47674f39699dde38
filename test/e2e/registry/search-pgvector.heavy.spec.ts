import { PGlite } from '@electric-sql/pglite';
import { btree_gin } from '@electric-sql/pglite/contrib/btree_gin';
import { cube } from '@electric-sql/pglite/contrib/cube';
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm';
import { vector } from '@electric-sql/pglite-pgvector';
import { expandRoles, type OrgScope, orgScope } from '#platform/auth';
import type { Environment } from '#platform/config';
import type { Database, Tx } from '#platform/db';
import { Platform1795824000000 } from '../../../src/database/migrations/1795824000000-platform';
import { Resources1795824000001 } from '../../../src/database/migrations/1795824000001-resources';
import { BUILTIN_DIMENSIONS, embedBuiltin } from '../../../src/resources/search-index/builtin.embedder';
import { BUILTIN_IDENTITY } from '../../../src/resources/search-index/embedding';
import { VectorIndexRepository } from '../../../src/registry/search/embeddings/vector-index.repository';
import { SearchIndex } from '../../../src/resources/search-index/search-index';
import { SearchIndexRepository } from '../../../src/resources/search-index/search-index.repository';
import { VectorSearchRepository } from '../../../src/registry/search/vector-search.repository';

const DOCUMENTS = 1_000;
const INDEX = `search_embeddings_near_${BUILTIN_IDENTITY}`;

/** The repositories' database interface, implemented with PGlite and pgvector. */
class PgliteDatabase {
  readonly statements: { text: string; values: unknown[] }[] = [];
  constructor(private readonly pglite: PGlite) {}

  async query<Row>(statement: string | { text: string; values: unknown[] }): Promise<Row[]> {
    const { text, values } = typeof statement === 'string' ? { text: statement, values: [] } : statement;
    this.statements.push({ text, values });
    return (await this.pglite.query<Row>(text, values)).rows;
  }

  async runWithoutTimeout(statement: string): Promise<void> {
    await this.query(statement);
  }

  /** Uses the single connection. SET LOCAL ends with the transaction. */
  async transaction<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
    await this.pglite.exec('BEGIN');
    try {
      return await work(this as unknown as Tx);
    } finally {
      await this.pglite.exec('COMMIT');
    }
  }

  get asDatabase(): Database {
    return this as unknown as Database;
  }
}

const scopeOf = (org: string): OrgScope => orgScope(org, 'test', expandRoles(['owner']));
const WORDS = [
  'invoice',
  'weather',
  'route',
  'planner',
  'agent',
  'tool',
  'search',
  'mail',
  'ticket',
  'report',
];

describe('vector search with pgvector', () => {
  let pglite: PGlite;
  let database: PgliteDatabase;
  let searches: VectorSearchRepository;
  let indexes: VectorIndexRepository;

  beforeAll(async () => {
    pglite = await PGlite.create({ extensions: { vector, btree_gin, pg_trgm, cube } });
    database = new PgliteDatabase(pglite);
    const runner = { query: (text: string) => pglite.exec(text) };
    await new Platform1795824000000().up(runner);
    await new Resources1795824000001().up(runner);
    const index = new SearchIndex({} as Environment, new SearchIndexRepository());
    for (const [org, count] of [
      ['org_large', DOCUMENTS],
      ['org_small', 40],
    ] as const) {
      const documents = Array.from({ length: count }, (_, n) => ({
        ...{ type: 'repo' as const, id: `${org}-${String(n).padStart(5, '0')}`, workspaceId: `wsp_${n % 3}` },
        name: `${WORDS[n % 10]!} ${WORDS[(n * 7 + 3) % 10]!} ${n % 97}`,
        description: `${WORDS[(n >> 3) % 10]!} of ${n % 389}`,
      }));
      await database.transaction((tx) => index.put(tx, scopeOf(org), documents));
    }
    indexes = new VectorIndexRepository(database.asDatabase);
    searches = new VectorSearchRepository();
    searches.comparedMax = 100;
  });
  afterAll(() => pglite.close());

  const rank = (org: string, query: string) => {
    database.statements.length = 0;
    const near = { identity: BUILTIN_IDENTITY, vector: embedBuiltin(query)! };
    return database.transaction((tx) => searches.rank(tx, scopeOf(org), {}, near, -1));
  };
  const byIndex = () => database.statements.find(({ text }) => text.includes('<=>'));
  const usedIndex = (): boolean => byIndex() !== undefined;
  const createIndex = () => indexes.create(BUILTIN_IDENTITY, BUILTIN_DIMENSIONS);
  const indexNames = async (): Promise<string[]> => {
    const { rows } = await pglite.query<{ name: string }>(
      `SELECT relname AS name FROM pg_index JOIN pg_class ON oid = indexrelid
       WHERE relname LIKE 'search_embeddings_near%' AND indisvalid`,
    );
    return rows.map(({ name }) => name);
  };

  it('returns the same results with and without the index', async () => {
    const queries = ['invoice agent', 'weather reports 12', 'plan a route', 'mail'];
    const without = [];
    for (const query of queries) without.push(await rank('org_large', query));
    expect(usedIndex()).toBe(false);

    expect(await indexes.isUsable()).toBe(true);
    await createIndex();
    expect(await indexNames()).toEqual([INDEX]);

    for (const [at, query] of queries.entries()) {
      const ranking = await rank('org_large', query);
      expect(usedIndex()).toBe(true);
      const expected = new Map(without[at]!.documents.map((one) => [one.document_id, one.score]));
      const same = ranking.documents.filter((one) => expected.get(one.document_id) === one.score);
      expect(same.length).toBeGreaterThanOrEqual(expected.size * 0.95);
      expect(ranking.documents.slice(0, 20)).toEqual(without[at]!.documents.slice(0, 20));
      expect(ranking.total).toBe(without[at]!.total);
    }
  });

  it('uses the index', async () => {
    await rank('org_large', 'agent');
    const { text, values } = byIndex()!;
    await pglite.exec('BEGIN; SET LOCAL enable_sort = off');
    const plan = await pglite.query<Record<string, string>>(`EXPLAIN ${text}`, values);
    await pglite.exec('COMMIT');
    expect(JSON.stringify(plan.rows)).toContain(INDEX);
  });

  it('does not change the planner settings of the transaction', async () => {
    const near = { identity: BUILTIN_IDENTITY, vector: embedBuiltin('agent')! };
    const rows = await database.transaction(async (tx) => {
      await searches.rank(tx, scopeOf('org_large'), {}, near, -1);
      return tx.query<{ enable_sort: string }>('SHOW enable_sort');
    });
    expect(usedIndex()).toBe(true);
    expect(rows).toEqual([{ enable_sort: 'on' }]);
  });

  it('finds all documents of a small organization', async () => {
    const { documents, total } = await rank('org_small', 'agent');
    expect([documents.length, total]).toEqual([40, 40]);
    // the index finds too few documents of the organization, so the search compares all of its documents
    searches.comparedMax = 10;
    expect((await rank('org_small', 'agent')).documents).toEqual(documents);
    expect(usedIndex()).toBe(true);
    searches.comparedMax = 100;
  });

  it('rebuilds an unfinished index, and drops the indexes of other embedders', async () => {
    await pglite.query(`UPDATE pg_index SET indisvalid = false WHERE indexrelid = to_regclass($1)`, [INDEX]);
    expect(await indexNames()).toEqual([]);
    await createIndex();
    await indexes.create('remote_0123456789abcdef', 5);
    await indexes.dropOthers(BUILTIN_IDENTITY);
    expect(await indexNames()).toEqual([INDEX]);
  });
});
