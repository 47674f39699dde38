import { createTestApp, type TestApp } from '#testing';
import { CHUNK_OF_ROW, GET_CHUNK } from '../../../src/evaluation/dataset-versions/dataset-version.repository';
import { CSV_CASES } from '../../../src/evaluation/results/case.repository';
import { EvaluationWorkspace, type Page } from './evaluation.harness';
import {
  nodesOf,
  type Plan,
  planOf as planOfStatement,
  plansOf as plansOfAnswer,
  scansOf,
  vacuumed,
} from './plans.harness';

const EXPERIMENTS = '/eval/v1/experiments';

/** What a user would lose without an index: a list that is quick today and slow when the tables have grown. */
describe('on filled tables', () => {
  let app: TestApp;
  let space: EvaluationWorkspace;
  let datasetId: string;
  let records: string;
  let results: string;
  let versions: string;

  beforeAll(async () => {
    app = await createTestApp();
    space = await EvaluationWorkspace.open(app);
    datasetId = (await space.dataset()).dataset_id;
    records = `/eval/v1/datasets/${datasetId}/records`;
    versions = `/eval/v1/datasets/${datasetId}/versions`;
    const experimentId = (await space.experiment()).experiment_id;
    results = `${EXPERIMENTS}/${experimentId}/results`;
    // Of forty rows one is of the workspace or dataset that is asked for; results of one experiment arrive together.
    await app.database.transaction(async (tx) => {
      const fill = (statement: string) => tx.query(statement, [datasetId, space.id, experimentId]);
      // what is not on disk yet, VACUUM cannot mark as visible to all, and counting would have to look at the rows
      await tx.query('SET LOCAL synchronous_commit TO on');
      await fill(`
        INSERT INTO datasets (dataset_id, workspace_id, name, description, tags, created_by, updated_at)
        SELECT 'ds_' || n, CASE n % 40 WHEN 0 THEN $2 ELSE 'wsp_' || n % 40 END, 'dataset ' || n, 'about ' || n % 500,
               ARRAY['t' || n % 500], 'test', now() - n * interval '1 s'
        FROM generate_series(1, 20000) n WHERE $1::text IS NOT NULL AND $3::text IS NOT NULL`);
      await fill(`
        INSERT INTO records (dataset_record_id, dataset_id, workspace_id, version_id, input, label, category, source_kind,
                             source_ref, external_id, created_revision, created_by, updated_at)
        SELECT 'rec_' || lpad(n::text, 26, '0'), CASE n % 40 WHEN 0 THEN $1 ELSE 'ds_' || n % 40 END, $2, 'ver_' || n,
               to_json('question ' || n % 500), 'l' || n % 3000, 'c' || n % 3000,
               (ARRAY['manual', 'session', 'trace', 'external'])[n % 4 + 1], 'r' || n % 3000, 'e' || n, 1, 'test',
               now() - n * interval '1 s'
        FROM generate_series(1, 20000) n WHERE $3::text IS NOT NULL`);
      await fill(`
        INSERT INTO experiments (experiment_id, workspace_id, name, experiment_name, config_pairs, tags, subject_kind,
                                 subject_id, experiment_status, dataset_id, created_by, updated_at)
        SELECT 'exp_' || lpad(n::text, 26, '0'), CASE n % 40 WHEN 0 THEN $2 ELSE 'wsp_' || n % 40 END,
               'evaluation ' || n % 3000, 'run ' || n % 500, ARRAY['k:' || n % 500, 'all:1'], ARRAY['t' || n % 500],
               (ARRAY['agent', 'harness', 'skill'])[n % 3 + 1], 's' || n % 3000,
               (ARRAY['running', 'completed', 'failed'])[n % 3 + 1], CASE n % 200 WHEN 0 THEN $1 ELSE 'ds_' || n END,
               'test', now() - n * interval '1 s'
        FROM generate_series(1, 20000) n WHERE $3::text IS NOT NULL`);
      await tx.query(
        `UPDATE experiments SET baseline_experiment_id = $1 WHERE name LIKE 'evaluation %00' AND experiment_id <> $1`,
        [experimentId],
      );
      await fill(`
        INSERT INTO results (experiment_id, result_id, workspace_id, case_id, dataset_record_id, session_id, scores,
                             output, created_at, updated_at, created_by)
        SELECT CASE n / 4000 WHEN 0 THEN $3 ELSE 'exp_z' || n / 4000 END, 'res_' || lpad(n::text, 26, '0'), $2, 'case ' || n,
               'rec_' || n % 3000, 's' || n % 3000, '{"s": 1}', to_json(repeat('answer ', 120)),
               now(), now(), 'test'
        FROM generate_series(1, 20000) n WHERE $1::text IS NOT NULL`);
    });
    await app.database.query(
      `INSERT INTO dataset_versions (dataset_id, version, version_id, workspace_id, content_id, row_count, columns,
                                     size_bytes, sha256, case_id_column, mapping, options_sha256, created_at, created_by)
       SELECT CASE n % 40 WHEN 0 THEN $1 ELSE 'ds_' || n % 40 END, n, 'ver_' || lpad(n::text, 26, '0'), $2, n, 20000,
              '{id}', 1, 's' || n, 'id', '{"input": [], "expected": [], "metadata": [], "tags": []}', 'o', now(), 'test'
       FROM generate_series(1, 20000) n`,
      [datasetId, space.id],
    );
    await app.database.query(
      `INSERT INTO dataset_cases (content_id, case_id, row_number)
       SELECT 40 + n % 4, 'case ' || n, n FROM generate_series(1, 80000) n`,
    );
    await app.database.query(
      `INSERT INTO dataset_chunks (content_id, ordinal, rows_before, data)
       SELECT n / 100, n % 100, n % 100 * 200, convert_to(repeat('x', 100), 'UTF8') FROM generate_series(1, 20000) n`,
    );
    await vacuumed(app, ['datasets', 'records', 'experiments', 'results']);
    await vacuumed(app, ['dataset_versions', 'dataset_cases', 'dataset_chunks']);
  });
  afterAll(() => app.close());

  const plansOf = (path: string): Promise<Plan[]> =>
    plansOfAnswer(app, path, () => space.viewer.get<Page<unknown>>(path));
  const planOf = (text: string, values?: readonly unknown[]): Promise<Plan> =>
    planOfStatement(app, text, values);

  it.each([
    ['the first page', ''],
    ['a deep page', 'offset=3500&limit=100'],
    ['the oldest', 'sort=created_at&limit=500'],
  ])('the results of an experiment: %s comes in the order of its key, unsorted', async (_, query) => {
    const plans = await plansOf(`${results}?${query}`);
    expect(plans.flatMap(nodesOf).map((node) => node['Node Type'])).not.toContain('Sort');
    expect(new Set(scansOf(plans).flatMap((node) => node['Index Name'] ?? []))).toEqual(
      new Set(['results_pkey']),
    );
    expect(plans.flatMap(nodesOf).map((node) => node['Node Type'])).not.toContain('Seq Scan');
  });

  it('the results of an experiment: the page after a cursor begins there', async () => {
    const deep = await space.viewer.get<Page<unknown>>(`${results}?offset=3500&limit=1`);
    const [first, second] = await plansOf(`${results}?limit=100&cursor=${deep.body.page.next_cursor}`);
    const rows = [first!, second!].find((plan) => JSON.stringify(plan).includes('result_id <'))!;
    expect(nodesOf(rows).map((node) => node['Node Type'])).not.toContain('Sort');
    expect(JSON.stringify(rows)).toMatch(/"Index Cond":"[^"]*result_id < /);
  });

  it('all of a list is counted from an index, without a look at its rows', async () => {
    for (const path of [results, records, EXPERIMENTS, '/eval/v1/datasets']) {
      const [counted] = (await plansOf(path)).filter((plan) => plan['Node Type'] === 'Aggregate');
      expect([path, ...scansOf([counted!]).map((node) => node['Node Type'])]).toEqual([
        path,
        'Index Only Scan',
      ]);
    }
  });

  const filters: [string, string][] = [
    ...['case_id=case 40', 'dataset_record_id=rec_40', 'session_id=s40', 'sort=-updated_at'].map(
      of('results'),
    ),
    ...['', 'label=l40', 'category=c40', 'source_kind=manual', 'source_ref=r40', 'external_id=e40'].map(
      of('records'),
    ),
    ...['q=40', 'sort=created_at', 'sort=-updated_at', 'label=l40&source_kind=manual'].map(of('records')),
    ...['', 'dataset_id', 'subject_kind=agent', 'subject_id=s40', 'experiment_status=failed'].map(
      of('experiments'),
    ),
    ...['baseline_experiment_id', 'config=k:40', 'config=all:1', 'name=evaluation 40', 'tag=t40', 'q=40'].map(
      of('experiments'),
    ),
    ...['sort=created_at', 'sort=updated_at', 'sort=-name', 'sort=name&offset=400'].map(of('experiments')),
    ...['', 'q=40', 'tag=t40', 'name=dataset 40', 'sort=name', 'sort=-updated_at'].map(of('datasets')),
    ...['', 'sort=created_at', 'offset=400'].map(of('versions')),
  ];
  it.each(filters)('the list of %s?%s reads no table from end to end', async (list, query) => {
    const base = { results, records, experiments: EXPERIMENTS, datasets: '/eval/v1/datasets', versions }[
      list
    ]!;

    const given = { dataset_id: datasetId, baseline_experiment_id: results.split('/')[4]! }[query];
    const scans = scansOf(await plansOf(`${base}?${query}${given === undefined ? '' : `=${given}`}`));
    expect(scans.length).toBeGreaterThan(0);
    for (const scan of scans) expect(scan['Node Type']).not.toBe('Seq Scan');
  });

  it('the cases of a pinned CSV version are looked up one by one, however many it has', async () => {
    const ids = Array.from({ length: 100 }, (_, n) => `case ${n * 40}`);
    const scans = scansOf([await planOf(CSV_CASES.text, [space.id, datasetId, 40, ids])]);
    expect(new Set(scans.map((node) => node['Index Name']))).toEqual(
      new Set(['dataset_versions_pkey', 'dataset_cases_pkey']),
    );
    for (const scan of scans) expect(scan['Node Type']).toMatch(/Index/);
  });

  it.each([
    ['in turn', GET_CHUNK.text],
    ['by a row', CHUNK_OF_ROW.text],
  ])('the chunks of a CSV version are found %s, among those of all others', async (_, text) => {
    const scans = scansOf([await planOf(text, [space.id, 40, 7])]);
    expect(new Set(scans.map((node) => node['Index Name']))).toEqual(
      new Set(['dataset_versions_content', 'dataset_chunks_pkey']),
    );
  });
});

function of(list: string): (query: string) => [string, string] {
  return (query) => [list, query];
}
