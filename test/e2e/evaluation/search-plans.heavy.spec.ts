import { firstIdAt } from '#platform/ids';
import { ownApp } from '#testing';
import { EvaluationWorkspace, type Page } from './evaluation.harness';
import { nodesOf, type Plan, plansOf as plansOfAnswer, scansOf, vacuum } from './plans.harness';

const DATASETS = '/eval/v1/datasets';
const EXPERIMENTS = '/eval/v1/experiments';

/** Number of rows in each table. Half of them are in the searched workspace, and the newest was created now. */
const ROWS = 20_000;
/** Time between one row and the next. All rows were created in the last two years. */
const STEP_MS = 3_000_000;

type Body = Record<string, unknown>;

describe('a search in a large workspace', () => {
  const app = ownApp({ autovacuum: false });
  let space: EvaluationWorkspace;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
    const times = Array.from({ length: ROWS }, (_, n) => Date.now() - (ROWS - n) * STEP_MS);
    const fill = (statement: string, prefix: 'ds' | 'exp') =>
      app.database.transaction(async (tx) => {
        await tx.query('SET LOCAL synchronous_commit TO on'); // for VACUUM, see query-plans.spec.ts
        await tx.query(statement, [space.id, times.map((time) => firstIdAt(prefix, time)), times]);
      });
    const ids = `unnest($2::text[], $3::float8[]) WITH ORDINALITY AS ids (id, time, n)`;
    const common = `CASE n % 2 WHEN 0 THEN $1 ELSE 'wsp_' || n % 20 END, 'name ' || n % 5000,
      json_build_object('team', 'team ' || n % 1000, 'stage', 'final', 'owner', json_build_object('id', n % 3000)),
      ARRAY['t' || n % 500, 'all'], 'test', to_timestamp(time / 1000), to_timestamp(time / 1000)`;
    await fill(
      `INSERT INTO datasets (workspace_id, name, metadata, tags, created_by, created_at, updated_at, dataset_id, description)
       SELECT ${common.replace("'name ' || n % 5000", "'name ' || n")}, id, 'about ' || n % 500 FROM ${ids}`,
      'ds',
    );
    await fill(
      `INSERT INTO experiments (workspace_id, name, metadata, tags, created_by, created_at, updated_at, experiment_id,
                                experiment_name, config_pairs, subject_kind, subject_id, experiment_status)
       SELECT ${common}, id, 'run ' || n % 500, ARRAY['k:' || n % 500, 'all:1'],
              (ARRAY['agent', 'harness', 'skill'])[n % 3 + 1], 's' || n % 3000,
              (ARRAY['running', 'completed', 'failed'])[n % 3 + 1]
       FROM ${ids}`,
      'exp',
    );
    await app.database.query(
      `INSERT INTO experiment_scores (workspace_id, experiment_id, scorer, mean)
       SELECT workspace_id, experiment_id, scorer, (hashtext(experiment_id || scorer) & 65535) / 65536.0
       FROM experiments CROSS JOIN unnest(ARRAY['exact', 'tone', 'cost']) AS scorer WHERE experiment_status <> 'running'`,
    );
    await vacuum(app, ['datasets', 'experiments', 'experiment_scores']);
  });

  const plansOf = (path: string, body: Body): Promise<Plan[]> =>
    plansOfAnswer(app, JSON.stringify(body), () => space.viewer.post<Page<unknown>>(`${path}/search`, body));
  const indexesOf = (plans: Plan[]) => new Set(scansOf(plans).flatMap((node) => node['Index Name'] ?? []));

  const year = (ago: number) => new Date(Date.now() - ago * 365 * 24 * 3600 * 1000).toISOString();
  const narrow: [string, Body, string][] = [
    [DATASETS, { metadata: { team: 'team 40' } }, 'datasets_metadata'],
    [DATASETS, { metadata: { owner: { id: 40 } } }, 'datasets_metadata'],
    [DATASETS, { tags: ['all', 't40'] }, 'datasets_tags'],
    [DATASETS, { q: '19998' }, 'datasets_search'],
    [DATASETS, { name: 'name 40' }, 'datasets_by_name'],
    [EXPERIMENTS, { metadata: { team: 'team 40' } }, 'experiments_metadata'],
    [EXPERIMENTS, { tags: ['t40', 'all'] }, 'experiments_tags'],
    [EXPERIMENTS, { config: { k: 40 } }, 'experiments_config'],
    [EXPERIMENTS, { config: ['all:1', 'k:40'] }, 'experiments_config'],
    [EXPERIMENTS, { score: { scorer: 'exact', gte: 0.999 } }, 'experiment_scores_mean'],
    [EXPERIMENTS, { score: { scorer: 'tone', gte: 0.5, lte: 0.501 } }, 'experiment_scores_mean'],
    [EXPERIMENTS, { name: 'name 40' }, 'experiments_by_name'],
    [EXPERIMENTS, { subject_id: 's40' }, 'experiments_subject'],
  ];
  it.each(narrow)('finds few rows of %s by %j with an index', async (path, body, index) => {
    for (const plan of await plansOf(path, body)) expect([...indexesOf([plan])]).toContain(index);
  });

  const wide: [string, Body][] = [
    [DATASETS, {}],
    [DATASETS, { metadata: { stage: 'final' } }],
    [DATASETS, { tags: ['all'] }],
    [DATASETS, { since: year(1) }],
    [EXPERIMENTS, {}],
    [EXPERIMENTS, { metadata: { stage: 'final' } }],
    [EXPERIMENTS, { score: { scorer: 'exact', gte: 0.1 } }],
    [EXPERIMENTS, { score: { scorer: 'exact' }, experiment_status: 'completed' }],
    [EXPERIMENTS, { until: year(0.1) }],
    [EXPERIMENTS, { config: ['all:1'] }],
  ];
  it.each(wide)(
    'reads a page of %s by %j in order without sorting, although many rows match',
    async (path, body) => {
      const plans = await plansOf(path, body);
      const page = plans.find((plan) => !nodesOf(plan).some((node) => node['Node Type'] === 'Aggregate'))!;
      expect(nodesOf(page).map((node) => node['Node Type'])).not.toContain('Sort');
      expect(scansOf([page]).map((node) => node['Node Type'])).not.toContain('Seq Scan');
    },
  );

  it.each([DATASETS, EXPERIMENTS])('starts at the requested time in %s', async (path) => {
    const bounds = { since: year(1.9), until: year(1.89) };
    for (const body of [bounds, { until: year(1.8) }, { since: year(1.8), sort: 'created_at' }]) {
      const plans = await plansOf(path, body);
      const counted = plans.find((plan) => nodesOf(plan).some((node) => node['Node Type'] === 'Aggregate'));
      for (const plan of body === bounds ? plans : plans.filter((one) => one !== counted)) {
        expect(JSON.stringify(scansOf([plan]))).toMatch(/"Index Cond":"[^"]*_id [<>]/);
      }
    }
  });
});
