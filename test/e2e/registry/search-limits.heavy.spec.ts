import { type ApiClient, ownApp, newOrganization, type TestOrganization } from '#testing';
import { type Sql, sql, type SqlExecutor } from '#platform/db';
import { KeywordSearchRepository, RANKED_MAX } from '../../../src/registry/search/keyword-search.repository';
import { normalizeQuery } from '../../../src/registry/search/normalized-query';
import { wordPrefixOf } from '../../../src/resources/search-index/search-document';
import { editorOf, names, register, search } from './search.fixture';

const MANY = RANKED_MAX + 100;

describe('large searches', () => {
  const app = ownApp({ autovacuum: false });
  let large: TestOrganization;
  let small: TestOrganization;

  beforeAll(async () => {
    large = await newOrganization(app);
    small = await newOrganization(app);
    await app.database.query(
      `INSERT INTO search_documents (resource_type, resource_id, org_id, workspace_id, name, description, body, updated_at, words)
       SELECT 'repo', 'repo_' || n, $1, $2, 'report ' || n, 'ordinary', '', now(),
         search_document_words($3, 'report ' || n, 'ordinary', '') FROM generate_series(1, $4::int) n`,
      [large.orgId, large.workspaceId, wordPrefixOf(large.orgId), MANY],
    );
    await app.database.query('ANALYZE search_documents');
  });

  it('handle characters that expand when normalized', async () => {
    const editor = await editorOf(small);
    const word = (letter: number): string => '\u3316'.repeat(109) + String.fromCodePoint(0x4e00 + letter);
    const instructions = Array.from({ length: 590 }, (_, n) => word(n)).join(' ');
    const body = { workspace_id: small.workspaceId, name: 'expanding', instructions };
    expect((await editor.post('/agent/v1/agents', body)).status).toBe(201);
    expect(await names(editor, { mode: 'keyword', query: 'expanding' })).toEqual(['expanding']);
  });

  it('rank a limited number of documents, always including name matches', async () => {
    const editor = await editorOf(large);
    await register(editor, large.workspaceId, { name: 'ordinary' });
    const of = (more: object) => search(editor, { mode: 'keyword', query: 'ordinary', ...more });
    const { body } = await of({ limit: 500 });
    expect([body.items.length, body.items[0]!.name, body.page.total]).toEqual([500, 'ordinary', null]);
    expect((await of({ offset: RANKED_MAX - 1 })).body.items.length).toBeLessThanOrEqual(2);
    expect((await of({ offset: 2 ** 31 - 1 })).body.items).toEqual([]);
    expect((await search(editor, { query: 'ordinary', limit: 1 })).body.page.total).toBeNull();
  });

  it('read no rows of other organizations', async () => {
    const editor = await editorOf(small);
    await register(editor, small.workspaceId, { name: 'reports of the small' });
    const plans: string[] = [];
    const explained = (on: SqlExecutor): SqlExecutor =>
      ({
        manager: on.manager,
        query: async <Row>(statement: Sql): Promise<Row[]> => {
          if (statement.text.startsWith('WITH')) {
            const rows = await on.query<Record<string, string>>(
              sql`EXPLAIN (ANALYZE, COSTS OFF) ${statement}`,
            );
            plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
          }
          return on.query<Row>(statement);
        },
      }) as SqlExecutor;
    const ranking = await app.database.transaction((tx) =>
      app
        .get(KeywordSearchRepository)
        .rank(explained(tx), small.scope, {}, normalizeQuery('r'), { limit: 10, offset: 0 }),
    );
    expect(ranking.documents).toHaveLength(1);
    const scans = [
      ...plans.join('\n').matchAll(/Scan (?:using \w+ )?on search_documents\w* \(actual .*?rows=([\d.]+)/g),
    ];
    expect(scans.length).toBeGreaterThan(0);
    expect(Math.max(...scans.map(([, rows]) => Number(rows)))).toBeLessThan(10);
    expect(plans.join('\n')).not.toContain('Seq Scan');
    expect(plans.join('\n')).not.toMatch(/Rows Removed by (Filter|Index Recheck): \d{2,}/);
  });

  it('leave connections to other requests', async () => {
    const editor: ApiClient = await editorOf(small);
    let searches: Promise<string[]>[] = [];
    await app.database.transaction(async (tx) => {
      await tx.query('LOCK TABLE search_documents IN ACCESS EXCLUSIVE MODE');
      searches = Array.from({ length: 20 }, () => names(editor, { mode: 'keyword', query: 'reports' }));
      for (let waiting = 0; waiting < 2;) {
        const [row] = await tx.query<{ waiting: number }>(
          `SELECT count(*) AS waiting FROM pg_locks WHERE relation = 'search_documents'::regclass AND NOT granted`,
        );
        waiting = row!.waiting;
      }
      expect((await editor.get('/registry/v1/repos')).status).toBe(200);
    });
    expect((await Promise.all(searches)).flat()).toEqual(Array(20).fill('reports of the small'));
  });
});
