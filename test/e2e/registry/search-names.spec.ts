import { type ApiClient, sharedApp, newOrganization, type TestOrganization } from '#testing';
import { SearchIndex } from '../../../src/resources/search-index/search-index';
import { wordPrefixOf } from '../../../src/resources/search-index/search-document';
import { editorOf, names, register, search } from './search.fixture';

describe('search by names', () => {
  const app = sharedApp();
  let org: TestOrganization;
  let editor: ApiClient;

  beforeAll(async () => {
    org = await newOrganization(app);
    editor = await editorOf(org);
  });

  const matches = (workspace_id: string, query: string): Promise<string[]> =>
    names(editor, { mode: 'keyword', query, workspace_id });

  it.each([
    ['invoce', 'createInvoice'],
    ['serach orders', 'search_orders'],
    ['data-laoder', 'data-loader'],
    ['the documnt reader', 'document reader'],
    ['the serach orders', 'search_orders'],
  ])('matches the misspelt query %j with %j', async (query, name) => {
    const workspace_id = await org.newWorkspace();
    await register(editor, workspace_id, { name });
    await register(editor, workspace_id, { name: 'weather' });
    expect(await matches(workspace_id, query)).toEqual([name]);
  });

  it('ranks the exact name first, then names with other punctuation', async () => {
    const workspace_id = await org.newWorkspace();
    for (const name of ['old pdf forms', 'pdf-forms-pdf-forms-legacy', 'pdfForms', 'pdf-forms'])
      await register(editor, workspace_id, { name });
    expect((await matches(workspace_id, ' PDF-forms ')).slice(0, 2)).toEqual(['pdf-forms', 'pdfForms']);
    const { body } = await search(editor, { mode: 'keyword', query: 'pdf forms', workspace_id });
    expect(body.items.map(({ score }) => score > 0.98)).toEqual([true, true, false, false]);
  });

  it('ranks the most similar of many names first, without a total', async () => {
    const workspace_id = await org.newWorkspace();
    await app.database.query(
      `INSERT INTO search_documents (resource_type, resource_id, org_id, workspace_id, name, description, body, updated_at, words)
       SELECT 'repo', 'alike_' || $2 || n, $1, $2, name, null, '', now(), search_document_words($3, name, null, '')
       FROM generate_series(1, 502) n, LATERAL (SELECT CASE n WHEN 502 THEN 'barometer' ELSE 'barometric' END) of (name)`,
      [org.orgId, workspace_id, wordPrefixOf(org.orgId)],
    );
    const { body } = await search(editor, { mode: 'keyword', query: 'baromater', workspace_id, limit: 500 });
    expect([body.items.length, body.items[0]!.name, body.page.total]).toEqual([500, 'barometer', null]);
  });

  describe('with vectors', () => {
    it('drops the vector when the new texts have no words', async () => {
      const workspaceId = await org.newWorkspace();
      const put = (name: string) =>
        app.database.transaction((tx) =>
          app
            .get(SearchIndex)
            .put(tx, org.scope, [
              { ...{ type: 'repo', id: `of ${workspaceId}`, workspaceId }, ...{ name, description: null } },
            ]),
        );
      const query = { mode: 'vector', query: 'barometer', workspace_id: workspaceId };
      await put('barometer');
      expect(await names(editor, query)).toEqual(['barometer']);
      await put('—');
      expect(await names(editor, query)).toEqual([]);
    });

    it('weights a name over a long text', async () => {
      const workspace_id = await org.newWorkspace();
      const description = Array.from({ length: 900 }, (_, n) => `w${n * n}x`).join(' ');
      await register(editor, workspace_id, { name: 'barometer', description });
      expect(await names(editor, { mode: 'vector', query: 'barometer', workspace_id })).toEqual([
        'barometer',
      ]);
    });
  });
});
