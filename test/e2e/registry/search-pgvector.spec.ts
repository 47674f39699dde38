import { PGlite } from '@electric-sql/pglite';
import { btree_gin } from '@electric-sql/pglite/contrib/btree_gin';
import { cube } from '@electric-sql/pglite/contrib/cube';
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm';
import { vector } from '@electric-sql/pglite-pgvector';
import type { QueryRunner } from 'typeorm';
import { expandRoles, type OrgScope, orgScope } from '#platform/auth';
import type { Database, Tx } from '#platform/db';
import { RegistrySearch1795132801510 } from '../../../src/database/migrations/1795132801510-registry-search';
import { SearchBackendRepository } from '../../../src/registry/search/embeddings/search-backend.repository';
import { embedBuiltin } from '../../../src/registry/search/embeddings/builtin.embedder';
import { VectorIndexRepository } from '../../../src/registry/search/embeddings/vector-index.repository';
import { SearchIndex } from '../../../src/registry/search/search-index';
import { SearchIndexRepository } from '../../../src/registry/search/search-index.repository';
import { VectorSearchRepository } from '../../../src/registry/search/vector-search.repository';

const DOCUMENTS = 3_000;

/** What the repositories ask of a database, answered by a PostgreSQL that has pgvector. */
class PgliteDatabase {
  readonly statements: string[] = [];
  constructor(private readonly pglite: PGlite) {}

  async query<Row>(statement: string | { text: string }, values: readonly unknown[] = []): Promise<Row[]> {
    const text = typeof statement === 'string' ? statement : statement.text;
    this.statements.push(text);
    return (await this.pglite.query<Row>(text, [...values])).rows;
  }

  async unhurried(statement: string): Promise<void> {
    await this.query(statement);
  }

  /** One connection: what is set for a transaction is taken back after it. */
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

describe('search by vectors where there is pgvector', () => {
  let pglite: PGlite;
  let database: PgliteDatabase;
  let searches: VectorSearchRepository;
  let backends: SearchBackendRepository;

  beforeAll(async () => {
    pglite = await PGlite.create({ extensions: { vector, btree_gin, pg_trgm, cube } });
    database = new PgliteDatabase(pglite);
    await new RegistrySearch1795132801510().up({
      query: (text: string) => pglite.exec(text),
    } as unknown as QueryRunner);
    const index = new SearchIndex(new SearchIndexRepository());
    for (const [org, count] of [
      ['org_large', DOCUMENTS],
      ['org_small', 40],
    ] as const) {
      const documents = Array.from({ length: count }, (_, n) => ({
        ...{ type: 'repo' as const, id: `${org}-${String(n).padStart(5, '0')}`, workspaceId: `wsp_${n % 3}` },
        name: `${WORDS[n % 10]!} ${WORDS[(n * 7 + 3) % 10]!} ${n % 97}`,
        description: `${WORDS[(n >> 3) % 10]!} of ${n % 389}`,
      }));
      await database.transaction((tx) => index.put(tx, scopeOf(org), ...documents));
    }
    backends = new SearchBackendRepository(database.asDatabase);
    searches = new VectorSearchRepository();
    searches.comparedMax = 100;
  });
  afterAll(() => pglite.close());

  const rank = async (org: string, query: string) => {
    const backend = await backends.active();
    database.statements.length = 0;
    return database.transaction((tx) =>
      searches.rank(tx, scopeOf(org), {}, backend, embedBuiltin(query)!, -1),
    );
  };
  const usedIndex = (): boolean => database.statements.some((text) => text.includes('<=>'));

  it('finds the same, with the same scores in the same order, by the index as without', async () => {
    const queries = ['invoice agent', 'weather reports 12', 'plan a route', 'mail'];
    const without = [];
    for (const query of queries) without.push(await rank('org_large', query));
    expect(usedIndex()).toBe(false);

    const indexes = new VectorIndexRepository(database.asDatabase);
    expect(await indexes.isUsable()).toBe(true);
    await indexes.create(await backends.active());
    expect((await backends.active()).is_indexed).toBe(true);

    for (const [at, query] of queries.entries()) {
      const found = await rank('org_large', query);
      expect(usedIndex()).toBe(true);
      const expected = new Map(without[at]!.documents.map((one) => [one.document_id, one.score]));
      const same = found.documents.filter((one) => expected.get(one.document_id) === one.score);
      expect(same.length).toBeGreaterThanOrEqual(expected.size * 0.95);
      expect(found.documents.slice(0, 20)).toEqual(without[at]!.documents.slice(0, 20));
      expect(found.total).toBe(without[at]!.total);
    }
  });

  it('is answered from the index', async () => {
    const backend = await backends.active();
    await rank('org_large', 'agent');
    const statement = database.statements.find((text) => text.includes('<=>'))!;
    await pglite.exec('BEGIN; SET LOCAL enable_sort = off');
    const plan = await pglite.query<Record<string, string>>(`EXPLAIN ${statement}`, planValues(statement));
    await pglite.exec('COMMIT');
    expect(JSON.stringify(plan.rows)).toContain(`search_embeddings_near_${backend.backend_id}`);
  });

  it('leaves the rest of the transaction planned as ever', async () => {
    const backend = await backends.active();
    const rows = await database.transaction(async (tx) => {
      await searches.rank(tx, scopeOf('org_large'), {}, backend, embedBuiltin('agent')!, -1);
      return tx.query<{ enable_sort: string }>('SHOW enable_sort');
    });
    expect(usedIndex()).toBe(true);
    expect(rows).toEqual([{ enable_sort: 'on' }]);
  });

  it('finds all of a small organization among many others’', async () => {
    const { documents, total } = await rank('org_small', 'agent');
    expect([documents.length, total]).toEqual([40, 40]);
    searches.comparedMax = 10; // as if it were large: the index finds too few of its own, and all are compared
    expect((await rank('org_small', 'agent')).documents).toEqual(documents);
    expect(usedIndex()).toBe(true);
    searches.comparedMax = 100;
  });

  it('makes an index again that was left behind unfinished, and takes one away', async () => {
    const indexes = new VectorIndexRepository(database.asDatabase);
    const backend = await backends.active();
    await pglite.query(`UPDATE pg_index SET indisvalid = false WHERE indexrelid = to_regclass($1)`, [
      `search_embeddings_near_${backend.backend_id}`,
    ]);
    expect((await backends.active()).is_indexed).toBe(false);
    await indexes.create(await backends.active());
    expect((await backends.active()).is_indexed).toBe(true);
    await indexes.drop(backend);
    expect((await backends.active()).is_indexed).toBe(false);
  });
});

/** The values of a statement of the index, as they were. */
function planValues(statement: string): unknown[] {
  const numbers = embedBuiltin('agent')!;
  const literal = `{${[0, 100, 200].map((at) => `"(${numbers.subarray(at, at + 100).join(',')})"`).join(',')}}`;
  const count = Math.max(...Array.from(statement.matchAll(/\$(\d+)/g), ([, number]) => Number(number)));
  return Array.from({ length: count }, (_, at) =>
    at === count - 1 ? `[${numbers.join(',')}]` : at === count - 2 ? literal : 'org_large',
  );
}
