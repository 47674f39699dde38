import { type ApiClient, sharedApp, newOrganization, type TestOrganization } from '#testing';
import { SOME_MAX } from '../../../src/registry/search/keyword-search.repository';
import { wordPrefixOf } from '../../../src/resources/search-index/search-document';
import { editorOf, names, register, search } from './search.fixture';

describe('the ranking of a keyword search', () => {
  const app = sharedApp();
  let org: TestOrganization;
  let editor: ApiClient;

  beforeAll(async () => {
    org = await newOrganization(app);
    editor = await editorOf(org);
  });

  const scores = async (workspace_id: string, query: string): Promise<[string, number][]> => {
    const { body } = await search(editor, { mode: 'keyword', query, workspace_id });
    return body.items.map(({ name, score }) => [name, score]);
  };

  it('puts names equal to the query first, then names with other punctuation', async () => {
    const workspace_id = await org.newWorkspace();
    for (let n = 0; n < 10; n++) await register(editor, workspace_id, { name: `pdfForms of ${n}` });
    for (const name of ['pdf-forms', 'pdf forms', 'pdfForms', 'create_ticket'])
      await register(editor, workspace_id, { name });
    const first = (await scores(workspace_id, 'pdfForms')).slice(0, 4);
    expect(first.map(([, score]) => score >= 0.99)).toEqual([true, true, true, false]);
    expect(first[0]).toEqual(['pdfForms', 1]);
    expect(new Set(first.slice(1, 3))).toEqual(
      new Set([
        ['pdf-forms', 0.99],
        ['pdf forms', 0.99],
      ]),
    );
    expect(await scores(workspace_id, 'createTicket')).toEqual([['create_ticket', 0.99]]);
  });

  it('finds identifiers in texts, by the whole and by their parts', async () => {
    const workspace_id = await org.newWorkspace();
    await register(editor, workspace_id, { name: 'a', description: 'calls createTicket()' });
    await register(editor, workspace_id, { name: 'b', description: 'a ticket to create' });
    expect((await names(editor, { mode: 'keyword', query: 'createTicket', workspace_id })).sort()).toEqual([
      'a',
      'b',
    ]);
  });

  it.each([
    ['Caf\u00e9', 'Cafe\u0301'],
    ['Cafe\u0301', 'Caf\u00e9'],
    ['ｆｕｌｌ ｗｉｄｔｈ', 'full width'],
  ])('finds %j for %j in any Unicode form', async (name, query) => {
    const workspace_id = await org.newWorkspace();
    await register(editor, workspace_id, { name });
    expect(await scores(workspace_id, query)).toEqual([[name, 1]]);
    const { body } = await search(editor, { mode: 'keyword', query, workspace_id });
    expect(body.items[0]!.highlight).toContain('<mark>');
  });

  it('orders prefix matches: names, then descriptions, then texts', async () => {
    const workspace_id = await org.newWorkspace();
    const many = 'navigation navigator navigable navigates';
    await register(editor, workspace_id, {
      name: 'c',
      url: `https://x.example/${many.replaceAll(' ', '/')}`,
    });
    await register(editor, workspace_id, { name: 'b', description: `${many}, and navigating` });
    await register(editor, workspace_id, { name: 'helper of navigation' });
    await register(editor, workspace_id, { name: 'navigation helper' });
    const description = Array.from({ length: 500 }, (_, n) => `w${n}x`).join(' ');
    await register(editor, workspace_id, { name: 'navigation', description });
    for (const query of ['n', 'na', 'nav', 'navi', 'navig', 'naviga', 'navigat', 'navigati', 'navigatio']) {
      const ranked = await scores(workspace_id, query);
      expect([query, ranked.map(([name]) => name)]).toEqual([
        query,
        ['navigation', 'navigation helper', 'helper of navigation', 'b', 'c'],
      ]);
      expect(ranked.every(([, score]) => score > 0.5 && score < 0.99)).toBe(true);
    }
  });

  describe('if few documents have all words', () => {
    it('adds documents with some of the words, below the others', async () => {
      const workspace_id = await org.newWorkspace();
      await register(editor, workspace_id, { name: 'one', description: 'debugging of tests' });
      await register(editor, workspace_id, { name: 'two', description: 'flaky networks' });
      await register(editor, workspace_id, { name: 'none', description: 'the weather' });
      expect((await scores(workspace_id, 'debugging flaky tests')).map(([name]) => name)).toEqual([
        'one',
        'two',
      ]);
      await register(editor, workspace_id, { name: 'all', description: 'for debugging flaky tests' });
      await register(editor, workspace_id, { name: 'debgging flaky tests' });
      const ranked = await scores(workspace_id, 'debugging flaky tests');
      expect(ranked.map(([name]) => name)).toEqual(['all', 'debgging flaky tests', 'one', 'two']);
      expect(ranked.map(([, score]) => [score > 0.5, score > 0.25])).toEqual([
        [true, true],
        [false, true],
        [false, false],
        [false, false],
      ]);
      const hybrid = await search(editor, { query: 'debugging flaky tests', workspace_id });
      expect(hybrid.body.items[0]!.name).toBe('all');
    });

    it('ignores stop words', async () => {
      const workspace_id = await org.newWorkspace();
      await register(editor, workspace_id, { name: 'how is the weather', description: 'with the of and' });
      await register(editor, workspace_id, { name: 'planner' });
      const query = 'how is it that we were with the planner of the meals';
      expect((await scores(workspace_id, query)).map(([name]) => name)).toEqual(['planner']);
      expect(await names(editor, { mode: 'vector', query, workspace_id })).toEqual(['planner']);
      expect(await scores(workspace_id, 'weather')).toHaveLength(1);
    });

    it('adds none if enough documents have all words', async () => {
      const workspace_id = await org.newWorkspace();
      for (let n = 0; n < 10; n++) await register(editor, workspace_id, { name: `tide gauge ${n}` });
      await register(editor, workspace_id, { name: 'tide' });
      expect(await scores(workspace_id, 'tide gauge')).toHaveLength(10);
    });

    it('adds a limited number of them, without a total', async () => {
      const workspace_id = await org.newWorkspace();
      await app.database.query(
        `INSERT INTO search_documents (resource_type, resource_id, org_id, workspace_id, name, description, body, updated_at, words)
         SELECT 'repo', 'some_' || $2 || n, $1, $2, 'copper', null, '', now(), search_document_words($3, 'copper', null, '')
         FROM generate_series(1, $4::int) n`,
        [org.orgId, workspace_id, wordPrefixOf(org.orgId), SOME_MAX * 3],
      );
      await register(editor, workspace_id, { name: 'a', description: 'copper and iron' });
      const query = { mode: 'keyword', query: 'copper iron tin', workspace_id, limit: 500 };
      const { body } = await search(editor, query);
      expect([body.items.length, body.items[0]!.name, body.page.total]).toEqual([SOME_MAX, 'a', null]);
    });
  });
});
