import { createTestApp, type TestApp } from '#testing';
import { type DatasetCase, uploaded, versionsOf } from './dataset-versions.fixture';
import { EvaluationWorkspace, outcome, type Page } from './evaluation.harness';

const MIB = 1024 * 1024;

describe('the rows of a CSV version, as cases', () => {
  let app: TestApp;
  let space: EvaluationWorkspace;

  beforeAll(async () => {
    app = await createTestApp();
    space = await EvaluationWorkspace.open(app);
  });
  afterAll(() => app.close());

  const newDataset = async (): Promise<string> => (await space.dataset()).dataset_id;

  it('with columns where they are mapped, and others in the input', async () => {
    const id = await newDataset();
    const file = 'id,q,ctx,a,split,t1,t2\nx,1+1,"a\nb",2,test,"b,a; c","[""d,e"",""a""]"\ny,,,,,,\n';
    const mapping = { input: ['ctx'], expected: ['a'], metadata: ['split', 'id'], tags: ['t1', 't2'] };
    await uploaded(space, id, file, { mapping });
    const { body } = await space.viewer.get<Page<DatasetCase>>(`${versionsOf(id)}/1/rows`);
    expect(body).toEqual({
      items: [
        {
          id: 'x',
          input: { ctx: 'a\nb', q: '1+1' },
          expected: { a: '2' },
          metadata: { split: 'test', id: 'x' },
          tags: ['b', 'a', 'c', 'd,e'],
        },
        {
          id: 'y',
          input: { ctx: '', q: '' },
          expected: { a: '' },
          metadata: { split: '', id: 'y' },
          tags: [],
        },
      ],
      page: { limit: 50, offset: 0, total: 2, next_cursor: null },
    });
  });

  it('all in the input where no mapping names them, whatever they are called', async () => {
    const id = await newDataset();
    const file = 'input,expected,metadata,tags\na,b,{},x;y\n';
    const parts = ['input', 'expected', 'metadata', 'tags'];
    await uploaded(space, id, file);
    await uploaded(space, id, file, { mapping: Object.fromEntries(parts.map((name) => [name, [name]])) });
    const caseOf = async (version: number) =>
      (await space.list<DatasetCase>(`${versionsOf(id)}/${version}/rows`))[0];
    expect(await caseOf(1)).toEqual({
      id: '1',
      input: { input: 'a', expected: 'b', metadata: '{}', tags: 'x;y' },
      expected: null,
      metadata: {},
      tags: [],
    });
    expect(await caseOf(2)).toEqual({
      id: '1',
      input: { input: 'a' },
      expected: { expected: 'b' },
      metadata: { metadata: '{}' },
      tags: ['x', 'y'],
    });
  });

  it('called by case_id, else id, else the number of the row', async () => {
    const id = await newDataset();
    const idsOf = async (file: string, options = {}): Promise<string[]> => {
      const { version } = await uploaded(space, id, file, options);
      return (await space.list<DatasetCase>(`${versionsOf(id)}/${version}/rows`)).map((one) => one.id);
    };
    expect(await idsOf('id,case_id\n1,a\n2,b\n')).toEqual(['a', 'b']);
    expect(await idsOf('id,x\n7,a\n8,b\n')).toEqual(['7', '8']);
    expect(await idsOf('x\na\nb\n')).toEqual(['1', '2']);
    expect(await idsOf('id,x\n7,a\n8,b\n', { case_id_column: 'x' })).toEqual(['a', 'b']);
  });

  it('page by page, by cursor or by offset, at any depth', async () => {
    const id = await newDataset();
    const count = 3_000;
    const rows = Array.from({ length: count }, (_, n) => `c${n},"${`row ${n}\n`.repeat(40)}"\n`);
    await uploaded(space, id, `id,text\n${rows.join('')}`);
    const path = `${versionsOf(id)}/1/rows`;
    const page = async (query: string) =>
      (await space.viewer.get<Page<DatasetCase>>(`${path}?${query}`)).body;
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const { items, page: at }: Page<DatasetCase> = await page(
        `limit=437${cursor ? `&cursor=${cursor}` : ''}`,
      );
      for (const one of items) {
        expect(one.input).toEqual({ text: `row ${one.id.slice(1)}\n`.repeat(40) });
        seen.push(one.id);
      }
      expect(at).toMatchObject({ limit: 437, offset: 0, total: count });
      cursor = at.next_cursor;
    } while (cursor !== null);
    expect(seen).toEqual(rows.map((_, n) => `c${n}`));
    const deep = await page('offset=2_990&limit=500'.replace('_', ''));
    expect(deep.items.map((one) => one.id)).toEqual(seen.slice(2_990));
    expect(deep.page).toEqual({ limit: 500, offset: 2_990, total: count, next_cursor: null });
    expect(await page('limit=0')).toMatchObject({ items: [], page: { total: count, next_cursor: null } });
    expect(await page('offset=3000')).toMatchObject({ items: [], page: { next_cursor: null } });
  });

  it.each([
    ['of one byte', 'x'.repeat(3 * MIB)],
    ['of three bytes', '字'.repeat(MIB)],
    ['that JSON writes with six', '\x01'.repeat(MIB / 2)],
  ])('in pages of a bounded size, none of them empty: characters %s', async (_, cell) => {
    const id = await newDataset();
    await uploaded(space, id, `a\n${`${cell}\n`.repeat(5)}`);
    const counts: number[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? '' : `&cursor=${cursor}`;
      const { body } = await space.viewer.get<Page<DatasetCase>>(
        `${versionsOf(id)}/1/rows?limit=500${query}`,
      );
      counts.push(body.items.length);
      cursor = body.page.next_cursor;
    } while (cursor !== null);
    expect(counts).toEqual([2, 2, 1]);
  });

  it('and refuses foreign cursors and unknown parameters', async () => {
    const id = await newDataset();
    await uploaded(space, id, 'a\n1\n2\n');
    await uploaded(space, id, 'a\n1\n3\n');
    const { page } = (await space.viewer.get<Page<unknown>>(`${versionsOf(id)}?limit=1`)).body;
    for (const query of [`cursor=${page.next_cursor}`, 'cursor=x', 'sort=created_at', 'limit=501', 'q=a']) {
      expect([query, ...outcome(await space.viewer.get(`${versionsOf(id)}/1/rows?${query}`))]).toEqual([
        query,
        400,
        'invalid_query',
      ]);
    }
  });
});
