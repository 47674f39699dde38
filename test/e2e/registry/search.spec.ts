import { type ApiClient, sharedApp, newOrganization, type TestOrganization } from '#testing';
import { editorOf, names, refusal, register, search, type SearchItem } from './search.fixture';

describe('keyword search', () => {
  const app = sharedApp();
  let org: TestOrganization;
  let editor: ApiClient;
  let admin: ApiClient;

  beforeAll(async () => {
    org = await newOrganization(app);
    editor = await editorOf(org);
    admin = await org.member('admin');
  });

  const matches = (workspace_id: string, query: string): Promise<string[]> =>
    names(editor, { mode: 'keyword', query, workspace_id });

  it('finds a resource from its creation until it is archived', async () => {
    const workspace_id = await org.newWorkspace();
    const id = await register(editor, workspace_id, { name: 'weather station' });
    expect(await matches(workspace_id, 'weather')).toEqual(['weather station']);
    await editor.patch(`/registry/v1/repos/${id}`, { name: 'tide gauge' });
    expect(await matches(workspace_id, 'weather')).toEqual([]);
    expect(await matches(workspace_id, 'tide')).toEqual(['tide gauge']);
    await admin.post(`/registry/v1/repos/${id}/archive`);
    expect(await matches(workspace_id, 'tide')).toEqual([]);
  });

  it('finds word forms, prefixes, and parts of URLs and identifiers', async () => {
    const workspace_id = await org.newWorkspace();
    await register(editor, workspace_id, {
      name: 'createInvoice',
      description: 'Runs of planners, für Straßenbau',
      url: 'https://git.example.com/acme-labs/billing.tools',
    });
    const queries = [
      'running',
      'planner',
      'plan',
      'invoice',
      'create inv',
      'straßen',
      'BILLING',
      'labs',
      'tools acme',
    ];
    for (const query of queries)
      expect([query, await matches(workspace_id, query)]).toEqual([query, ['createInvoice']]);
    for (const query of ['lanners', 'weather forecast', '—', "'", ':* & !'])
      expect([query, await matches(workspace_id, query)]).toEqual([query, []]);
  });

  it('ignores stop words unless there are no others', async () => {
    const workspace_id = await org.newWorkspace();
    await register(editor, workspace_id, { name: 'planner' });
    await register(editor, workspace_id, { name: 'of the people' });
    expect(await matches(workspace_id, 'how is the weather')).toEqual([]);
    expect(await matches(workspace_id, 'is the planner')).toEqual(['planner']);
    expect(await matches(workspace_id, 'of the')).toEqual(['of the people']);
  });

  it('ranks names before descriptions before texts', async () => {
    const workspace_id = await org.newWorkspace();
    await register(editor, workspace_id, {
      name: 'a',
      url: 'https://git.example.com/planner/planner/planner',
    });
    await register(editor, workspace_id, { name: 'b', description: 'planner, planner and planner' });
    await register(editor, workspace_id, { name: 'planner of routes' });
    await register(editor, workspace_id, { name: 'Planner' });
    expect(await matches(workspace_id, 'planner')).toEqual(['Planner', 'planner of routes', 'b', 'a']);
  });

  it('finds similar names, below exact ones', async () => {
    const workspace_id = await org.newWorkspace();
    await register(editor, workspace_id, { name: 'invoice processing', description: 'bills' });
    await register(editor, workspace_id, { name: 'elsewhere', description: 'invoce' });
    expect(await matches(workspace_id, 'invoce')).toEqual(['elsewhere', 'invoice processing']);
    expect(await matches(workspace_id, 'procesing bills')).toEqual(['invoice processing']);
    expect(await matches(workspace_id, 'procesing weather')).toEqual([]);
    const { body } = await search(editor, { mode: 'keyword', query: 'invoce', workspace_id });
    expect(body.items.map(({ score }) => score > 0.5)).toEqual([true, false]);
    expect(body.page.total).toBe(2);
  });

  it('pages equal matches by id, with the total', async () => {
    const workspace_id = await org.newWorkspace();
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.push(await register(editor, workspace_id, { name: 'one of many' }));
    const query = { mode: 'keyword', query: 'many', workspace_id };
    const pages = await Promise.all(
      [0, 2, 4, 6].map((offset) => search(editor, { ...query, limit: 2, offset })),
    );
    expect(pages.flatMap(({ body }) => body.items.map(({ id }) => id))).toEqual(ids.sort());
    expect(pages.map(({ body }) => body.page)).toEqual(
      [0, 2, 4, 6].map((offset) => ({ limit: 2, offset, total: 5, next_cursor: null })),
    );
    expect(pages[1]!.body.items.map(({ ranks }) => ranks.keyword)).toEqual([3, 4]);
    const none = await search(editor, { ...query, limit: 0 });
    expect([none.body.items, none.body.page.total]).toEqual([[], 5]);
  });

  it('highlights matches in escaped HTML', async () => {
    const workspace_id = await org.newWorkspace();
    await register(editor, workspace_id, {
      name: `planners <img src=x onerror=alert(1)> & "co"`,
      description: "<mark>planner</mark>'s",
      url: 'https://git.example.com/acme/route-planner',
    });
    const { body } = await search(editor, { mode: 'keyword', query: 'planner', workspace_id });
    const { highlight } = body.items[0]!;
    expect(highlight!.split('\n')).toEqual([
      '<mark>planners</mark> &lt;img src=x onerror=alert(1)&gt; &amp; &quot;co&quot;',
      '&lt;mark&gt;<mark>planner</mark>&lt;/mark&gt;&#39;s',
      'https://git.example.com/acme/route-<mark>planner</mark>',
    ]);
    expect(highlight!.replace(/<\/?mark>/g, '')).not.toMatch(/[<>]/);
  });

  it('filters by type and by the time of the last change', async () => {
    const workspace_id = await org.newWorkspace();
    await register(editor, workspace_id, { name: 'narrowed' });
    const query = { mode: 'keyword', query: 'narrowed', workspace_id };
    const [past, future] = ['2020-01-01T00:00:00Z', '2100-01-01T00:00:00Z'];
    const of = (more: object) => names(editor, { ...query, ...more });
    for (const mode of ['keyword', 'vector', 'hybrid']) {
      expect(await of({ mode, types: ['agent', 'repo'] })).toEqual(['narrowed']);
      expect(await of({ mode, types: ['agent'] })).toEqual([]);
      expect(await of({ mode, types: [] })).toEqual([]);
      expect(await of({ mode, filters: { updated_after: past, updated_before: future } })).toEqual([
        'narrowed',
      ]);
      expect(await of({ mode, filters: { updated_after: future } })).toEqual([]);
      expect(await of({ mode, filters: { updated_before: past } })).toEqual([]);
    }
  });

  it.each([
    [{ mode: 'keyword' }, [400, 'invalid_request', '/query']],
    [{}, [400, 'invalid_request', '/query']],
    [{ query: ' \n' }, [400, 'invalid_request', '/query']],
    [{ vector: [1] }, [400, 'invalid_request', '/query']],
    [{ mode: 'vector' }, [400, 'invalid_request', '/query']],
    [{ query: 'x'.repeat(1001) }, [400, 'invalid_request', '/query']],
    [{ query: 'x '.repeat(33) }, [400, 'invalid_request', '/query']],
    [{ query: 7 }, [400, 'invalid_request', '/query']],
    [{ query: 'x', q: 'x' }, [400, 'invalid_request', '/q']],
    [{ query: 'x', filters: { tag: 'x' } }, [400, 'invalid_request', '/filters/tag']],
    [{ query: 'x', filters: { updated_after: 'today' } }, [400, 'invalid_request', '/filters/updated_after']],
    [{ query: 'x', limit: 501 }, [400, 'invalid_request', '/limit']],
    [{ query: 'x', limit: '5' }, [400, 'invalid_request', '/limit']],
    [{ query: 'x', offset: -1 }, [400, 'invalid_request', '/offset']],
    [{ query: 'x', types: 'repo' }, [400, 'invalid_request', '/types']],
    [{ query: 'x', types: Array(10).fill('repo') }, [400, 'invalid_request', '/types']],
    [{ query: 'x', mode: 'keyword', vector: [1] }, [400, 'invalid_request', '/vector']],
    [{ query: 'x', vector: [1, 2] }, [400, 'invalid_request', '/vector']],
    [{ query: 'x', vector: Array(256).fill(0) }, [400, 'invalid_request', '/vector']],
    [{ query: 'x', vector: Array(256).fill('1') }, [400, 'invalid_request', '/vector']],
    [{ query: 'x', vector: Array(20_000).fill(1) }, [400, 'invalid_request', '/vector']],
    [{ query: 'x', mode: 'exact' }, [422, 'validation_failed', '/mode']],
    [{ query: 'x', types: ['repo', 'dataset'] }, [422, 'validation_failed', '/types/1']],
  ])('refuses %j', async (body, expected) => {
    expect(refusal(await search(editor, body))).toEqual(expected);
  });

  it('accepts the longest words and numbers that a query may contain', async () => {
    const workspace_id = await org.newWorkspace();
    const name = 'ж'.repeat(255);
    await register(editor, workspace_id, { name, description: `${'😀'.repeat(2000)}${'a'.repeat(6000)}` });
    expect(await matches(workspace_id, 'ж'.repeat(1000))).toEqual([name]);
    expect(await matches(workspace_id, '\\ \' " %_ <-> & | ! ( :* ж')).toEqual([name]);
    const vector = Array<number>(256).fill(1e308);
    expect((await search(editor, { mode: 'vector', vector, workspace_id })).status).toBe(200);
  });

  describe('with access control', () => {
    let elsewhere: string;
    const all = (by: ApiClient, body: object = {}) =>
      Promise.all(
        ['keyword', 'vector', 'hybrid'].map(async (mode) => {
          const answer = await search(by, { mode, query: 'classified', ...body });
          return [answer.body.items.map(({ name }) => name), answer.body.page.total];
        }),
      );
    const nothing = Array(3).fill([[], 0]);
    const itself = Array(3).fill([['classified'], 1]);

    beforeAll(async () => {
      elsewhere = await org.newWorkspace();
      await register(editor, elsewhere, { name: 'classified' });
    });

    it('returns no documents of other organizations', async () => {
      const stranger = await (await newOrganization(app)).member('owner');
      expect(await all(stranger)).toEqual(nothing);
      expect(await all(stranger, { workspace_id: elsewhere })).toEqual(nothing);
    });

    it('returns no documents of inaccessible workspaces', async () => {
      const bound = app.api((await org.serviceAccount('admin')).key);
      expect(await all(bound)).toEqual(nothing);
      expect(await all(bound, { workspace_id: elsewhere })).toEqual(nothing);
      expect(await all(editor)).toEqual(itself);
    });

    it('returns only documents of the workspace that the request names', async () => {
      expect(await all(editor.in(org.workspaceId))).toEqual(itself);
      expect(await all(editor, { workspace_id: org.workspaceId })).toEqual(nothing);
      expect(await all(editor.in(org.workspaceId), { workspace_id: elsewhere })).toEqual(itself);
      expect(await all(editor, { workspace_id: 'wsp_nope' })).toEqual(nothing);
    });

    it('requires the role viewer', async () => {
      expect((await search(await org.member('runtime'), { query: 'x' })).status).toBe(403);
      expect(await all(await org.member('viewer'))).toEqual(itself);
      expect((await search(app.api(), { query: 'x' })).status).toBe(401);
    });
  });

  describe('with vectors', () => {
    it('finds documents with common words, nearest first', async () => {
      const workspace_id = await org.newWorkspace();
      await register(editor, workspace_id, { name: 'weather forecasts', url: 'https://x.example/weather' });
      const name = 'weather forecast of tomorrow and of the days after it';
      await register(editor, workspace_id, { name, url: 'https://x.example/weather/tomorrow' });
      await register(editor, workspace_id, { name: 'zqj', url: 'https://x.example/zqj' });
      const { body } = await search(editor, { mode: 'vector', query: 'weather forecast', workspace_id });
      expect(body.items.map(({ name }) => name)).toEqual([
        'weather forecasts',
        'weather forecast of tomorrow and of the days after it',
      ]);
      expect(body.items.map(({ ranks }) => ranks)).toEqual([
        { keyword: null, vector: 1 },
        { keyword: null, vector: 2 },
      ]);
      expect(body.page.total).toBe(2);
      expect(body.items.every(({ score }) => score > 0.3 && score <= 1)).toBe(true);
      expect(await names(editor, { mode: 'vector', query: '—', workspace_id })).toEqual([]);
    });

    it('accepts a vector instead of the query', async () => {
      const workspace_id = await org.newWorkspace();
      await register(editor, workspace_id, { name: 'given' });
      const [row] = await app.database.query<{ parts: string }>(
        `SELECT translate(array_to_string(parts, ','), '()', '') AS parts FROM search_embeddings WHERE workspace_id = $1`,
        [workspace_id],
      );
      const vector = row!.parts.split(',').map((number) => Number(number) * 17);
      const { body } = await search(editor, { mode: 'vector', vector, workspace_id });
      expect(body.items[0]).toMatchObject({ name: 'given', highlight: null });
      expect(body.items[0]!.score).toBeCloseTo(1, 6);
      const away = vector.map((number) => -number);
      expect(await names(editor, { mode: 'vector', vector: away, workspace_id })).toEqual([]);
      const both = await search(editor, { query: 'nothing', vector, workspace_id });
      expect(both.body.items[0]!.ranks).toEqual({ keyword: null, vector: 1 });
    });

    it('embeds again only if the texts change', async () => {
      const workspace_id = await org.newWorkspace();
      const id = await register(editor, workspace_id, { name: 'barometer' });
      const path = `/registry/v1/repos/${id}`;
      await editor.patch(path, { metadata: { a: 1 } });
      expect(await names(editor, { mode: 'vector', query: 'barometer', workspace_id })).toEqual([
        'barometer',
      ]);
      await editor.patch(path, { name: 'zqj', url: 'https://x.example/zqj' });
      expect(await names(editor, { mode: 'vector', query: 'barometer', workspace_id })).toEqual([]);
    });
  });

  it('fuses both rankings by rank', async () => {
    const workspace_id = await org.newWorkspace();
    await register(editor, workspace_id, { name: 'route planner' });
    await register(editor, workspace_id, { name: 'planners of meals', description: 'route to the kitchen' });
    await register(editor, workspace_id, { name: 'rout plannr' });
    await register(editor, workspace_id, { name: 'zqj' });
    const of = async (mode: string): Promise<SearchItem[]> =>
      (await search(editor, { mode, query: 'route planner', workspace_id })).body.items;
    const [keyword, vector, hybrid] = await Promise.all(['keyword', 'vector', 'hybrid'].map(of));
    const placeIn = (items: SearchItem[], id: string): number | null =>
      items.findIndex((one) => one.id === id) + 1 || null;
    for (const { id, score, ranks } of hybrid!) {
      expect(ranks).toEqual({ keyword: placeIn(keyword!, id), vector: placeIn(vector!, id) });
      const parts = [ranks.keyword, ranks.vector].map((rank) => (rank ? 1 / (60 + rank) : 0));
      expect(score).toBeCloseTo(parts[0]! + parts[1]!, 12);
    }
    expect(hybrid![0]!.name).toBe('route planner');
    expect(hybrid!.map(({ score }) => score)).toEqual(
      hybrid!.map(({ score }) => score).sort((a, b) => b - a),
    );
  });
});
