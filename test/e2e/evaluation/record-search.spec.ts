import { ownApp, until } from '#testing';
import { workOf } from './work.harness';
import { RecordWordsRepository } from '../../../src/evaluation/datasets/records/record-words.repository';
import {
  type BulkResponse,
  type Dataset,
  type DatasetRecord,
  EvaluationWorkspace,
  type Page,
} from './evaluation.harness';

/** No worker runs here, so records wait for their words until a test indexes them. */
describe('record search', () => {
  const app = ownApp();
  let words: RecordWordsRepository;
  let space: EvaluationWorkspace;
  let dataset: Dataset;
  let records: string;

  beforeAll(() => {
    words = app.get(RecordWordsRepository);
  });
  beforeEach(async () => {
    await app.database.query('UPDATE records SET search = record_words(metadata, expected, input)');
    space = await EvaluationWorkspace.open(app);
    dataset = await space.dataset();
    records = `/eval/v1/datasets/${dataset.dataset_id}/records`;
  });

  const create = (...inputs: string[]) =>
    space.post<BulkResponse>(`${records}/bulk`, { items: inputs.map((input) => ({ input })) });
  const matches = async (q: string): Promise<unknown[]> =>
    (await space.list<DatasetRecord>(`${records}?q=${encodeURIComponent(q)}`)).map(({ input }) => input);
  const waiting = async (): Promise<number> => {
    const [row] = await app.database.query<{ count: number }>(
      'SELECT count(*)::int AS count FROM records WHERE dataset_id = $1 AND search IS NULL',
      [dataset.dataset_id],
    );
    return row!.count;
  };

  it('finds and counts a record immediately, before and after its words are indexed', async () => {
    await create('the capital of Peru', 'the capital of Chile', 'a river');
    await space.record(dataset.dataset_id, { input: 'the capital of Laos' });
    const page = async () =>
      (await space.viewer.get<Page<DatasetRecord>>(`${records}?q=capital&limit=1`)).body.page.total;
    const cities = ['the capital of Peru', 'the capital of Chile', 'the capital of Laos'];
    expect(await waiting()).toBe(4);
    expect([await matches('capital'), await matches('peru capi'), await page()]).toEqual([
      expect.arrayContaining(cities),
      ['the capital of Peru'],
      3,
    ]);
    await words.fill();
    expect(await waiting()).toBe(0);
    expect([await matches('capital'), await matches('peru capi'), await page()]).toEqual([
      expect.arrayContaining(cities),
      ['the capital of Peru'],
      3,
    ]);
  });

  it.each(['before', 'after'])(
    'finds a record that changed %s its words were indexed only by its new words',
    async (when) => {
      const { dataset_record_id } = await space.record(dataset.dataset_id, { input: 'old question' });
      if (when === 'after') await words.fill();
      await space.editor.patch(`${records}/${dataset_record_id}`, { input: 'new question' });
      expect([await matches('old'), await matches('new')]).toEqual([[], ['new question']]);
      await words.fill();
      expect([await matches('old'), await matches('new')]).toEqual([[], ['new question']]);
    },
  );

  it('finds records that change during indexing only by their newest words', async () => {
    const { body } = await create(...Array.from({ length: 50 }, (_, n) => `old ${n}`));
    const changes = body.items.map(({ record, index }) =>
      space.editor.patch(`${records}/${record!.dataset_record_id}`, { input: `new ${index}` }),
    );
    await Promise.all([...changes, words.fill(), words.fill(), words.fill()]);
    await words.fill();
    expect([await waiting(), await matches('old'), (await matches('new')).length]).toEqual([0, [], 50]);
  });

  it('finds waiting records without reading others, even with stale statistics', async () => {
    await app.database.query('ALTER TABLE records SET (autovacuum_enabled = off)');
    await app.database.query(
      `INSERT INTO records (dataset_record_id, dataset_id, workspace_id, version_id, input, created_revision, created_by)
       SELECT 'rec_stale_' || n, $1, $2, 'ver_stale_' || n, '"stale"', 1, 'test' FROM generate_series(1, 3000) n`,
      [dataset.dataset_id, space.id],
    );
    await app.database.query('ANALYZE records');
    await words.fill();
    const mostRowsRead = async (work: () => Promise<unknown>) =>
      Math.max(...(await workOf(app.database, work)).map(({ rows }) => rows));
    await create('one more');
    expect(await mostRowsRead(() => words.fill())).toBeLessThan(100);
  });

  it('lets writers index their own records while many records wait', async () => {
    await app.database.query(
      `INSERT INTO records (dataset_record_id, dataset_id, workspace_id, version_id, input, created_revision, created_by)
       SELECT 'rec_waiting_' || n, $1, $2, 'ver_waiting_' || n, '"early"', 1, 'test' FROM generate_series(1, 10000) n`,
      [dataset.dataset_id, space.id],
    );
    await until(async () => {
      const before = await waiting();
      await create('late');
      return (await waiting()) === before;
    });
    expect(await matches('late')).toContain('late');
    await words.fill();
    await words.fill();
    expect(await waiting()).toBe(0);
  });
});
