import { ownApp, newTraceId } from '#testing';
import { EvaluationWorkspace } from './evaluation.harness';
import { cost, metrics, type Stats, statsPath, TracedExperiment, usage } from './trace-stats.fixture';

describe('trace stats of an experiment', () => {
  const prices = { priced: { input_usd_per_million: 2, output_usd_per_million: 8 } };
  const app = ownApp({ env: { MODEL_PRICES: JSON.stringify(prices) } });
  let on: TracedExperiment;

  beforeEach(async () => {
    on = await TracedExperiment.open(app);
  });

  it('have count, duration, tokens, cost and errors by default', async () => {
    await on.lasting(100, { attributes: usage('priced', 1_000, 100, {}) });
    await on.lasting(300, { attributes: usage('own', 500, 50, cost(0.25)), isError: true });
    await on.lasting(200);
    const expected = {
      group: {},
      values: {
        'count.count': 3,
        'duration_ms.p50': 200,
        'duration_ms.p95': 290,
        'input_tokens.sum': 1_500,
        'output_tokens.sum': 150,
        'total_tokens.sum': 1_650,
        // 1,000 tokens at 2 and 100 tokens at 8 dollars per million, plus the cost that a span reports.
        'cost_usd.sum': 0.2528,
        'error_count.sum': 1,
      },
    };
    for (const body of [undefined, {}, { metrics: [], group_by: [], filters: null }]) {
      expect(await on.stats(body)).toEqual({
        rows: [expected],
        coverage: { results: 3, with_trace: 3, traces_found: 3 },
        is_truncated: false,
      });
    }
  });

  describe('in aggregations', () => {
    it('have exact percentiles, interpolated by definition 7 of Hyndman and Fan', async () => {
      for (const ms of [40, 15, 50, 35, 20]) await on.lasting(ms);
      // Computed by hand: the rank is 1 + 4p, so p90 is at 4.6, six tenths of the way from 40 to 50.
      expect(
        await on.values(['p50', 'p75', 'p90', 'p95', 'p99'].map((percentile) => `duration_ms.${percentile}`)),
      ).toEqual({
        'duration_ms.p50': 35,
        'duration_ms.p75': 40,
        'duration_ms.p90': 46,
        'duration_ms.p95': 48,
        'duration_ms.p99': 49.6,
      });
      const four = ['duration_ms.p75', 'duration_ms.p50'];
      const filters = [{ field: 'duration_ms', op: 'lte', value: 40 }];
      // The values are 15, 20, 35 and 40, and the ranks 3.25 and 2.5.
      expect(await on.values(four, filters)).toEqual({ 'duration_ms.p75': 36.25, 'duration_ms.p50': 27.5 });
    });

    it('have exact sums, means, extremes and counts', async () => {
      for (const dollars of [0.1, 0.2, 0.3]) await on.lasting(1, { attributes: cost(dollars) });
      await on.lasting(1, { attributes: usage('m', 10, 4) });
      await on.lasting(1, { attributes: { 'gen_ai.usage.input_tokens': 3 } });
      expect(
        await on.values([
          ...['cost_usd.sum', 'cost_usd.avg', 'cost_usd.min', 'cost_usd.max', 'cost_usd.count'],
          ...['total_tokens.sum', 'total_tokens.count', 'output_tokens.avg', 'output_tokens.count'],
          ...['span_count.sum', 'count.sum', 'count.count', 'error_count.max'],
        ]),
      ).toEqual({
        'cost_usd.sum': 0.6,
        'cost_usd.avg': 0.2,
        'cost_usd.min': 0.1,
        'cost_usd.max': 0.3,
        'cost_usd.count': 3,
        // A trace with only input tokens counts with these.
        'total_tokens.sum': 17,
        'total_tokens.count': 2,
        'output_tokens.avg': 4,
        'output_tokens.count': 1,
        'span_count.sum': 5,
        'count.sum': 5,
        'count.count': 5,
        'error_count.max': 0,
      });
    });

    it('are exact for very small costs', async () => {
      for (const dollars of [5e-324, 0, 0]) await on.lasting(1, { attributes: cost(dollars) });
      const smallest = { 'cost_usd.sum': 5e-324, 'cost_usd.avg': 0, 'cost_usd.max': 5e-324 };
      expect(await on.values(Object.keys(smallest))).toEqual(smallest);
    });

    it('have nulls and zeros, or no groups, if there are no traces', async () => {
      await on.space.result(on.id);
      const query = { metrics: metrics('count.count', 'duration_ms.p95', 'cost_usd.sum', 'cost_usd.count') };
      expect(await on.stats(query)).toEqual({
        rows: [
          {
            group: {},
            values: {
              'count.count': 0,
              'duration_ms.p95': null,
              'cost_usd.sum': null,
              'cost_usd.count': 0,
            },
          },
        ],
        coverage: { results: 1, with_trace: 0, traces_found: 0 },
        is_truncated: false,
      });
      expect(await on.rows({ ...query, group_by: ['model'] })).toEqual([]);
    });
  });

  describe('with coverage', () => {
    it('count each trace once if results reference it and it has arrived', async () => {
      const id = await on.lasting(10, { result: { tags: ['old'], case_id: 'first' } });
      await on.space.result(on.id, { trace_id: id, tags: ['new'], case_id: 'second' });
      await on.space.result(on.id, { trace_id: newTraceId() });
      await on.space.result(on.id);
      const { rows: found, coverage } = await on.stats({
        metrics: metrics('count.count'),
        group_by: ['tag', 'case_id'],
      });
      // The labels are those of the newest result that references the trace, as in the list.
      expect(found).toEqual([{ group: { tag: 'new', case_id: 'second' }, values: { 'count.count': 1 } }]);
      expect(coverage).toEqual({ results: 4, with_trace: 3, traces_found: 1 });
    });

    it('count the same traces whatever the filters', async () => {
      await on.lasting(10);
      const filters = [{ field: 'duration_ms', op: 'gte', value: 11 }];
      const { rows: found, coverage } = await on.stats({ metrics: metrics('count.count'), filters });
      expect([found[0]!.values, coverage.traces_found]).toEqual([{ 'count.count': 0 }, 1]);
    });

    it('count no traces of other experiments, workspaces or organizations', async () => {
      const id = await on.lasting(10, { attributes: usage('theirs', 1, 1) });
      const another = await EvaluationWorkspace.open(app);
      const { experiment_id } = await another.experiment();
      await another.result(experiment_id, { trace_id: id });
      const body = { metrics: metrics('count.count'), group_by: ['model'] };
      const theirs = await another.viewer.post<Stats>(statsPath(experiment_id), body);
      expect(theirs.body.rows).toEqual([]);
      expect(theirs.body.coverage).toEqual({ results: 1, with_trace: 1, traces_found: 0 });
      expect((await another.viewer.post(statsPath(on.id), body)).status).toBe(404);
      expect((await (await on.space.sibling()).post(statsPath(on.id), body)).status).toBe(404);
      const { experiment_id: empty } = await on.space.experiment();
      const ofEmpty = await on.space.viewer.post<Stats>(statsPath(empty), body);
      expect(ofEmpty.body.coverage).toEqual({ results: 0, with_trace: 0, traces_found: 0 });
    });
  });
});
