import { createHash } from 'node:crypto';
import { sharedApp } from '#testing';
import { uploadVersion } from './dataset-versions.fixture';
import {
  type BulkResponse,
  EvaluationWorkspace,
  type Experiment,
  outcome,
  type Page,
  places,
  type Result,
  statuses,
} from './evaluation.harness';

const FILE = 'id,q,a\nc1,1+1,2\nc2,2+2,4\n"c,3",3+3,6\n';

describe('an experiment that pins a CSV version', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;
  let datasetId: string;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
    datasetId = (await space.dataset()).dataset_id;
    await uploadVersion(space, datasetId, FILE);
  });

  const pinned = (dataset_version = 1, dataset_id = datasetId): Promise<Experiment> =>
    space.experiment({ dataset_id, dataset_version });
  const resultsOf = ({ experiment_id }: Experiment): string =>
    `/eval/v1/experiments/${experiment_id}/results`;
  const add = (experiment: Experiment, fields: Record<string, unknown>) =>
    space.post<Result>(resultsOf(experiment), fields);
  const addAll = (experiment: Experiment, items: unknown[]) =>
    space.post<BulkResponse>(`${resultsOf(experiment)}/bulk`, { items });

  it('accepts only case_ids of that version', async () => {
    const experiment = await pinned();
    for (const case_id of ['c1', 'c,3']) {
      expect((await add(experiment, { case_id })).status).toBe(201);
    }
    for (const case_id of ['c4', 'C2', ' c2', '2', 'id', '"c,3"']) {
      const answer = await add(experiment, { case_id });
      expect([case_id, ...outcome(answer), ...places(answer)]).toEqual([
        case_id,
        400,
        'invalid_request',
        '/case_id',
      ]);
    }
    const { page } = (await space.viewer.get<Page<Result>>(resultsOf(experiment))).body;
    expect(page.total).toBe(2);
  });

  it('rejects unknown cases of a bulk create item by item', async () => {
    const experiment = await pinned();
    const answer = await addAll(experiment, [
      { case_id: 'c1' },
      { case_id: 'nope' },
      { case_id: 'c1' },
      { case_id: 'c2', scores: { s: 1 } },
      {},
    ]);
    expect(statuses(answer)).toEqual([201, 400, 409, 201, 400]);
    expect(answer.body.items[1]!.error).toMatchObject({
      code: 'invalid_request',
      detail: expect.stringMatching(/^\/items\/1\/case_id: must be a case of the CSV version/),
      errors: [{ pointer: '/items/1/case_id' }],
    });
    expect(await space.results(experiment.experiment_id, [{ case_id: 'c1' }, { case_id: 'c,3' }])).toEqual([
      409, 201,
    ]);
  });

  it('has only the cases of its own version', async () => {
    const { dataset_id } = await space.dataset();
    await uploadVersion(space, dataset_id, 'id\nold\nboth\n');
    await uploadVersion(space, dataset_id, 'id\nnew\nboth\n');
    await uploadVersion(space, dataset_id, 'id,other\n1,new\n2,c1\n', { case_id_column: 'other' });
    const ids = ['old', 'new', 'both', 'c1', '1'].map((case_id) => ({ case_id }));
    const statusesOf = async (version: number) =>
      space.results((await pinned(version, dataset_id)).experiment_id, ids);
    expect(await statusesOf(1)).toEqual([201, 400, 201, 400, 400]);
    expect(await statusesOf(2)).toEqual([400, 201, 201, 400, 400]);
    expect(await statusesOf(3)).toEqual([400, 201, 400, 201, 400]);
  });

  it('has no cases of another workspace, even of the same file', async () => {
    const { dataset_id } = await space.dataset();
    await uploadVersion(space, dataset_id, 'id\nown\n');
    await app.database.query(
      `INSERT INTO dataset_cases (content_id, workspace_id, case_id, row_number)
       SELECT content_id, 'wsp_other', 'foreign', 2 FROM dataset_versions WHERE dataset_id = $1`,
      [dataset_id],
    );
    const { experiment_id } = await pinned(1, dataset_id);
    expect(await space.results(experiment_id, [{ case_id: 'own' }, { case_id: 'foreign' }])).toEqual([
      201, 400,
    ]);
  });

  it('identifies cases by row number without a case_id column', async () => {
    const { dataset_id } = await space.dataset();
    await uploadVersion(space, dataset_id, 'q\nx\ny\nx\n');
    const { experiment_id } = await pinned(1, dataset_id);
    const ids = ['1', '3', '0', '4', '01', '+2', '2.0', ' 2', '9'.repeat(30), 'q', 'x', '１'];
    expect(
      await space.results(
        experiment_id,
        ids.map((case_id) => ({ case_id })),
      ),
    ).toEqual([201, 201, ...ids.slice(2).map(() => 400)]);
  });

  it('copies recognized columns to the input and expected value of results', async () => {
    const { dataset_id } = await space.dataset();
    await uploadVersion(space, dataset_id, 'id,input,expected,tags,source\nc1,1+1,2,"a, b",faq\n');
    const { body } = await add(await pinned(1, dataset_id), { case_id: 'c1', output: '2' });
    expect(body).toMatchObject({ input: '1+1', expected: '2', tags: ['a', 'b'] });
    const filter = { dataset_id, dataset_version: 1, dataset_filter: { tags: ['b'] } };
    const { experiment_id } = await space.experiment(filter);
    expect(await space.results(experiment_id, [{ case_id: 'c1' }])).toEqual([201]);
  });

  it('rejects a dataset_record_id', async () => {
    const record = await space.record(datasetId);
    const experiment = await pinned();
    expect((await add(experiment, { case_id: 'c1', dataset_record_id: null })).status).toBe(201);
    for (const dataset_record_id of [record.dataset_record_id, 'rec_x']) {
      const answer = await add(experiment, { case_id: 'c2', dataset_record_id });
      expect([answer.status, places(answer)]).toEqual([400, ['/dataset_record_id']]);
    }
    const live = await space.experiment({ dataset_id: datasetId });
    expect(places(await add(live, { case_id: 'c1' }))).toEqual(['/dataset_record_id']);
    expect((await add(live, { case_id: 'x', dataset_record_id: record.dataset_record_id })).status).toBe(201);
  });

  it('rejects trials, so that no case counts twice', async () => {
    const experiment = await pinned();
    for (const [member, value] of [
      ['trial_group', 'any'],
      ['trial_index', 0],
    ] as const) {
      const answer = await add(experiment, { case_id: 'c1', [member]: value });
      expect([answer.status, places(answer)]).toEqual([400, [`/${member}`]]);
    }
    const none = { case_id: 'c1', trial_group: null, trial_index: null };
    expect((await add(experiment, none)).status).toBe(201);
  });

  it('requires an existing version and a live dataset', async () => {
    const create = (fields: Record<string, unknown>) =>
      space.post<Experiment>('/eval/v1/experiments', { name: 'e', dataset_id: datasetId, ...fields });
    const unknown = await create({ dataset_version: 2 });
    expect([...outcome(unknown), places(unknown)]).toEqual([404, 'not_found', ['/dataset_version']]);
    const { dataset_id } = await space.dataset();
    await uploadVersion(space, dataset_id, FILE);
    await space.archive(`/eval/v1/datasets/${dataset_id}`);
    expect(outcome(await create({ dataset_id, dataset_version: 1 }))).toEqual([409, 'conflict']);
  });

  it('is resumed only with the same version', async () => {
    const { dataset_id } = await space.dataset();
    await uploadVersion(space, dataset_id, FILE);
    await uploadVersion(space, dataset_id, 'id\nc9\n');
    await space.record(dataset_id);
    const make = (dataset_version: number | null) =>
      space.post<Experiment>('/eval/v1/experiments', {
        name: 'again',
        dataset_id,
        dataset_version,
        resume: true,
      });
    const first = await make(1);
    const others = await Promise.all([make(2), make(null)]);
    expect([first, ...others].map(({ status }) => status)).toEqual([201, 201, 201]);
    const again = await make(1);
    expect([again.status, again.body.experiment_id]).toEqual([200, first.body.experiment_id]);
  });

  it('can use a dataset with too many records for a snapshot', async () => {
    const { dataset_id } = await space.dataset();
    await uploadVersion(space, dataset_id, FILE);
    await app.database.query(
      `INSERT INTO records (dataset_record_id, dataset_id, workspace_id, version_id, input, created_revision, created_by)
       SELECT 'rec_many_' || n, $1, $2, 'ver_many_' || n, '1', 1, 'test' FROM generate_series(1, 10001) n`,
      [dataset_id, space.id],
    );
    await app.database.query('UPDATE datasets SET record_count = 10001 WHERE dataset_id = $1', [dataset_id]);
    const unpinned = await space.post('/eval/v1/experiments', { name: 'e', dataset_id });
    expect([unpinned.status, places(unpinned)]).toEqual([400, ['/dataset_id']]);
    const experiment = await pinned(1, dataset_id);
    const { dataset_snapshot } = await space.finalize(experiment.experiment_id);
    expect(dataset_snapshot).toMatchObject({ source: 'csv', record_count: 3, records: [] });
  });

  it('has a snapshot with the digest of the file', async () => {
    const experiment = await pinned();
    await space.results(experiment.experiment_id, [
      { case_id: 'c1', scores: { s: 1 } },
      { case_id: 'c2', scores: { s: 0 } },
    ]);
    const snapshot = {
      dataset_id: datasetId,
      source: 'csv',
      dataset_version: 1,
      record_count: 3,
      sha256: createHash('sha256').update(FILE).digest('hex'),
    };
    const { dataset_snapshot, summary } = await space.finalize(experiment.experiment_id);
    expect(dataset_snapshot).toEqual({ ...snapshot, records: [] });
    expect(summary).toMatchObject({ scores: { s: { mean: 0.5, count: 2 } } });
    const [listed] = await space.list<Experiment>(`/eval/v1/experiments?dataset_id=${datasetId}&limit=1`);
    expect(listed!.dataset_snapshot).toEqual(snapshot);
    expect((await add(experiment, { case_id: 'nope' })).status).toBe(409);
  });
});
