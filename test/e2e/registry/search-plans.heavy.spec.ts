import { type ApiClient, ownApp, newOrganization, type TestOrganization } from '#testing';
import { BUILTIN_IDENTITY, partsLiteral } from '../../../src/resources/search-index/embedding';
import { embedBuiltin } from '../../../src/resources/search-index/builtin.embedder';
import { wordPrefixOf } from '../../../src/resources/search-index/search-document';
import { workOf } from '../evaluation/work.harness';
import { search, type SearchPage } from './search.fixture';

const TABLES = ['search_documents', 'search_embeddings'];

/** Documents of each workspace. Their words are so long that PostgreSQL stores them out of line. */
const MANY = 2_000;

/** Rows that the statements of a keyword search may process if few documents match. */
const FEW = 1_000;

/**
 * Rows that the statements of a hybrid search may process for each document within reach. One statement compares the vectors,
 * and one reads the best documents. A row counts once for every node of a plan that it passes.
 */
const EACH_COMPARED = 15;

/** Number of documents that contain the words of {@link RARE}. */
const RARE_COUNT = 7;
const RARE = 'lighthouse keeper';

/** An organization whose documents are in two workspaces. */
interface Filled {
  org: TestOrganization;
  reader: ApiClient;
  other: string;
}

describe('the number of rows that a search reads', () => {
  const app = ownApp({ autovacuum: false });
  let filled: Filled;

  async function fill(count: number): Promise<Filled> {
    const org = await newOrganization(app);
    const other = await org.newWorkspace();
    const parts = partsLiteral(embedBuiltin('common')!);
    for (const workspace of [org.workspaceId, other]) {
      await app.database.query(
        `WITH texts AS MATERIALIZED (
           SELECT n, $1 || '_' || n AS id, CASE WHEN n <= ${RARE_COUNT} THEN '${RARE} ' ELSE 'common report ' END || n AS name,
             'described commonly' AS description,
             (SELECT string_agg(md5(n || ' ' || word), ' ') FROM generate_series(1, 80) word) AS body
           FROM generate_series(1, $4::int) n
         ), documents AS (
           INSERT INTO search_documents (resource_type, resource_id, org_id, workspace_id, name, description, body, updated_at, words)
           SELECT 'repo', id, $2, $1, name, description, body, now() - n * interval '1 hour',
             search_document_words($3, name, description, body) FROM texts
           RETURNING document_id, resource_id
         )
         INSERT INTO search_embeddings (document_id, org_id, workspace_id, resource_type, resource_id, revision, identity,
           parts, is_pending, due_at)
         SELECT document_id, $2, $1, 'repo', resource_id, 1, $5, $6::cube[], false, now() FROM documents`,
        [workspace, org.orgId, wordPrefixOf(org.orgId), count, BUILTIN_IDENTITY, parts],
      );
    }
    return { org, reader: await org.member('viewer'), other };
  }

  const analyze = () => app.database.query(`ANALYZE ${TABLES.join(', ')}`);

  async function work(body: Record<string, unknown>): Promise<[number, SearchPage]> {
    let page: SearchPage | undefined;
    const works = await workOf(app.database, async () => {
      const answer = await search(filled.reader, { limit: 10, ...body });
      expect([answer.status, body]).toEqual([200, body]);
      page = answer.body;
    });
    return [works.reduce((sum, { rows }) => sum + rows, 0), page!];
  }

  const unknown = 'qqzzunknownword';
  const within = (): Record<string, object> => ({
    'in the organization': {},
    'in a workspace': { workspace_id: filled.other },
    'of a type': { types: ['repo'] },
    'of a time': {
      filters: { updated_after: '2020-01-01T00:00:00Z', updated_before: '2100-01-01T00:00:00Z' },
    },
  });
  const queries: [string, string, number][] = [
    ['an unknown word', unknown, 0],
    ['a long unknown word', 'qzqxwqzqvwqzqjwqzqkwqzqpwqzqbwqzqywqzq', 0],
    ['an unknown word of three letters', 'zqx', 0],
    ['a few documents', RARE, 2 * RARE_COUNT],
    ['a few with a typo', 'lighthuose keper', 2 * RARE_COUNT],
    ['a few by one of two words', `lighthouse ${unknown}`, 2 * RARE_COUNT],
  ];

  it.each([
    ['that were never analyzed', async () => (filled = await fill(MANY))],
    [
      'that have grown since',
      async () => {
        await app.database.query(`TRUNCATE ${TABLES.join(', ')}`);
        await fill(20);
        await analyze();
        filled = await fill(MANY);
      },
    ],
    ['that are analyzed', analyze],
  ])('does not grow with the number of documents, in tables %s', async (_, prepare) => {
    await prepare();
    for (const [place, reach] of Object.entries(within())) {
      for (const [title, query, count] of queries) {
        const [rows, { items }] = await work({ mode: 'keyword', query, ...reach });
        const expected = place === 'in a workspace' ? count / 2 : count;
        expect([place, title, items.length]).toEqual([place, title, Math.min(10, expected)]);
        expect([place, title, rows < FEW ? 'few' : rows]).toEqual([place, title, 'few']);
      }
      const [rows] = await work({ query: unknown, ...reach });
      const reached = place === 'in a workspace' ? MANY : 2 * MANY;
      const most = EACH_COMPARED * reached;
      expect([place, 'hybrid', rows < most ? 'linear' : rows]).toEqual([place, 'hybrid', 'linear']);
    }
  });
});
