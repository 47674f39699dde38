import type { Tx } from '#platform/db';
import { ownApp } from '#testing';
import { EvaluationWorkspace, type Page } from './evaluation.harness';
import {
  nodesOf,
  type Plan,
  planOf,
  plansOf as plansOfAnswer,
  scansOf,
  smallTables,
  vacuum,
} from './plans.harness';
import { watchStatements } from './work.harness';

const EXPERIMENTS = '/eval/v1/experiments';

describe('queries on filled tables', () => {
  const app = ownApp({ autovacuum: false });
  let space: EvaluationWorkspace;
  let datasetId: string;
  let records: string;
  let results: string;
  let resultsOfSmall: string;
  let versions: string;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
    datasetId = (await space.dataset()).dataset_id;
    records = `/eval/v1/datasets/${datasetId}/records`;
    versions = `/eval/v1/datasets/${datasetId}/versions`;
    const experimentId = (await space.experiment()).experiment_id;
    results = `${EXPERIMENTS}/${experimentId}/results`;
    const smallId = (await space.experiment()).experiment_id;
    resultsOfSmall = `${EXPERIMENTS}/${smallId}/results`;
    // One of forty rows belongs to the requested workspace or dataset. The results of an experiment arrive together.
    await app.database.transaction(async (tx) => {
      const fill = (statement: string) => tx.query(statement, [datasetId, space.id, experimentId]);
      // VACUUM can mark only rows on disk as visible to all. Otherwise counting would have to read the rows.
      await tx.query('SET LOCAL synchronous_commit TO on');
      await fill(`
        INSERT INTO datasets (dataset_id, workspace_id, name, description, tags, created_by, updated_at)
        SELECT 'ds_' || n, CASE n % 40 WHEN 0 THEN $2 ELSE 'wsp_' || n % 40 END, 'dataset ' || n, 'about ' || n % 500,
               ARRAY['t' || n % 500], 'test', now() - n * interval '1 s'
        FROM generate_series(1, 20000) n WHERE $1::text IS NOT NULL AND $3::text IS NOT NULL`);
      await fill(`
        INSERT INTO records (dataset_record_id, dataset_id, workspace_id, version_id, input, tags, label, category, source_kind,
                             source_ref, external_id, created_revision, created_by, updated_at, search)
        SELECT 'rec_' || lpad(n::text, 26, '0'), CASE n % 40 WHEN 0 THEN $1 ELSE 'ds_' || n % 40 END, $2, 'ver_' || n,
               to_json('question ' || n % 500), ARRAY['t' || n % 500], 'l' || n % 3000, 'c' || n % 3000,
               (ARRAY['manual', 'session', 'trace', 'external'])[n % 4 + 1], 'r' || n % 3000, 'e' || n, 1, 'test',
               now() - n * interval '1 s', record_words('{}', NULL, to_json('question ' || n % 500))
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
        INSERT INTO results (experiment_id, result_id, workspace_id, case_id, dataset_record_id, session_id, trace_id, tags,
                             output, error, duration_ms, created_at, updated_at, created_by)
        SELECT CASE WHEN n < 4000 THEN $3 WHEN n / 100 = 199 THEN '${smallId}' ELSE 'exp_z' || n / 4000 END,
               'res_' || lpad(n::text, 26, '0'), $2, 'case ' || n, 'rec_' || n % 3000, 's' || n % 3000, lpad((n % 3000)::text, 32, '0'), ARRAY['t' || n % 40],
               to_json(repeat('answer ', 120)),
               CASE n % 20 WHEN 0 THEN '"failed"'::json END, CASE n % 4 WHEN 0 THEN NULL ELSE n % 500 END,
               now(), now(), 'test'
        FROM generate_series(1, 20000) n WHERE $1::text IS NOT NULL`);
      await fill(`
        INSERT INTO scores (score_id, workspace_id, scorer_name, source, target_kind, experiment_id, result_id, result_version,
                            case_id, score, is_current, created_at, created_by)
        SELECT 'score_s' || substr(result_id, 5), workspace_id, 's', 'client', 'result', experiment_id, result_id, version,
               case_id, substring(case_id FROM '\\d+$')::int % 100, true, now(), 'test' FROM results
        WHERE $1::text IS NOT NULL AND $2::text IS NOT NULL AND $3::text IS NOT NULL`);
      await fillScores(tx, space.id, experimentId);
    });
    await app.database.query(
      `INSERT INTO dataset_versions (dataset_id, version, version_id, workspace_id, content_id, row_count, columns,
                                     size_bytes, sha256, case_id_column, mapping, options_sha256, created_at, created_by)
       SELECT CASE n % 40 WHEN 0 THEN $1 ELSE 'ds_' || n % 40 END, n, 'ver_' || lpad(n::text, 26, '0'), $2, n, 20000,
              '{id}', 1, 's' || n, 'id', '{"input": [], "expected": [], "metadata": [], "tags": []}', 'o', now(), 'test'
       FROM generate_series(1, 20000) n`,
      [datasetId, space.id],
    );
    await vacuum(app, [
      ...['datasets', 'records', 'experiments', 'results', 'scores'],
      ...['dataset_versions'],
    ]);
  });

  const plansOf = (path: string): Promise<Plan[]> =>
    plansOfAnswer(app, path, () => space.viewer.get<Page<unknown>>(path));

  it.each([
    ['the first page', ''],
    ['a deep page', 'offset=3500&limit=100'],
    ['the oldest results', 'sort=created_at&limit=500'],
  ])('read %s of a list of results in key order without sorting', async (_, query) => {
    const plans = await plansOf(`${results}?${query}`);
    expect(plans.flatMap(nodesOf).map((node) => node['Node Type'])).not.toContain('Sort');
    expect(new Set(scansOf(plans).flatMap((node) => node['Index Name'] ?? []))).toEqual(
      new Set(['results_pkey', 'scores_current_of_result']),
    );
    expect(plans.flatMap(nodesOf).map((node) => node['Node Type'])).not.toContain('Seq Scan');
  });

  it('start a list of results at its cursor', async () => {
    const deep = await space.viewer.get<Page<unknown>>(`${results}?offset=3500&limit=1`);
    const [first, second] = await plansOf(`${results}?limit=100&cursor=${deep.body.page.next_cursor}`);
    const rows = [first!, second!].find((plan) => JSON.stringify(plan).includes('result_id <'))!;
    expect(nodesOf(rows).map((node) => node['Node Type'])).not.toContain('Sort');
    expect(JSON.stringify(rows)).toMatch(/"Index Cond":"[^"]*result_id < /);
  });

  it('count lists with index-only scans', async () => {
    // The total of all records is stored in their dataset.
    for (const path of [results, `${records}?include_archived=true`, EXPERIMENTS, '/eval/v1/datasets']) {
      const [counted] = (await plansOf(path)).filter((plan) => plan['Node Type'] === 'Aggregate');
      expect([path, ...scansOf([counted!]).map((node) => node['Node Type'])]).toEqual([
        path,
        'Index Only Scan',
      ]);
    }
  });

  /** Returns the plans of all statements on results and scores of a request. */
  async function plansOfAll(path: string): Promise<Plan[]> {
    const statements: [string, readonly unknown[]][] = [];
    const note = (_: unknown, text: string, values: readonly unknown[]): Promise<void> => {
      statements.push([text, values]);
      return Promise.resolve();
    };
    await watchStatements(app.database, note, async () => {
      expect([path, (await space.viewer.get(path)).status]).toEqual([path, 200]);
    });
    const reads = statements.filter(([text]) => /FROM \(*(results|target_outcomes|scores|unnest)/.test(text));
    return Promise.all(reads.map(([text, values]) => planOf(app.database, text, values)));
  }

  it('scan no whole table for a comparison and an agreement', async () => {
    const filled = async (fields = {}): Promise<string> => {
      const { experiment_id } = await space.experiment(fields);
      await space.results(experiment_id, [{ case_id: 'case 1', trace_id: '1'.repeat(32), scores: { s: 0 } }]);
      return experiment_id;
    };
    const baseline = await filled();
    await space.finalize(baseline);
    const id = await filled({ baseline_experiment_id: baseline });
    const scorer = async (name: string) => {
      const definition = { checks: [{ type: 'equals' }] };
      const made = await space.post<{ scorer_id: string }>('/eval/v1/scorers', { name, scorer_kind: 'code', definition });
      return made.body.scorer_id;
    };
    const agreement = `/eval/v1/scorers/${await scorer('a')}/agreement?reference_scorer_id=${await scorer('b')}`;
    for (const path of [`${EXPERIMENTS}/${id}/compare`, agreement, `${agreement}&experiment_id=${id}`]) {
      const plans = await plansOfAll(path);
      expect(plans.length).toBeGreaterThan(3);
      const whole = scansOf(plans).filter((node) => node['Node Type'] === 'Seq Scan');
      const small = await smallTables(app);
      expect(whole.filter((node) => !small.has(node['Relation Name'] ?? ''))).toEqual([]);
    }
  }); // oxfmt-ignore

  const filters: [string, string][] = [
    ...['case_id=case 40', 'dataset_record_id=rec_40', 'session_id=s40', 'sort=-updated_at'].map(
      of('results'),
    ),
    ...[`trace_id=${'40'.padStart(32, '0')}`, 'has_error=true', 'sort=score:s', 'sort=-duration_ms'].map(
      of('results'),
    ),
    // An experiment that is a large part of a table is scanned as a whole if no index serves the filter.
    ...['has_error=false', 'tag=t7', 'score=s:gte:90', 'sort=-score:s&score=s:lte:50&tag=t10'].map(
      of('resultsOfSmall'),
    ),
    ...['', 'label=l40', 'category=c40', 'source_kind=manual', 'source_ref=r40', 'external_id=e40'].map(
      of('records'),
    ),
    ...['q=40', 'sort=created_at', 'sort=-updated_at', 'tag=t40', 'label=l40&source_kind=manual'].map(
      of('records'),
    ),
    ...['', 'dataset_id', 'subject_kind=agent', 'subject_id=s40', 'experiment_status=failed'].map(
      of('experiments'),
    ),
    ...['baseline_experiment_id', 'config=k:40', 'config=all:1', 'name=evaluation 40', 'tag=t40', 'q=40'].map(
      of('experiments'),
    ),
    ...['sort=created_at', 'sort=updated_at', 'sort=-name', 'sort=name&offset=400'].map(of('experiments')),
    ...['', 'q=40', 'tag=t40', 'name=dataset 40', 'sort=name', 'sort=-updated_at'].map(of('datasets')),
    ...['', 'scorer_id=scr_40', `trace_id=${'40'.padStart(32, '0')}`, 'session_id=s40'].map(of('scores')),
    ...['result_id=res_40', 'experiment_id', 'created_by=usr_40', 'sort=created_at'].map(of('scores')),
    ...['include_superseded=true', 'scorer_id=scr_40&include_superseded=true'].map(of('scores')),
    ...['author=author 40', 'score_run_id=run_40', 'scorer_name=scorer 40', 'source=human'].map(of('scores')),
    ...['scorer_name=scorer 40&sort=score', 'scorer_id=scr_40&sort=-score&min_score=7'].map(of('scores')),
    ...['label=x&min_score=3', 'scorer_kind=human', 'sort=-score'].map(of('scores')),
    ...['', 'sort=created_at', 'offset=400'].map(of('versions')),
  ];
  it.each(filters)('scan no whole table for the list of %s?%s', async (list, query) => {
    const scores = '/eval/v1/scores';
    const datasets = '/eval/v1/datasets';
    const base = { results, resultsOfSmall, records, scores, experiments: EXPERIMENTS, datasets, versions }[
      list
    ]!;
    const experimentId = results.split('/')[4]!;
    const value = {
      ...{ dataset_id: datasetId, baseline_experiment_id: experimentId, experiment_id: experimentId },
    }[query];
    const scans = scansOf(await plansOf(`${base}?${query}${value === undefined ? '' : `=${value}`}`));
    expect(scans.length).toBeGreaterThan(0);
    for (const scan of scans) expect(scan['Node Type']).not.toBe('Seq Scan');
  });
});

/** Inserts human scores: one in forty is in the workspace, and one in five of these is of the experiment. */
async function fillScores(tx: Tx, workspaceId: string, experimentId: string): Promise<void> {
  await tx.query(`
    INSERT INTO scorers (scorer_id, workspace_id, version_id, name, scorer_kind, grain, definition, created_by)
    SELECT 'scr_' || n, 'wsp_x', 'ver_' || n, 'scorer ' || n, 'human', 'trace', '{}', 'test'
    FROM generate_series(0, 119) n`);
  await tx.query(`
    INSERT INTO scorer_versions (scorer_id, scorer_version, version_id, workspace_id, scorer_kind, grain,
                                 definition, created_at, created_by)
    SELECT scorer_id, 1, version_id, workspace_id, 'human', 'trace', '{}', now(), 'test' FROM scorers`);
  await tx.query(
    `INSERT INTO scores (score_id, workspace_id, scorer_id, scorer_version, scorer_kind, scorer_name, source, target_kind,
                         trace_id, session_id, experiment_id, result_id, result_version, score, label, output_sha256, author,
                         score_run_id, created_at, created_by)
     SELECT 'score_' || lpad(n::text, 26, '0'), CASE n % 40 WHEN 0 THEN $1 ELSE 'wsp_' || n % 40 END,
            'scr_' || n % 120, 1, 'human', 'scorer ' || n % 120, 'human', 'result', lpad((n % 3000)::text, 32, '0'),
            's' || n % 3000, CASE n % 200 WHEN 0 THEN $2 ELSE 'exp_' || n END, 'res_' || n % 3000, 1, n, 'x', '',
            'author ' || n % 3000, 'run_' || n % 3000, now(), 'usr_' || n % 2999
     FROM generate_series(1, 40000) n`,
    [workspaceId, experimentId],
  );
}

function of(list: string): (query: string) => [string, string] {
  return (query) => [list, query];
}
