import { type ApiClient, newOrganization, sharedApp, type TestOrganization } from '#testing';

/** Texts, the queries that find them, and the queries that do not. */
const TEXTS: [text: string, found: string[], missed: string[]][] = [
  [
    '客户退款处理流程',
    ['退款', '处理流程', '客户', '程', '客户退款处理流程', '退款 流程'],
    ['款退', '户处', '发票'],
  ],
  [
    '東京都の天気を検索するエージェント',
    ['天気', '検索', 'エージェント', '東京', 'ジェント', 'を検索'],
    ['索検', '大阪'],
  ],
  ['ค้นหาข้อมูลลูกค้าและใบแจ้งหนี้', ['ข้อมูล', 'ลูกค้า', 'ใบแจ้งหนี้', 'ค้นหา'], ['หนี้แจ้ง', 'สินค้า']],
  ['iPhone15手机壳报价', ['手机', 'iphone15', '报价', '手机壳', '壳'], ['机手', '平板']],
  ['発注システムV2の設定', ['設定', 'システム', 'v2', '発注'], ['定設']],
  ['Les cafés de Montréal', ['cafes', 'cafés', 'montreal', 'MONTRÉAL', 'caf', 'Cafe\u0301s'], ['cafetiere']],
  ['Résumé of a naive cafe', ['resume', 'résumé', 'naïve', 'café'], ['resumen']],
  ['Größe der Straße in Łódź', ['grosse', 'größe', 'strasse', 'Straße', 'lodz'], ['stras se']],
  ['Ελληνικά και Čeština', ['ελληνικα', 'cestina'], ['ελλας']],
  ['Smørrebrød, œuvre et encyclopædia', ['smorrebrod', 'oeuvre', 'encyclopaedia'], ['smor brod']],
  ['한국어 검색 도구', ['검색', '도구', '한국'], ['색검']],
];

describe.each(TEXTS)('a search for words in %s', (text, found, missed) => {
  const app = sharedApp();
  let org: TestOrganization;
  let editor: ApiClient;

  beforeAll(async () => {
    org = await newOrganization(app);
    editor = await org.as('evaluator');
    const { workspaceId: workspace_id } = org;
    const description = `In the description: ${text}`;
    const create = async (path: string, body: object): Promise<void> => {
      const { status, body: answer } = await editor.post(path, { workspace_id, ...body });
      if (status !== 201) throw new Error(JSON.stringify(answer));
    };
    await create('/agent/v1/agents', { name: 'described', description });
    await create('/agent/v1/agents', { name: 'instructed', instructions: `In the text: ${text}` });
    await create('/agent/v1/agents', { name: text });
    await create('/eval/v1/datasets', { name: 'described', description });
    await create('/eval/v1/datasets', { name: text });
    const { body } = await editor.get('/eval/v1/datasets?name=described');
    const records = `/eval/v1/datasets/${body.items[0].dataset_id}/records`;
    await create(records, { input: { question: text } });
  });

  const searched = async (query: string): Promise<string[]> => {
    const body = { query, mode: 'keyword', types: ['agent'] };
    const { status, body: answer } = await editor.post('/registry/v1/search', body);
    expect(status).toBe(200);
    // documents with similar names follow, with lower scores
    const hits = answer.items.filter(({ score }: { score: number }) => score >= 0.5);
    for (const { highlight } of hits) expect(highlight).toContain('<mark>');
    return hits.map(({ name }: { name: string }) => name).sort();
  };

  const listed = async (path: string, q: string): Promise<number> => {
    const { status, body } = await editor.get(`${path}?q=${encodeURIComponent(q)}`);
    expect(status).toBe(200);
    return body.items.length as number;
  };

  it.each(found)('finds it by %s', async (query) => {
    expect(await searched(query)).toEqual([text, 'described', 'instructed'].sort());
    expect(await listed('/agent/v1/agents', query)).toBe(2);
    expect(await listed('/eval/v1/datasets', query)).toBe(2);
    const { body } = await editor.get('/eval/v1/datasets?name=described');
    expect(await listed(`/eval/v1/datasets/${body.items[0].dataset_id}/records`, query)).toBe(1);
  });

  it.each(missed)('does not find it by %s', async (query) => {
    expect(await searched(query)).toEqual([]);
    expect(await listed('/agent/v1/agents', query)).toBe(0);
    expect(await listed('/eval/v1/datasets', query)).toBe(0);
  });
});

describe('the search index', () => {
  const app = sharedApp();

  it('takes as many different letters as the longest documents have', async () => {
    let seed = 1;
    const letters = (from: number, count: number): string =>
      Array.from({ length: count }, () => {
        seed = (seed * 16_807) % 2_147_483_647;
        return String.fromCodePoint(from + (seed % 42_000));
      }).join('');
    const words = Array.from({ length: 11_000 }, (_, i) => (i + 40_000).toString(36)).join(' ');
    const [row] = await app.database.query<{ count: number }>(
      `SELECT cardinality(tsvector_to_array(search_document_words('01234567', $1, $2, $3)))::integer AS count`,
      [letters(0x20000, 255), letters(0x20000, 16_384), `${letters(0x20100, 20_000)} ${words}`],
    );
    expect(row!.count).toBeGreaterThan(40_000);
    const record = [letters(0x20000, 40_000), letters(0x20100, 40_000)].map((text) => JSON.stringify(text));
    const [{ words: listed } = { words: 0 }] = await app.database.query<{ words: number }>(
      `SELECT cardinality(tsvector_to_array(record_words($1, $2, $3)))::integer AS words`,
      [JSON.stringify({ word: words.slice(0, 16_000) }), ...record],
    );
    expect(listed).toBeGreaterThan(70_000);
  });
});
