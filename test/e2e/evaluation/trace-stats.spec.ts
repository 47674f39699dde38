import { newSpan, newSpanId, newTraceId, sharedApp, SPAN_START, type TestAttributes } from '#testing';
import { EvaluationWorkspace } from './evaluation.harness';
import { cost, metrics, MS, type Stats, statsPath, TracedExperiment, usage } from './trace-stats.fixture';

type Fields = Record<string, unknown>;

const AGENT: TestAttributes = { 'gen_ai.operation.name': 'invoke_agent' };

const app = sharedApp();

describe('trace stats of an experiment', () => {
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

describe('trace stats of models and groups', () => {
  let on: TracedExperiment;

  beforeEach(async () => {
    on = await TracedExperiment.open(app);
  });

  describe('by model', () => {
    const query = (...names: string[]) => ({ metrics: metrics(...names), group_by: ['model'] });

    it('give each model the usage of its own calls', async () => {
      await on.trace(
        { end: SPAN_START + 50n * MS, attributes: { ...AGENT, ...usage('big', 130, 13, cost(0.3)) } },
        { attributes: usage('big', 100, 10, cost(0.2)) },
        { attributes: usage('small', 20, 2, cost(0.06)) },
        { attributes: usage('small', 10, 1, cost(0.04)) },
      );
      await on.lasting(150, { attributes: usage('small', 5, 1, cost(0.01)) });
      const body = query(
        'count.count',
        'cost_usd.sum',
        'total_tokens.sum',
        'input_tokens.max',
        'duration_ms.avg',
      );
      expect(await on.rows(body)).toEqual([
        {
          group: { model: 'big' },
          values: {
            'count.count': 1,
            'cost_usd.sum': 0.2,
            'total_tokens.sum': 110,
            'input_tokens.max': 100,
            'duration_ms.avg': 5,
          },
        },
        {
          group: { model: 'small' },
          values: {
            'count.count': 3,
            'cost_usd.sum': 0.11,
            'total_tokens.sum': 39,
            'input_tokens.max': 20,
            'duration_ms.avg': (150 + 5 + 5) / 3,
          },
        },
      ]);
      expect(await on.values(['cost_usd.sum', 'total_tokens.sum', 'count.count'])).toEqual({
        'cost_usd.sum': 0.31,
        'total_tokens.sum': 149,
        'count.count': 2,
      });
    });

    it('attribute usage of steps that have no calls', async () => {
      await on.trace(
        { attributes: { ...AGENT, ...usage('planner', 90, 9, cost(0.5)) } },
        { attributes: { ...AGENT, ...usage('worker', 60, 9, cost(0.2)) } },
        { attributes: { 'gen_ai.response.model': 'silent' } },
      );
      await on.trace({}, { attributes: { 'gen_ai.usage.input_tokens': 7 } });
      await on.trace();
      const rows = await on.rows(
        query('count.count', 'input_tokens.sum', 'output_tokens.sum', 'cost_usd.sum'),
      );
      const reported = rows.map(({ group, values: one }) => [group.model, ...Object.values(one)]);
      expect(reported).toEqual([
        ['silent', 1, null, null, null],
        ['worker', 1, 60, 9, 0.2],
        [null, 1, 7, null, null],
      ]);
      expect(await on.values(['input_tokens.sum', 'output_tokens.sum', 'cost_usd.sum'])).toEqual({
        'input_tokens.sum': 67,
        'output_tokens.sum': 9,
        'cost_usd.sum': 0.2,
      });
      // Models that the filter excludes do not affect the others.
      const filters = [{ field: 'model', op: 'in', value: ['worker', 'silent'] }];
      const others = await on.rows({ ...query('input_tokens.sum'), filters });
      expect(others.map((row) => [row.group.model, row.values['input_tokens.sum']])).toEqual([
        ['silent', null],
        ['worker', 60],
      ]);
    });

    it('include the cost of a model when another model has no price', async () => {
      const [priced, unpriced] = [usage('priced', 1_000, 0), usage('unpriced', 500, 50)];
      await on.trace({ attributes: priced }, { attributes: unpriced });
      await on.trace({ attributes: priced });
      const costs = async () =>
        (await on.rows(query('cost_usd.sum', 'cost_usd.count'))).map(({ group, values: one }) => [
          group.model,
          ...Object.values(one),
        ]);
      expect(await costs()).toEqual([
        ['priced', 0.004, 2],
        ['unpriced', null, 0],
      ]);
    });

    it('include the cost of calls below a step', async () => {
      const root = { ...AGENT, ...usage('planner', 0, 0, cost(0.4)) };
      const more = { ...AGENT, ...usage('planner', 0, 0, cost(0.7)) };
      const [priced, unpriced] = [usage('priced', 1_000, 0), usage('unpriced', 500, 50)];
      await on.trace(
        { attributes: root },
        { attributes: more },
        { attributes: priced },
        { attributes: unpriced },
      );
      const rows = await on.rows(query('cost_usd.sum'));
      expect(rows.map(({ group, values: one }) => [group.model, one['cost_usd.sum']])).toEqual([
        ['planner', 0.7],
        ['priced', 0.002],
        ['unpriced', null],
      ]);
      // the root reports less than its calls, so the cost of the unpriced call is unknown
      expect(await on.values(['cost_usd.sum'])).toEqual({ 'cost_usd.sum': null });
    });

    it('ignore steps that repeat the usage of calls', async () => {
      const root = { ...AGENT, 'gen_ai.usage.input_tokens': 100, 'gen_ai.usage.output_tokens': 10 };
      await on.trace({ attributes: root }, { attributes: usage('a', 100, 10, cost(0.1)) });
      const rows = await on.rows(query('count.count', 'input_tokens.sum', 'cost_usd.sum'));
      expect(rows.map(({ group, values: one }) => [group.model, ...Object.values(one)])).toEqual([
        ['a', 1, 100, 0.1],
      ]);
      const filters = [{ field: 'model', op: 'eq', value: null }];
      expect(await on.values(['count.count'], filters)).toEqual({ 'count.count': 0 });
      // Usage that only the step reports belongs to no model.
      await on.trace({ attributes: root }, { attributes: { 'gen_ai.response.model': 'silent' } });
      const further = await on.rows(query('count.count', 'input_tokens.sum'));
      expect(further.map(({ group, values: one }) => [group.model, ...Object.values(one)])).toEqual([
        ['a', 1, 100],
        ['silent', 1, null],
        [null, 1, 100],
      ]);
    });

    it('do not depend on the order of arrival', async () => {
      const traceId = newTraceId();
      const spans = [
        newSpan({ traceId, attributes: { ...AGENT, ...usage('a', 9, 9, cost(0.1)) } }),
        ...[1, 2, 3, 4].map((n) =>
          newSpan({
            traceId,
            parentSpanId: newSpanId(),
            attributes: usage(n % 2 ? 'a' : 'b', n, n, cost(n / 10)),
          }),
        ),
      ];
      // First one by one, then all at once, and then again.
      await Promise.all(spans.map((span) => on.exporter.protobuf([span])));
      await Promise.all([on.exporter.protobuf(spans), on.exporter.protobuf([...spans].reverse())]);
      await on.space.result(on.id, { trace_id: traceId });
      expect(await on.rows(query('input_tokens.sum', 'cost_usd.sum'))).toEqual([
        { group: { model: 'a' }, values: { 'input_tokens.sum': 4, 'cost_usd.sum': 0.4 } },
        { group: { model: 'b' }, values: { 'input_tokens.sum': 6, 'cost_usd.sum': 0.6 } },
      ]);
    });
  });

  describe('in groups', () => {
    const counted = async (group_by: string[], filters: Fields[] = []) =>
      (await on.rows({ metrics: metrics('count.count'), group_by, filters })).map(
        ({ group, values: one }) => [...group_by.map((field) => group[field]), one['count.count']],
      );

    it('have a sorted row for each value, and a last one for traces without a value', async () => {
      await on.trace({ name: 'b', result: { case_id: '2', tags: ['x', 'y'] } });
      await on.trace({ name: 'B', isError: true, result: { case_id: '1', tags: ['y'] } });
      await on.trace({ name: 'a', result: { case_id: '10' } }, { isError: true });
      // The root of this trace has not arrived.
      await on.trace({ parentSpanId: newSpanId(), result: { case_id: 'é' } });
      expect(await counted(['root_name'])).toEqual([
        ['B', 1],
        ['a', 1],
        ['b', 1],
        [null, 1],
      ]);
      expect(await counted(['status'])).toEqual([
        ['error', 2],
        ['ok', 2],
      ]);
      expect(await counted(['case_id'])).toEqual([
        ['1', 1],
        ['10', 1],
        ['2', 1],
        ['é', 1],
      ]);
      // A trace with two tags counts in both groups.
      expect(await counted(['tag'])).toEqual([
        ['x', 1],
        ['y', 2],
        [null, 2],
      ]);
      expect(await counted(['service_name'])).toEqual([['shop', 4]]);
      expect(await counted(['model'])).toEqual([]);
      expect(await counted(['tag', 'status'])).toEqual([
        ['x', 'ok', 1],
        ['y', 'error', 1],
        ['y', 'ok', 1],
        [null, 'error', 1],
        [null, 'ok', 1],
      ]);
      expect(await counted(['tag'], [{ field: 'tag', op: 'eq', value: 'y' }])).toEqual([['y', 2]]);
      const quoted = `'; DROP TABLE traces; --"`;
      await on.trace({ name: quoted, result: { tags: [quoted] } });
      expect(await counted(['root_name', 'tag'], [{ field: 'tag', op: 'eq', value: quoted }])).toEqual([
        [quoted, quoted, 1],
      ]);
    });

    it('are at most 10,000, and report truncation', async () => {
      await app.database.query(
        `WITH new_trace AS (
           INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models)
           SELECT $2, lpad(to_hex(n), 32, '0'), now(), now(), 1, 0, '{}' FROM generate_series(1, 10001) n
           RETURNING trace_id)
         INSERT INTO results (experiment_id, result_id, workspace_id, case_id, trace_id, created_at, updated_at, created_by)
         SELECT $1, 'res_' || trace_id, $2, right(trace_id, 5), trace_id, now(), now(), 'test' FROM new_trace`,
        [on.id, on.space.id],
      );
      const body = { metrics: metrics('count.count', 'duration_ms.p99'), group_by: ['case_id'] };
      const all = await on.stats(body);
      expect([all.rows.length, all.is_truncated, all.coverage.traces_found]).toEqual([10_000, true, 10_001]);
      expect(all.rows.at(-1)!.group).toEqual({ case_id: '02710' });
      const filters = [{ field: 'case_id', op: 'in', value: ['00001', '02711', 'absent'] }];
      const some = await on.stats({ ...body, filters });
      expect([some.rows.map((row) => row.group.case_id), some.is_truncated]).toEqual([
        ['00001', '02711'],
        false,
      ]);
    });
  });
});
