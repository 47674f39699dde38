import { type ApiClient, sharedApp, newOrganization, type TestOrganization } from '#testing';
import type { Sql, SqlExecutor } from '#platform/db';
import { SearchHitRepository } from '../../../src/registry/search/search-hit.repository';
import { editorOf, names, register, search } from './search.fixture';

describe('search results', () => {
  const app = sharedApp();
  let org: TestOrganization;
  let editor: ApiClient;

  beforeAll(async () => {
    org = await newOrganization(app);
    editor = await editorOf(org);
  });

  it('exclude archived workspaces, unless the request names one', async () => {
    const [live, archived] = [await org.newWorkspace(), await org.newWorkspace()];
    for (const workspace_id of [live, archived]) await register(editor, workspace_id, { name: 'lighthouse' });
    const all = (by: ApiClient, body: object = {}) =>
      Promise.all(
        ['keyword', 'vector', 'hybrid'].map(async (mode) => {
          const answer = await search(by, { mode, query: 'lighthouse', ...body });
          return [answer.body.items.map(({ workspace_id }) => workspace_id), answer.body.page.total];
        }),
      );
    expect((await all(editor)).map(([, total]) => total)).toEqual([2, 2, 2]);
    await (await org.member('admin')).post(`/registry/v1/workspaces/${archived}/archive`);
    expect(await all(editor)).toEqual(Array(3).fill([[live], 1]));
    expect(await all(editor, { workspace_id: archived })).toEqual(Array(3).fill([[archived], 1]));
    expect(await all(editor.in(archived))).toEqual(Array(3).fill([[live], 1]));
    const filters = { updated_after: '2020-01-01T00:00:00Z' };
    expect(await all(editor, { filters })).toEqual(Array(3).fill([[live], 1]));
  });

  it('filter by the resource’s own time', async () => {
    const workspace_id = await org.newWorkspace();
    const id = await register(editor, workspace_id, { name: 'dated' });
    const { body } = await editor.get(`/registry/v1/repos/${id}`);
    const next = new Date(Date.parse(body.updated_at) + 1).toISOString();
    const filters = { updated_after: body.updated_at, updated_before: next };
    for (const mode of ['keyword', 'vector', 'hybrid'])
      expect(await names(editor, { mode, query: 'dated', workspace_id, filters })).toEqual(['dated']);
  });

  it('highlight passages of long texts', async () => {
    const workspace_id = await org.newWorkspace();
    const filling = 'lorem ipsum dolor '.repeat(500);
    await register(editor, workspace_id, { name: 'n'.repeat(255), description: `${filling}parties at sea` });
    for (const query of ['party', 'parties', 'PART', 'sea']) {
      const { body } = await search(editor, { mode: 'keyword', query, workspace_id });
      expect([query, body.items[0]!.highlight]).toEqual([query, expect.stringContaining('<mark>')]);
    }
    const looked: string[] = [];
    await app.database.transaction(async (tx) => {
      const on = {
        manager: tx.manager,
        query: <Row>(statement: Sql): Promise<Row[]> => {
          if (statement.text.includes('ts_headline')) {
            expect(statement.text).not.toContain('search_documents');
            looked.push(...(statement.values.at(-1) as string[]));
          }
          return tx.query<Row>(statement);
        },
      } as SqlExecutor;
      const [row] = await tx.query<{ document_id: number }>(
        'SELECT document_id FROM search_documents WHERE workspace_id = $1',
        [workspace_id],
      );
      await app
        .get(SearchHitRepository)
        .read(on, org.scope, { workspaceId: workspace_id }, [row!.document_id], ['sea', 'lorem']);
      await app
        .get(SearchHitRepository)
        .read(on, org.scope, { workspaceId: workspace_id }, [row!.document_id], ['nowhere']);
    });
    expect(looked).toHaveLength(2);
    for (const text of looked) expect(text.length).toBeLessThanOrEqual(1_300);
  });
});
