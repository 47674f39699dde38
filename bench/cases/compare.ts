import { ComparedResultRepository } from '../../src/evaluation/experiments/compare/compared-result.repository';
import { ComparisonRepository } from '../../src/evaluation/experiments/compare/comparison.repository';
import { Bench } from '../bench';
import { compare, timed } from '../measure';

const RESULTS = 10_000;
const SCORERS = 5;
const PAGE_SIZE = 50;
const PER_CALL = 100;

/** A boolean, five grades, a hundred grades, and two continuous scores. */
const SCORE = `CASE s WHEN 1 THEN round(random()) WHEN 2 THEN round(random() * 4) WHEN 3 THEN round(random() * 100) / 100
                      WHEN 4 THEN random() ELSE random() * random() END`;

/**
 * Compares two experiments of 10,000 cases with 5 scorers each, in milliseconds (a ratio above 1 is slower). The baseline
 * sends the same statements with pg, so the difference is the cost of the statistics. Each comparison with a running
 * candidate is computed anew, with statistics or only for more cases. For finalized experiments, the second page is measured.
 */
export async function compareExperiments(bench: Bench): Promise<void> {
  const candidate = await bench.newExperiment();
  const baseline = await bench.newExperiment();
  for (const id of [candidate, baseline]) await bench.loadResults(id, RESULTS, SCORERS, SCORE);
  await complete(bench, baseline);
  await bench.direct.query('VACUUM (ANALYZE) results, scores');
  const path = `/eval/v1/experiments/${candidate}/compare?baseline_experiment_id=${baseline}&limit=${PAGE_SIZE}`;
  const result = await compare([
    { name: 'direct', measure: () => timed(() => read(bench, [candidate, baseline])) },
    { name: 'service', measure: () => timed(() => bench.http.send('GET', path, 200)) },
    {
      name: 'cases alone',
      measure: () => timed(() => bench.http.send('GET', `${path}&offset=${PAGE_SIZE}`, 200)),
    },
  ]);
  const title = `compare ${RESULTS} cases of ${SCORERS} scorers`;
  bench.report(title, 'ms', result, ['direct', 'service', 'cases alone']);
  await comparePinned(bench, path);

  await complete(bench, candidate);
  const { cases } = await bench.http.json<{ cases: { page: { next_cursor: string } } }>('GET', path, 200);
  const next = `${path}&cursor=${cases.page.next_cursor}`;
  const pages = await compare([
    { name: 'service', measure: () => timed(() => bench.http.send('GET', next, 200)) },
  ]);
  bench.line(`second page of finalized experiments: ${pages.medians[0]!.toFixed(1)} ms`);
}

/**
 * Compares two experiments whose results name the cases of a CSV version and take their values from it. The baseline is
 * the comparison at `plain`, of as many results that contain their values.
 */
async function comparePinned(bench: Bench, plain: string): Promise<void> {
  const { workspaceId: workspace_id } = bench.scope;
  const create = <Body>(path: string, body: object) => bench.http.json<Body>('POST', path, 201, body);
  const dataset = { workspace_id, name: `compared ${Math.random()}` };
  const { dataset_id } = await create<{ dataset_id: string }>('/eval/v1/datasets', dataset);
  const question = 'what is it? '.repeat(25);
  const rows = Array.from({ length: RESULTS }, (_, n) => `case-${n},${question},${n}\n`).join('');
  const content = `id,input,expected\n${rows}`;
  await create(`/eval/v1/datasets/${dataset_id}/versions`, { workspace_id, content });
  const ids: string[] = [];
  for (const name of ['candidate', 'baseline']) {
    const fields = { workspace_id, name, dataset_id, dataset_version: 1 };
    const { experiment_id } = await create<{ experiment_id: string }>('/eval/v1/experiments', fields);
    for (let start = 0; start < RESULTS; start += PER_CALL) {
      const items = Array.from({ length: PER_CALL }, (_, n) => resultOf(start + n));
      const body = JSON.stringify({ workspace_id, items });
      await bench.http.send('POST', `/eval/v1/experiments/${experiment_id}/results/bulk`, 207, body);
    }
    ids.push(experiment_id);
  }
  await complete(bench, ids[1]!);
  await bench.direct.query('VACUUM (ANALYZE) results, scores');
  const path = `/eval/v1/experiments/${ids[0]}/compare?baseline_experiment_id=${ids[1]}&limit=${PAGE_SIZE}`;
  const result = await compare([
    { name: 'values sent', measure: () => timed(() => bench.http.send('GET', plain, 200)) },
    { name: 'values of the dataset', measure: () => timed(() => bench.http.send('GET', path, 200)) },
  ]);
  const title = `compare ${RESULTS} cases of a CSV version`;
  bench.report(title, 'ms', result, ['values sent', 'values of the dataset']);
}

const complete = (bench: Bench, id: string): Promise<unknown> =>
  bench.http.send('PATCH', `/eval/v1/experiments/${id}`, 200, '{"experiment_status":"completed"}');

const resultOf = (n: number) => ({
  case_id: `case-${n}`,
  output: { text: 'it is found step by step. '.repeat(20) },
  scores: {
    'scorer 1': Math.round(Math.random()),
    'scorer 2': Math.round(Math.random() * 4),
    'scorer 3': Math.round(Math.random() * 100) / 100,
    'scorer 4': Math.random(),
    'scorer 5': Math.random() * Math.random(),
  },
});

/** Runs the statements of the service. */
async function read({ scope, direct }: Bench, ids: string[]): Promise<void> {
  const comparisons = new ComparisonRepository(direct.database);
  const results = new ComparedResultRepository(direct.database);
  const experiments = [...(await comparisons.find(scope, ids)).values()];
  const scorers = Array.from({ length: SCORERS }, (_, n) => ({
    scorer: `scorer ${n + 1}`,
    version: 0,
    isOnly: true,
  }));
  await comparisons.inSnapshot(async (tx) => {
    for (const one of experiments) await comparisons.scoredVersions(tx, scope, one, null);
    for (const one of experiments) {
      let last = '';
      await results.readResults(tx, scope, one.experiment_id, ({ resultIds }) => (last = resultIds.at(-1)!));
      const reading = { results: RESULTS, last, allowMismatch: false };
      await comparisons.readScores(tx, scope, one, scorers, reading, () => undefined);
    }
  });
  const pageOf = (id: string): string[] =>
    Array.from({ length: PAGE_SIZE }, (_, n) => Bench.resultId(id, n + 1));
  await Promise.all(
    experiments.map((one) => {
      const page = { resultIds: pageOf(one.experiment_id), withInput: pageOf(one.experiment_id) };
      return results.readRows(scope, one, page, scorers, false);
    }),
  );
}
