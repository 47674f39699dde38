import type { Bench } from '../bench';
import { median } from '../measure';
import { datasetOf } from './records';

const RECORDS = 100_000;
const RESULTS = 20_000;
const SCORERS = 5;
const CALLS = 7;
/** Calls that are not measured, because the service is slower until V8 has compiled its code. */
const WARM_UP = 6;
const TABLES = ['datasets', 'records', 'record_versions', 'experiments', 'results', 'scores'];

/**
 * Reads a page of 50 of 100,000 records, exports them, and compares two experiments of 20,000 results: right after loading
 * them into tables without statistics, and again after `VACUUM ANALYZE`. Must run first, so that the tables are new.
 */
export async function freshTables(bench: Bench): Promise<void> {
  const setAutovacuum = async (enabled: boolean) => {
    for (const table of TABLES)
      await bench.direct.query(`ALTER TABLE ${table} SET (autovacuum_enabled = ${enabled})`);
  };
  await setAutovacuum(false);
  const dataset = `/eval/v1/datasets/${await datasetOf(bench, RECORDS, false)}/records`;
  const candidate = await bench.newExperiment();
  const baseline = await bench.newExperiment();
  for (const id of [candidate, baseline]) await bench.loadResults(id, RESULTS, SCORERS);
  await bench.http.send(
    'PATCH',
    `/eval/v1/experiments/${baseline}`,
    200,
    '{"experiment_status":"completed"}',
  );
  const requests: [string, string][] = [
    [`page of 50 of ${RECORDS} records`, `${dataset}?limit=50`],
    [`export of ${RECORDS} records`, `${dataset}/export`],
    [
      `compare ${RESULTS} results`,
      `/eval/v1/experiments/${candidate}/compare?baseline_experiment_id=${baseline}`,
    ],
  ];
  const measure = () =>
    medianTimes(
      requests.map(
        ([, path]) =>
          () =>
            bench.http.send('GET', path, 200),
      ),
    );
  const fresh = await measure();
  await bench.direct.query(`VACUUM (ANALYZE) ${TABLES.join(', ')}`);
  const analyzed = await measure();
  await setAutovacuum(true);
  for (const [index, [title]] of requests.entries()) {
    const medians = [analyzed[index]!, fresh[index]!];
    const ratios = [1, medians[0]! / medians[1]!];
    bench.report(`${title}, ratio of speeds`, 'ms', { medians, ratios }, ['analyzed', 'fresh']);
  }
}

/** Runs the calls in turn. Returns the median milliseconds of each. */
async function medianTimes(calls: (() => Promise<unknown>)[]): Promise<number[]> {
  const times: number[][] = calls.map(() => []);
  for (let round = 0; round < WARM_UP + CALLS; round++) {
    for (const [index, call] of calls.entries()) {
      const startedAt = performance.now();
      await call();
      if (round >= WARM_UP) times[index]!.push(performance.now() - startedAt);
    }
  }
  return times.map(median);
}
