import {
  createTestApp,
  newSpan,
  newSpanId,
  newTraceId,
  SPAN_START,
  type TestApp,
  type TestAttributes,
} from '#testing';
import { EvaluationWorkspace } from './evaluation.harness';
import { cost, metrics, MS, type Stats, statsPath, TracedExperiment, usage } from './trace-stats.fixture';

type Fields = Record<string, unknown>;

const AGENT: TestAttributes = { 'gen_ai.operation.name': 'invoke_agent' };

describe('figures over the traces of an experiment', () => {
  let app: TestApp;
  let on: TracedExperiment;

  beforeAll(async () => {
    const prices = { priced: { input_usd_per_million: 2, output_usd_per_million: 8 } };
    app = await createTestApp({ env: { MODEL_PRICES: JSON.stringify(prices) } });
  });
  beforeEach(async () => {
    on = await TracedExperiment.open(app);
  });
  afterAll(() => app.close());

  it('by default tell how many there are, how long they took, what they used and cost, and errors', async () => {
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
        // 1,000 tokens at 2 and 100 at 8 dollars a million, and what a span says itself
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

  describe('aggregate', () => {
    it('exact percentiles, interpolated as definition 7 of Hyndman & Fan does', async () => {
      for (const ms of [40, 15, 50, 35, 20]) await on.lasting(ms);
      // worked by hand: the rank is 1 + 4p, so p90 lies at 4.6, six tenths of the way from 40 to 50
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
      // of 15, 20, 35 and 40: ranks 3.25 and 2.5
      expect(await on.values(four, filters)).toEqual({ 'duration_ms.p75': 36.25, 'duration_ms.p50': 27.5 });
    });

    it('sums of decimals as they read, means, extremes, and how many traces tell a measure at all', async () => {
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
        // a trace that tells only its input counts with that
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

    it('also costs so small that no double holds their mean', async () => {
      for (const dollars of [5e-324, 0, 0]) await on.lasting(1, { attributes: cost(dollars) });
      const smallest = { 'cost_usd.sum': 5e-324, 'cost_usd.avg': 0, 'cost_usd.max': 5e-324 };
      expect(await on.values(Object.keys(smallest))).toEqual(smallest);
    });

    it('nothing as null and none as 0, in one row; in groups, no row', async () => {
      await on.space.result(on.id);
      const asked = { metrics: metrics('count.count', 'duration_ms.p95', 'cost_usd.sum', 'cost_usd.count') };
      expect(await on.stats(asked)).toEqual({
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
      expect(await on.rows({ ...asked, group_by: ['model'] })).toEqual([]);
    });
  });

  describe('are of each trace once', () => {
    it('that results name and that has arrived, which coverage tells', async () => {
      const id = await on.lasting(10, { result: { tags: ['old'], case_id: 'first' } });
      await on.space.result(on.id, { trace_id: id, tags: ['new'], case_id: 'second' });
      await on.space.result(on.id, { trace_id: newTraceId() });
      await on.space.result(on.id);
      const { rows: found, coverage } = await on.stats({
        metrics: metrics('count.count'),
        group_by: ['tag', 'case_id'],
      });
      // with the labels of the newest result that names it, as in the list
      expect(found).toEqual([{ group: { tag: 'new', case_id: 'second' }, values: { 'count.count': 1 } }]);
      expect(coverage).toEqual({ results: 4, with_trace: 3, traces_found: 1 });
    });

    it('of the whole experiment in coverage, whatever filters choose', async () => {
      await on.lasting(10);
      const filters = [{ field: 'duration_ms', op: 'gte', value: 11 }];
      const { rows: found, coverage } = await on.stats({ metrics: metrics('count.count'), filters });
      expect([found[0]!.values, coverage.traces_found]).toEqual([{ 'count.count': 0 }, 1]);
    });

    it('and of no other experiment, workspace or organization', async () => {
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

  describe('by model', () => {
    const asked = (...names: string[]) => ({ metrics: metrics(...names), group_by: ['model'] });

    it('give each model what its own calls used, so that costs add up to those of the traces', async () => {
      await on.trace(
        { end: SPAN_START + 50n * MS, attributes: { ...AGENT, ...usage('big', 130, 13, cost(0.3)) } },
        { attributes: usage('big', 100, 10, cost(0.2)) },
        { attributes: usage('small', 20, 2, cost(0.06)) },
        { attributes: usage('small', 10, 1, cost(0.04)) },
      );
      await on.lasting(150, { attributes: usage('small', 5, 1, cost(0.01)) });
      const body = asked(
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
            'duration_ms.avg': 50,
          },
        },
        {
          group: { model: 'small' },
          values: {
            'count.count': 2,
            'cost_usd.sum': 0.11,
            'total_tokens.sum': 39,
            'input_tokens.max': 30,
            'duration_ms.avg': 100,
          },
        },
      ]);
      expect(await on.values(['cost_usd.sum', 'total_tokens.sum', 'count.count'])).toEqual({
        'cost_usd.sum': 0.31,
        'total_tokens.sum': 149,
        'count.count': 2,
      });
    });

    it('give what only a step tells to the model of the largest, and what names none to no model', async () => {
      await on.trace(
        { attributes: { ...AGENT, ...usage('planner', 90, 9, cost(0.5)) } },
        { attributes: { ...AGENT, ...usage('worker', 60, 9, cost(0.2)) } },
        { attributes: { 'gen_ai.response.model': 'silent' } },
      );
      await on.trace({}, { attributes: { 'gen_ai.usage.input_tokens': 7 } });
      await on.trace();
      const found = await on.rows(
        asked('count.count', 'input_tokens.sum', 'output_tokens.sum', 'cost_usd.sum'),
      );
      const told = found.map(({ group, values: one }) => [group.model, ...Object.values(one)]);
      expect(told).toEqual([
        ['planner', 1, 90, 9, 0.5],
        ['silent', 1, null, null, null],
        ['worker', 1, null, null, null],
        [null, 2, 7, null, null],
      ]);
      expect(await on.values(['input_tokens.sum', 'output_tokens.sum', 'cost_usd.sum'])).toEqual({
        'input_tokens.sum': 97,
        'output_tokens.sum': 9,
        'cost_usd.sum': 0.5,
      });
      // what a filter leaves out takes nothing with it to another model
      const filters = [{ field: 'model', op: 'in', value: ['worker', 'silent'] }];
      const others = await on.rows({ ...asked('input_tokens.sum'), filters });
      expect(others.map((row) => [row.group.model, row.values['input_tokens.sum']])).toEqual([
        ['silent', null],
        ['worker', null],
      ]);
    });

    it('come out the same however the spans arrive', async () => {
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
      // one at a time, all at once, and again
      await Promise.all(spans.map((span) => on.exporter.protobuf([span])));
      await Promise.all([on.exporter.protobuf(spans), on.exporter.protobuf([...spans].reverse())]);
      await on.space.result(on.id, { trace_id: traceId });
      expect(await on.rows(asked('input_tokens.sum', 'cost_usd.sum'))).toEqual([
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

    it('have a row for each value, in the order of its characters, and last for what has none', async () => {
      await on.trace({ name: 'b', result: { case_id: '2', tags: ['x', 'y'] } });
      await on.trace({ name: 'B', isError: true, result: { case_id: '1', tags: ['y'] } });
      await on.trace({ name: 'a', result: { case_id: '10' } }, { isError: true });
      // its root has not arrived
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
      // one with two tags counts in the group of each
      expect(await counted(['tag'])).toEqual([
        ['x', 1],
        ['y', 2],
        [null, 2],
      ]);
      expect(await counted(['service_name'])).toEqual([['shop', 4]]);
      expect(await counted(['model'])).toEqual([[null, 4]]);
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

    it('are as many as 10,000, and tell when there are more', async () => {
      await app.database.query(
        `WITH made AS (
           INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models)
           SELECT $2, lpad(to_hex(n), 32, '0'), now(), now(), 1, 0, '{}' FROM generate_series(1, 10001) n
           RETURNING trace_id)
         INSERT INTO results (experiment_id, result_id, workspace_id, case_id, trace_id, created_at, updated_at, created_by)
         SELECT $1, 'res_' || trace_id, $2, right(trace_id, 5), trace_id, now(), now(), 'test' FROM made`,
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

    it('come to 32 MiB at most, whatever they are called, and tell it', async () => {
      // JSON writes each of these characters as six
      const long = `repeat(chr(1), 250) || lpad(n::text, 5, '0')`;
      await app.database.query(
        `WITH made AS (
           INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models, root_name, service_name)
           SELECT $2, lpad(to_hex(n), 32, '0'), now(), now(), 1, 0, '{}', ${long}, ${long} FROM generate_series(1, 8000) n
           RETURNING trace_id, root_name)
         INSERT INTO results (experiment_id, result_id, workspace_id, case_id, trace_id, created_at, updated_at, created_by)
         SELECT $1, 'res_' || trace_id, $2, root_name, trace_id, now(), now(), 'test' FROM made`,
        [on.id, on.space.id],
      );
      const body = { metrics: metrics('count.count'), group_by: ['case_id', 'root_name', 'service_name'] };
      const found = await on.stats(body);
      expect([found.is_truncated, found.coverage.traces_found]).toEqual([true, 8_000]);
      expect(found.rows.length).toBeGreaterThan(7_000);
      expect(JSON.stringify(found.rows).length).toBeLessThan(32 * 1024 * 1024);
    });
  });
});
