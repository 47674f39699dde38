import { sharedApp } from '#testing';
import { type DatasetCase, uploadVersion, versionsOf } from './dataset-versions.fixture';
import { EvaluationWorkspace, outcome, type Page } from './evaluation.harness';

describe('the row list of a CSV version', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  const newDataset = async (): Promise<string> => (await space.dataset()).dataset_id;

  const caseOf = async (id: string, file: string, options = {}): Promise<DatasetCase | undefined> => {
    const { version } = await uploadVersion(space, id, file, options);
    return (await space.list<DatasetCase>(`${versionsOf(id)}/${version}/rows`))[0];
  };

  it('has columns where the mapping puts them, and others in the metadata', async () => {
    const id = await newDataset();
    const file = 'id,q,ctx,a,split,t1,t2\nx,1+1,"a\nb",2,test,"b,a; c","[""d,e"",""a""]"\ny,,,,,,\n';
    const mapping = { input: ['ctx'], expected: ['a'], metadata: ['split', 'id'], tags: ['t1', 't2'] };
    await uploadVersion(space, id, file, { mapping });
    const { body } = await space.viewer.get<Page<DatasetCase>>(`${versionsOf(id)}/1/rows`);
    expect(body).toEqual({
      items: [
        {
          case_id: 'x',
          input: { ctx: 'a\nb' },
          expected: { a: '2' },
          metadata: { split: 'test', id: 'x', q: '1+1' },
          tags: ['b', 'a', 'c', 'd,e'],
        },
        {
          case_id: 'y',
          input: { ctx: '' },
          expected: { a: '' },
          metadata: { split: '', id: 'y', q: '' },
          tags: [],
        },
      ],
      page: { limit: 50, offset: 0, total: 2, next_cursor: null },
    });
  });

  it('never has an answer column in the input, mapped or not', async () => {
    const file = 'question,context,answer\n1+1,sums,2\n';
    const id = await newDataset();
    expect(await caseOf(id, file, { mapping: { input: ['question'] } })).toMatchObject({
      input: { question: '1+1' },
      metadata: { context: 'sums', answer: '2' },
    });
    expect(await caseOf(id, file, { mapping: { expected: ['answer'] } })).toMatchObject({
      input: { question: '1+1', context: 'sums' },
      expected: { answer: '2' },
    });
  });

  it('recognizes the headers input, expected, metadata and tags without a mapping', async () => {
    const file =
      ' Input,Expected ,Metadata, Tags ,source\na,"{""b"": 1}","{ ""n"": [1, null] }","x, y",faq\n';
    expect(await caseOf(await newDataset(), file)).toEqual({
      case_id: '1',
      input: 'a',
      expected: '{"b": 1}',
      metadata: { n: [1, null], source: 'faq' },
      tags: ['x', 'y'],
    });
  });

  it('forms the input from other columns if a file has an expected header but no input header', async () => {
    expect(await caseOf(await newDataset(), 'id,question,context,ground_truth\nc1,1+1,sums,2\n')).toEqual({
      case_id: 'c1',
      input: { question: '1+1', context: 'sums' },
      expected: '2',
      metadata: {},
      tags: [],
    });
  });

  it('has the index of a pandas file in the metadata', async () => {
    const file = ',input,expected\n0,1+1,2\n';
    expect(await caseOf(await newDataset(), file)).toMatchObject({
      input: '1+1',
      expected: '2',
      metadata: { column_1: '0' },
    });
  });

  it('has the answers of published data sets as expected values, and never in the input', async () => {
    for (const [header, expected] of [
      ['question,answer', 'answer'],
      ['Question,Answer', 'Answer'],
      ['problem, REFERENCE ', ' REFERENCE '],
      ['q,reference_answer', 'reference_answer'],
      ['prompt,target', 'target'],
      ['prompt,ideal', 'ideal'],
      ['question,Ground Truth', 'Ground Truth'],
      ['question,ground-truth', 'ground-truth'],
      ['question,groundTruth', 'groundTruth'],
      ['question,GroundTruth', 'GroundTruth'],
      ['question,GROUND TRUTH', 'GROUND TRUTH'],
      ['question,expectedOutput', 'expectedOutput'],
      ['question,Expected Output ', 'Expected Output '],
      ['question,Expected_Output', 'Expected_Output'],
      ['question,Reference Answer', 'Reference Answer'],
    ] as const) {
      const one = await caseOf(await newDataset(), `${header}\n1+1,2\n`);
      expect([expected, one]).toEqual([
        expected,
        { case_id: '1', input: { [header.split(',')[0]!]: '1+1' }, expected: '2', metadata: {}, tags: [] },
      ]);
    }
    const file = 'question,target,ideal,answer,reference\n1+1,t,i,2,r\n';
    expect(await caseOf(await newDataset(), file)).toMatchObject({
      input: { question: '1+1' },
      expected: '2',
      metadata: { target: 't', ideal: 'i', reference: 'r' },
    });
    const spelled = 'question,Reference Answer,groundTruth\n1+1,r,2\n';
    expect(await caseOf(await newDataset(), spelled)).toMatchObject({
      input: { question: '1+1' },
      expected: '2',
      metadata: { 'Reference Answer': 'r' },
    });
  });

  it('has the case ids of a column ID, which is no part of the input', async () => {
    const one = await caseOf(await newDataset(), 'ID,Question,Answer\nq1,1+1,2\n');
    expect(one).toMatchObject({ case_id: 'q1', input: { Question: '1+1' }, metadata: {} });
  });

  it('has the cell itself if the mapping names a column instead of a list', async () => {
    const id = await newDataset();
    const file = 'id,question,gold,info,topic\nc1,1+1,42,"{""n"": 1}","a,b"\n';
    const mapping = { input: 'question', expected: 'gold', metadata: 'info', tags: 'topic' };
    expect(await caseOf(id, file, { mapping })).toEqual({
      case_id: 'c1',
      input: '1+1',
      expected: '42',
      metadata: { n: 1 },
      tags: ['a', 'b'],
    });
    expect(await caseOf(id, file, { mapping: { expected: 'gold', metadata: ['info'] } })).toMatchObject({
      input: { question: '1+1', topic: 'a,b' },
      expected: '42',
      metadata: { info: '{"n": 1}' },
    });
    expect(await caseOf(id, file, { mapping: { input: 'question' } })).toMatchObject({
      input: '1+1',
      expected: null,
      metadata: { gold: '42', info: '{"n": 1}', topic: 'a,b' },
    });
  });

  it('has objects if a mapping lists well-known headers, and reads metadata and tags by their names', async () => {
    const id = await newDataset();
    const file = 'input,expected,metadata,tags\na,b,"{""n"": 1}",x;y\n';
    const parts = ['input', 'expected', 'metadata', 'tags'];
    const mapping = Object.fromEntries(parts.map((name) => [name, [name]]));
    expect(await caseOf(id, file, { mapping })).toEqual({
      case_id: '1',
      input: { input: 'a' },
      expected: { expected: 'b' },
      metadata: { n: 1 },
      tags: ['x', 'y'],
    });
    for (const unnamed of [{}, { input: [] }, { expected: null }]) {
      const options = { mapping: { ...unnamed, tags: ['tags'] } };
      expect(await caseOf(await newDataset(), file, options)).toMatchObject({
        input: { input: 'a' },
        expected: null,
        metadata: { n: 1, expected: 'b' },
        tags: ['x', 'y'],
      });
    }
  });

  it('never has a recognized column in the input unless the mapping names it there', async () => {
    const id = await newDataset();
    const file = 'id,question,answer,Target,tags\nc1,1+1,2,t,x\n';
    expect(await caseOf(id, file, { mapping: { expected: ['answer'] } })).toMatchObject({
      input: { question: '1+1' },
      metadata: { Target: 't', tags: 'x' },
      tags: [],
    });
    expect(await caseOf(id, file, { mapping: { input: ['question', 'Target'] } })).toMatchObject({
      input: { question: '1+1', Target: 't' },
      metadata: { answer: '2', tags: 'x' },
    });
  });

  it('reads a version whose stored mapping has no value columns', async () => {
    const { dataset_id, version_id } = await uploadVersion(space, await newDataset(), 'question\n1+1\n');
    const path = `${versionsOf(dataset_id)}/1`;
    await app.database.query('UPDATE dataset_versions SET columns = $2, mapping = $3 WHERE version_id = $1', [
      version_id,
      ['input'],
      JSON.stringify({ input: ['input'], expected: [], metadata: [], tags: [] }),
    ]);
    expect((await space.viewer.get(path)).body).toMatchObject({ value_columns: [] });
    expect((await space.list<DatasetCase>(`${path}/rows`))[0]!.input).toEqual({ input: '1+1' });
  });

  it('takes ids from case_id, else from id, else from row numbers', async () => {
    const id = await newDataset();
    const idsOf = async (file: string, options = {}): Promise<string[]> => {
      const { version } = await uploadVersion(space, id, file, options);
      return (await space.list<DatasetCase>(`${versionsOf(id)}/${version}/rows`)).map((one) => one.case_id);
    };
    expect(await idsOf('id,case_id\n1,a\n2,b\n')).toEqual(['a', 'b']);
    expect(await idsOf('id,x\n7,a\n8,b\n')).toEqual(['7', '8']);
    expect(await idsOf('x\na\nb\n')).toEqual(['1', '2']);
    expect(await idsOf('id,x\n7,a\n8,b\n', { case_id_column: 'x' })).toEqual(['a', 'b']);
  });

  it('pages by cursor or by offset, at any depth', async () => {
    const id = await newDataset();
    const count = 3_000;
    const rows = Array.from({ length: count }, (_, n) => `c${n},"${`row ${n}\n`.repeat(40)}"\n`);
    await uploadVersion(space, id, `id,text\n${rows.join('')}`);
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
        expect(one.input).toEqual({ text: `row ${one.case_id.slice(1)}\n`.repeat(40) });
        seen.push(one.case_id);
      }
      expect(at).toMatchObject({ limit: 437, offset: 0, total: count });
      cursor = at.next_cursor;
    } while (cursor !== null);
    expect(seen).toEqual(rows.map((_, n) => `c${n}`));
    const deep = await page('offset=2_990&limit=500'.replace('_', ''));
    expect(deep.items.map((one) => one.case_id)).toEqual(seen.slice(2_990));
    expect(deep.page).toEqual({ limit: 500, offset: 2_990, total: count, next_cursor: null });
    expect(await page('limit=0')).toMatchObject({ items: [], page: { total: count, next_cursor: null } });
    expect(await page('offset=3000')).toMatchObject({ items: [], page: { next_cursor: null } });
  });

  it('rejects foreign cursors and unknown parameters', async () => {
    const id = await newDataset();
    await uploadVersion(space, id, 'a\n1\n2\n');
    await uploadVersion(space, id, 'a\n1\n3\n');
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
