import { type Answer, sharedApp } from '#testing';
import { uploadVersion } from './dataset-versions.fixture';
import {
  type BulkResponse,
  EvaluationWorkspace,
  type Experiment,
  type Result,
  statuses,
} from './evaluation.harness';
import { statementsOf } from './work.harness';

type Fields = Record<string, unknown>;

describe('dataset values in results', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;

  beforeEach(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  const pathOf = ({ experiment_id }: Experiment) => `/eval/v1/experiments/${experiment_id}/results`;
  const create = (experiment: Experiment, fields: Fields) => space.post<Result>(pathOf(experiment), fields);
  const bulk = (experiment: Experiment, items: Fields[]) =>
    space.post<BulkResponse>(`${pathOf(experiment)}/bulk`, { items });
  const read = async ({ experiment_id, result_id }: Result): Promise<Result> =>
    (await space.viewer.get<Result>(`/eval/v1/experiments/${experiment_id}/results/${result_id}`)).body;
  const values = ({ input, expected, tags }: Result) => ({ input, expected, tags });
  const listed = async (experiment: Experiment) =>
    (await space.list<Result>(`${pathOf(experiment)}?sort=created_at`)).map(values);
  const isExpected = async ({ experiment_id }: Experiment): Promise<Fields> => {
    const rows = await app.database.query<{ case_id: string; is_expected: boolean }>(
      'SELECT case_id, is_expected FROM results WHERE experiment_id = $1',
      [experiment_id],
    );
    return Object.fromEntries(rows.map((row) => [row.case_id, row.is_expected]));
  };

  describe('from records', () => {
    it('come from the snapshot, not from a later edit', async () => {
      const { dataset_id } = await space.dataset();
      const content = { input: { z: 1, a: [null] }, expected: 'Paris', tags: ['geo', 'fr'] };
      const record = await space.record(dataset_id, content);
      const experiment = await space.experiment({ dataset_id });
      const path = `/eval/v1/datasets/${dataset_id}/records/${record.dataset_record_id}`;
      await space.editor.patch(path, { input: 'changed', expected: null, tags: [] });
      const { dataset_record_id } = record;
      const made = await create(experiment, { case_id: 'alone', dataset_record_id });
      expect([made.status, JSON.stringify(values(made.body))]).toEqual([201, JSON.stringify(content)]);
      const many = await bulk(experiment, [{ case_id: 'in bulk', dataset_record_id }]);
      expect(statuses(many)).toEqual([201]);
      // A response with all inputs of a dataset would be unbounded.
      expect(many.body.items[0]!.result).toMatchObject({ tags: content.tags, dataset_record_version: 1 });
      expect(Object.keys(many.body.items[0]!.result!)).not.toContain('input');
      expect(await listed(experiment)).toEqual([content, content]);
      expect(values(await read(made.body))).toEqual(content);
      await space.finalize(experiment.experiment_id);
      await space.editor.patch(path, { input: 'changed again' });
      expect(values(await read(made.body))).toEqual(content);
    });

    it('do not replace values that a result has, including null and empty tags', async () => {
      const { dataset_id } = await space.dataset();
      const { dataset_record_id } = await space.record(dataset_id, {
        input: 'i',
        expected: 'e',
        tags: ['t'],
      });
      const experiment = await space.experiment({ dataset_id });
      const items = [
        { case_id: 'nulls', input: null, expected: null, tags: [] },
        { case_id: 'own', input: 'own', expected: 'mine', tags: ['x'] },
        { case_id: 'input', input: 'own' },
        { case_id: 'expected', expected: null },
        { case_id: 'tags', tags: null },
      ].map((item) => ({ ...item, dataset_record_id }));
      const stored = [
        { input: null, expected: null, tags: [] },
        { input: 'own', expected: 'mine', tags: ['x'] },
        { input: 'own', expected: 'e', tags: ['t'] },
        { input: 'i', expected: null, tags: ['t'] },
        { input: 'i', expected: 'e', tags: [] },
      ];
      expect(statuses(await bulk(experiment, items))).toEqual(items.map(() => 201));
      expect(await listed(experiment)).toEqual(stored);
      for (const [index, item] of items.entries()) {
        const { body } = await create(experiment, { ...item, case_id: `alone ${index}` });
        expect(values(body)).toEqual(stored[index]);
      }
    });

    it('belong to an expected case only if the snapshot has its record', async () => {
      const { dataset_id } = await space.dataset();
      const at = (id: string) => `/eval/v1/datasets/${dataset_id}/records/${id}`;
      const [live, archived, later] = [
        await space.record(dataset_id),
        await space.record(dataset_id),
        await space.record(dataset_id),
      ];
      await space.archive(at(archived.dataset_record_id));
      const experiment = await space.experiment({ dataset_id });
      await space.archive(at(later.dataset_record_id));
      const added = await space.record(dataset_id, { input: 'first' });
      await space.editor.patch(at(added.dataset_record_id), { input: 'second' });
      const named = { live, archived, later, added };
      const items = Object.entries(named).map(([case_id, { dataset_record_id }]) => ({
        case_id,
        dataset_record_id,
      }));
      expect(statuses(await bulk(experiment, items))).toEqual([201, 201, 201, 201]);
      expect(await isExpected(experiment)).toEqual({
        live: true,
        archived: false,
        later: true,
        added: false,
      });
      expect((await listed(experiment)).at(-1)).toMatchObject({ input: 'first' });
      const free = await space.experiment();
      await bulk(free, [{ case_id: 'x', dataset_record_id: live.dataset_record_id }]);
      expect(await isExpected(free)).toEqual({ x: false });
    });
  });

  describe('from a CSV version', () => {
    const pinned = async (file: string, options = {}): Promise<Experiment> => {
      const { dataset_id } = await space.dataset();
      await uploadVersion(space, dataset_id, file, options);
      return space.experiment({ dataset_id, dataset_version: 1 });
    };

    it('are the cells of the row', async () => {
      const mapping = { input: ['input'], expected: ['expected'], tags: ['tags'] };
      const file = 'id,input,expected,tags\nc1,"2, 3",5,"a,b"\nc2,x,y,\nc3,"line\nbreak",z,c\n';
      const experiment = await pinned(file, { mapping });
      const cells = [
        { input: { input: '2, 3' }, expected: { expected: '5' }, tags: ['a', 'b'] },
        { input: { input: 'x' }, expected: { expected: 'y' }, tags: [] },
        { input: { input: 'line\nbreak' }, expected: { expected: 'z' }, tags: ['c'] },
      ];
      const made = await create(experiment, { case_id: 'c3' });
      expect([made.status, values(made.body)]).toEqual([201, cells[2]]);
      const many = await bulk(experiment, [{ case_id: 'c2' }, { case_id: 'c1', expected: null }]);
      expect(statuses(many)).toEqual([201, 201]);
      expect(many.body.items.map(({ result }) => result!.tags)).toEqual([[], ['a', 'b']]);
      expect(await listed(experiment)).toEqual([cells[2], cells[1], { ...cells[0], expected: null }]);
      expect(await isExpected(experiment)).toEqual({ c1: true, c2: true, c3: true });
    });

    it('are found anywhere in a file of many chunks, and each chunk is read once', async () => {
      const rows = Array.from({ length: 3_000 }, (_, n) => `r${n},${`${n} `.repeat(120)}`);
      rows[1_500] = `r1500,${'long '.repeat(150_000)}`;
      const experiment = await pinned(`id,input\n${rows.join('\n')}`);
      const rowNumbers = [2_999, 0, 1_500, 1_501, 7, 2_998, 1_499, 1_000, 2_000];
      const [{ count }] = (await app.database.query<{ count: number }>(
        `SELECT count(*) FROM dataset_chunks JOIN dataset_versions USING (content_id) WHERE dataset_id = $1`,
        [experiment.dataset_id],
      )) as [{ count: number }];
      expect(count).toBeGreaterThan(5);
      let answer: Answer<BulkResponse> | undefined;
      const sent = await statementsOf(app.database, async () => {
        answer = await bulk(
          experiment,
          rowNumbers.map((n) => ({ case_id: `r${n}` })),
        );
      });
      const reads = sent.filter(({ text }) => text.includes('FROM dataset_chunks'));
      expect(reads.length).toBeLessThanOrEqual(count);
      expect(statuses(answer!)).toEqual(rowNumbers.map(() => 201));
      const inputs = (await listed(experiment)).map(({ input }) => input);
      expect(inputs).toEqual(rowNumbers.map((n) => rows[n]!.slice(rows[n]!.indexOf(',') + 1)));
    });
  });
});
