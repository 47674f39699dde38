import { sharedApp } from '#testing';
import type { GateResultDto } from '../../../src/evaluation/experiments/gate/gate.dto';
import { byScorer, compared, fill } from './comparison.fixture';
import { uploadVersion } from './dataset-versions.fixture';
import { type BulkResponse, EvaluationWorkspace, type Experiment, statuses } from './evaluation.harness';
import { fillResultScores } from './result-scores.fixture';
import { metrics, TracedExperiment } from './trace-stats.fixture';

describe('results of the largest size or number', () => {
  const app = sharedApp({ env: { BODY_LIMIT_BYTES: '10485760' } });
  let space: EvaluationWorkspace;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  const bulk = ({ experiment_id }: Experiment, items: object[], on_conflict?: string) =>
    space.post<BulkResponse>(`/eval/v1/experiments/${experiment_id}/results/bulk`, { items, on_conflict });

  it('copy at most 32 MiB from records per request, and further items return 413', async () => {
    const { dataset_id } = await space.dataset();
    const { dataset_record_id } = await space.record(dataset_id, { input: 'x'.repeat(9 * 1024 * 1024) });
    const experiment = await space.experiment({ dataset_id });
    const items = Array.from({ length: 8 }, (_, n) => ({ case_id: `case ${n}`, dataset_record_id }));
    const own = { case_id: 'own', dataset_record_id, input: 'own', expected: null };
    const answer = await bulk(experiment, [...items, own]);
    expect(statuses(answer)).toEqual([201, 201, 201, 201, 413, 413, 413, 413, 201]);
    expect(answer.body.items[4]!.error).toMatchObject({ code: 'payload_too_large' });
    expect(answer.body.items[4]!.error!.detail).toContain('Send fewer results at once');
  });

  it('copy at most 8 MiB from a CSV version per request, and further items return 413', async () => {
    const rows = Array.from({ length: 6 }, (_, n) => `r${n},${String(n).repeat(3 * 1024 * 1024)}`);
    const { dataset_id } = await space.dataset();
    await uploadVersion(space, dataset_id, `id,input\n${rows.join('\n')}\n`);
    const experiment = await space.experiment({ dataset_id, dataset_version: 1 });
    const items = rows.map((_, n) => ({ case_id: `r${n}` }));
    expect(statuses(await bulk(experiment, items))).toEqual([201, 201, 201, 413, 413, 413]);
    expect(statuses(await bulk(experiment, items.slice(3)))).toEqual([201, 201, 201]);
  });

  it('are returned by "skip" up to 16 MiB, and further items return 413', async () => {
    const experiment = await space.experiment();
    const output = 'x'.repeat(9 * 1024 * 1024);
    for (const case_id of ['a', 'b', 'c']) await space.result(experiment.experiment_id, { case_id, output });
    const items = ['a', 'b', 'c'].map((case_id) => ({ case_id }));
    expect(statuses(await bulk(experiment, items, 'skip'))).toEqual([200, 200, 413]);
  });

  it('count up to 10,000 in a gate, which reports the rest', async () => {
    const { dataset_id } = await space.dataset();
    const ids = Array.from({ length: 10_001 }, (_, i) => `c${i + 1}`);
    await uploadVersion(space, dataset_id, `id,input\n${ids.map((id) => `${id},x\n`).join('')}`);
    const { experiment_id } = await space.experiment({ dataset_id, dataset_version: 1 });
    for (let at = 0; at < ids.length; at += 100) {
      const items = ids.slice(at, at + 100).map((case_id) => ({ case_id, scores: { exact: 1 } }));
      await space.results(experiment_id, items);
    }
    const path = `/eval/v1/experiments/${experiment_id}/gate`;
    const rules = [{ scorer: 'exact', min_mean: 1 }];
    const { checks } = (await space.viewer.post<GateResultDto>(path, { rules })).body;
    expect(checks.map(({ status }) => status)).toEqual(['passed', 'failed']);
    expect(checks[1]!.reason).toBe(
      '10000 of 10001 cases have a score; at least 100% is required. Only the first 10,000 results count.',
    );
  });

  it('are summarized within seconds if they have 150,000 scorer names of 200 characters', async () => {
    const { experiment_id: id } = await space.experiment();
    await app.database.query(
      `INSERT INTO results (experiment_id, result_id, workspace_id, case_id, created_at, updated_at, created_by)
       SELECT $1, 'res_' || lpad(n::text, 16, '0') || right($1, 10), $2, 'case ' || n, now(), now(), 'test'
       FROM generate_series(0, 1499) n`,
      [id, space.id],
    );
    // in parts, because a statement may take 30 seconds
    for (let part = 0; part < 2; part++) {
      await fillResultScores(app.database, id, {
        scores: `(SELECT jsonb_object_agg(lpad((100 * n + i)::text, 200, '0'), i / 100.0) FROM generate_series(0, 99) i)`,
        where: `n % 2 = ${part}`,
      });
    }
    const before = process.memoryUsage();
    // A request that takes longer than REQUEST_TIMEOUT_MS would be 504.
    const { summary } = await space.finalize(id);
    const grown = process.memoryUsage().rss - before.rss;
    expect(Object.keys(summary!.scores!)).toEqual(
      Array.from({ length: 1_000 }, (_, n) => String(n).padStart(200, '0')),
    );
    expect(summary!.scores!['123'.padStart(200, '0')]).toEqual({ mean: 0.23, count: 1 });
    expect([summary!.is_truncated, summary!.is_scorers_truncated]).toEqual([false, true]);
    // The names alone would be as large.
    expect(grown).toBeLessThan(150_000 * 200);
  });
});

describe('a comparison of large experiments', () => {
  const app = sharedApp({ env: { BODY_LIMIT_BYTES: '10485760' } });
  let space: EvaluationWorkspace;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  it('uses the first 10,000 results, and reports truncation', async () => {
    const [{ experiment_id: candidate }, { experiment_id: baseline }] = [
      await space.experiment(),
      await space.experiment(),
    ];
    // The last three scores are 0. They would lower the mean.
    const scores = `CASE WHEN n > 10000 THEN '{"s": 0}' ELSE '{"s": 1}' END::jsonb`;
    await fill(space, app.database, candidate, 10_003, scores);
    await fill(space, app.database, baseline, 10_000, `jsonb_build_object('s', (n % 4) / 4.0)`);
    const body = await compared(space, candidate, baseline, { limit: '1' });
    expect(body).toMatchObject({
      is_truncated: true,
      candidate: { is_truncated: true, result_count: 10_000 },
      baseline: { is_truncated: false, result_count: 10_000 },
      totals: { cases: 10_000, cases_shared: 10_000 },
    });
    expect(byScorer(body, 's')).toMatchObject({
      candidate: { mean: 1, count: 10_000 },
      baseline: { mean: 0.375, count: 10_000 },
      difference: 0.625,
      improved: 10_000,
      p_value: 0.0001,
      verdict: 'improved',
    });
    const summary = (await space.finalize(candidate)).summary!;
    expect([summary.is_truncated, summary.scores!.s]).toEqual([true, { mean: 1, count: 10_000 }]);
  });

  it('has statistics of many dissimilar cases', async () => {
    const [{ experiment_id: candidate }, { experiment_id: baseline }] = [
      await space.experiment(),
      await space.experiment(),
    ];
    // The fractional parts are spread evenly, and so are their differences, apart from the added 0.02.
    const spread = (step: number) => `(n * ${step}::float8 - floor(n * ${step}::float8))`;
    await fill(space, app.database, baseline, 10_000, `jsonb_build_object('s', ${spread(0.6180339887)})`);
    const scores = `jsonb_build_object('s', ${spread(0.4142135623)} + 0.02)`;
    await fill(space, app.database, candidate, 10_000, scores);
    const comparison = byScorer(await compared(space, candidate, baseline, { limit: '0' }), 's');
    expect(comparison.difference).toBeCloseTo(0.02, 3);
    // The difference of two uniform scores has a variance of 1/6, so the mean has a standard error of 0.0041.
    expect(comparison.confidence_interval!.lower).toBeCloseTo(0.02 - 1.96 * Math.sqrt(1 / 60_000), 3);
    expect(comparison.confidence_interval!.upper).toBeCloseTo(0.02 + 1.96 * Math.sqrt(1 / 60_000), 3);
    expect([comparison.p_value, comparison.verdict]).toEqual([0.0001, 'improved']);
  });
});

describe('an experiment of the largest size', () => {
  const app = sharedApp({ env: { BODY_LIMIT_BYTES: '10485760' } });

  it('has at most 32 MiB of trace statistics, and reports truncation', async () => {
    const on = await TracedExperiment.open(app);
    // JSON escapes each of these characters with six.
    const long = `repeat(chr(1), 250) || lpad(n::text, 5, '0')`;
    await app.database.query(
      `WITH new_trace AS (
         INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models, root_name, service_name)
         SELECT $2, lpad(to_hex(n), 32, '0'), now(), now(), 1, 0, '{}', ${long}, ${long} FROM generate_series(1, 8000) n
         RETURNING trace_id, root_name)
       INSERT INTO results (experiment_id, result_id, workspace_id, case_id, trace_id, created_at, updated_at, created_by)
       SELECT $1, 'res_' || trace_id, $2, root_name, trace_id, now(), now(), 'test' FROM new_trace`,
      [on.id, on.space.id],
    );
    const body = { metrics: metrics('count.count'), group_by: ['case_id', 'root_name', 'service_name'] };
    const stats = await on.stats(body);
    expect([stats.is_truncated, stats.coverage.traces_found]).toEqual([true, 8_000]);
    expect(stats.rows.length).toBeGreaterThan(7_000);
    expect(JSON.stringify(stats.rows).length).toBeLessThan(32 * 1024 * 1024);
  });

  it('accepts a large config, and is found by it', async () => {
    const space = await EvaluationWorkspace.open(app);
    const entries = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`e${i}`, i]));
    const matches = (query: string) => space.list(`/eval/v1/experiments?${query}`);
    const config = { ['k'.repeat(100_000)]: entries(100_000), model: 'm' };
    await space.experiment({ config });
    await space.experiment({ config: entries(100_000) });
    expect(await matches('config=model:m')).toHaveLength(1);
    expect(await matches('config=e7:7')).toHaveLength(1);
  }, 20_000);
});
