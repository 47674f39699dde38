import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import {
  type Answer,
  createTestApp,
  newSpan,
  newSpanId,
  newTraceId,
  SPAN_START,
  type TestApp,
  type TestAttributes,
  type TestSpan,
} from '#testing';
import type { TraceStatsDto } from '../../../src/evaluation/traces/trace-stats.dto';
import { RawExporter } from '../telemetry/otlp.harness';
import { EvaluationWorkspace, outcome, places } from './evaluation.harness';

type Fields = Record<string, unknown>;
type Row = { group: Record<string, string | null>; values: Record<string, number | null> };
type Stats = Omit<TraceStatsDto, 'rows'> & { rows: Row[] };

const MS = 1_000_000n;

/** `duration_ms.p95` and the like, as a query names them. */
const metrics = (...names: string[]) =>
  names.map((name) => {
    const [measure, aggregation] = name.split('.');
    return { measure, aggregation };
  });

const usage = (model: string, input: number, output: number, more: TestAttributes = {}): TestAttributes => ({
  'gen_ai.response.model': model,
  'gen_ai.usage.input_tokens': input,
  'gen_ai.usage.output_tokens': output,
  ...more,
});
const cost = (dollars: number): TestAttributes => ({ 'gen_ai.usage.cost': dollars });
const AGENT: TestAttributes = { 'gen_ai.operation.name': 'invoke_agent' };

describe('figures over the traces of an experiment', () => {
  let app: TestApp;
  let space: EvaluationWorkspace;
  let exporter: RawExporter;
  let experimentId: string;

  beforeAll(async () => {
    const prices = { priced: { input_usd_per_million: 2, output_usd_per_million: 8 } };
    app = await createTestApp({ env: { MODEL_PRICES: JSON.stringify(prices) } });
  });
  beforeEach(async () => {
    space = await EvaluationWorkspace.open(app);
    exporter = new RawExporter(app.url, await space.organization.token('runtime'), space.id);
    experimentId = (await space.experiment()).experiment_id;
  });
  afterAll(() => app.close());

  const pathOf = (id = experimentId) => `/eval/v1/experiments/${id}/traces/stats/query`;
  const ask = (body?: unknown) => space.viewer.post<Stats>(pathOf(), body);
  const stats = async (body?: unknown): Promise<Stats> => {
    const answer = await ask(body);
    expect([answer.status, answer.body]).toEqual([200, expect.anything()]);
    return answer.body;
  };
  const rows = async (body: unknown): Promise<Row[]> => (await stats(body)).rows;
  /** The values of the one row without groups. */
  const values = async (asked: string[], filters: Fields[] = []) =>
    (await rows({ metrics: metrics(...asked), filters }))[0]!.values;

  /** A root span, spans below it, and a result that names their trace. */
  async function trace(
    { result, ...root }: Partial<TestSpan> & { result?: Fields } = {},
    ...below: Partial<TestSpan>[]
  ): Promise<string> {
    const first = newSpan(root);
    const { traceId, spanId: parentSpanId } = first;
    const spans = [first, ...below.map((span) => newSpan({ parentSpanId, ...span, traceId }))];
    expect((await exporter.protobuf(spans)).status).toBe(200);
    await space.result(experimentId, { trace_id: traceId, ...result });
    return traceId;
  }
  const lasting = (ms: number, more: Parameters<typeof trace>[0] = {}) =>
    trace({ end: SPAN_START + BigInt(ms) * MS, ...more });

  it('by default tell how many there are, how long they took, what they used and cost, and errors', async () => {
    await lasting(100, { attributes: usage('priced', 1_000, 100, {}) });
    await lasting(300, { attributes: usage('own', 500, 50, cost(0.25)), isError: true });
    await lasting(200);
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
      expect(await stats(body)).toEqual({
        rows: [expected],
        coverage: { results: 3, with_trace: 3, traces_found: 3 },
        is_truncated: false,
      });
    }
  });

  describe('aggregate', () => {
    it('exact percentiles, interpolated as definition 7 of Hyndman & Fan does', async () => {
      for (const ms of [40, 15, 50, 35, 20]) await lasting(ms);
      // worked by hand: the rank is 1 + 4p, so p90 lies at 4.6, six tenths of the way from 40 to 50
      expect(
        await values(['p50', 'p75', 'p90', 'p95', 'p99'].map((percentile) => `duration_ms.${percentile}`)),
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
      expect(await values(four, filters)).toEqual({ 'duration_ms.p75': 36.25, 'duration_ms.p50': 27.5 });
    });

    it('sums of decimals as they read, means, extremes, and how many traces tell a measure at all', async () => {
      for (const dollars of [0.1, 0.2, 0.3]) await lasting(1, { attributes: cost(dollars) });
      await lasting(1, { attributes: usage('m', 10, 4) });
      await lasting(1, { attributes: { 'gen_ai.usage.input_tokens': 3 } });
      expect(
        await values([
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
      for (const dollars of [5e-324, 0, 0]) await lasting(1, { attributes: cost(dollars) });
      const smallest = { 'cost_usd.sum': 5e-324, 'cost_usd.avg': 0, 'cost_usd.max': 5e-324 };
      expect(await values(Object.keys(smallest))).toEqual(smallest);
    });

    it('nothing as null and none as 0, in one row; in groups, no row', async () => {
      await space.result(experimentId);
      const asked = { metrics: metrics('count.count', 'duration_ms.p95', 'cost_usd.sum', 'cost_usd.count') };
      expect(await stats(asked)).toEqual({
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
      expect(await rows({ ...asked, group_by: ['model'] })).toEqual([]);
    });
  });

  describe('are of each trace once', () => {
    it('that results name and that has arrived, which coverage tells', async () => {
      const id = await lasting(10, { result: { tags: ['old'], case_id: 'first' } });
      await space.result(experimentId, { trace_id: id, tags: ['new'], case_id: 'second' });
      await space.result(experimentId, { trace_id: newTraceId() });
      await space.result(experimentId);
      const { rows: found, coverage } = await stats({
        metrics: metrics('count.count'),
        group_by: ['tag', 'case_id'],
      });
      // with the labels of the newest result that names it, as in the list
      expect(found).toEqual([{ group: { tag: 'new', case_id: 'second' }, values: { 'count.count': 1 } }]);
      expect(coverage).toEqual({ results: 4, with_trace: 3, traces_found: 1 });
    });

    it('of the whole experiment in coverage, whatever filters choose', async () => {
      await lasting(10);
      const filters = [{ field: 'duration_ms', op: 'gte', value: 11 }];
      const { rows: found, coverage } = await stats({ metrics: metrics('count.count'), filters });
      expect([found[0]!.values, coverage.traces_found]).toEqual([{ 'count.count': 0 }, 1]);
    });

    it('and of no other experiment, workspace or organization', async () => {
      const id = await lasting(10, { attributes: usage('theirs', 1, 1) });
      const another = await EvaluationWorkspace.open(app);
      const { experiment_id } = await another.experiment();
      await another.result(experiment_id, { trace_id: id });
      const body = { metrics: metrics('count.count'), group_by: ['model'] };
      const theirs = await another.viewer.post<Stats>(pathOf(experiment_id), body);
      expect(theirs.body.rows).toEqual([]);
      expect(theirs.body.coverage).toEqual({ results: 1, with_trace: 1, traces_found: 0 });
      expect((await another.viewer.post(pathOf(), body)).status).toBe(404);
      expect((await (await space.sibling()).post(pathOf(), body)).status).toBe(404);
      const { experiment_id: empty } = await space.experiment();
      const ofEmpty = await space.viewer.post<Stats>(pathOf(empty), body);
      expect(ofEmpty.body.coverage).toEqual({ results: 0, with_trace: 0, traces_found: 0 });
    });
  });

  describe('by model', () => {
    const asked = (...names: string[]) => ({ metrics: metrics(...names), group_by: ['model'] });

    it('give each model what its own calls used, so that costs add up to those of the traces', async () => {
      await trace(
        { end: SPAN_START + 50n * MS, attributes: { ...AGENT, ...usage('big', 130, 13, cost(0.3)) } },
        { attributes: usage('big', 100, 10, cost(0.2)) },
        { attributes: usage('small', 20, 2, cost(0.06)) },
        { attributes: usage('small', 10, 1, cost(0.04)) },
      );
      await lasting(150, { attributes: usage('small', 5, 1, cost(0.01)) });
      const body = asked(
        'count.count',
        'cost_usd.sum',
        'total_tokens.sum',
        'input_tokens.max',
        'duration_ms.avg',
      );
      expect(await rows(body)).toEqual([
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
      expect(await values(['cost_usd.sum', 'total_tokens.sum', 'count.count'])).toEqual({
        'cost_usd.sum': 0.31,
        'total_tokens.sum': 149,
        'count.count': 2,
      });
    });

    it('give what only a step tells to the model of the largest, and what names none to no model', async () => {
      await trace(
        { attributes: { ...AGENT, ...usage('planner', 90, 9, cost(0.5)) } },
        { attributes: { ...AGENT, ...usage('worker', 60, 9, cost(0.2)) } },
        { attributes: { 'gen_ai.response.model': 'silent' } },
      );
      await trace({}, { attributes: { 'gen_ai.usage.input_tokens': 7 } });
      await trace();
      const found = await rows(asked('count.count', 'input_tokens.sum', 'output_tokens.sum', 'cost_usd.sum'));
      const told = found.map(({ group, values: one }) => [group.model, ...Object.values(one)]);
      expect(told).toEqual([
        ['planner', 1, 90, 9, 0.5],
        ['silent', 1, null, null, null],
        ['worker', 1, null, null, null],
        [null, 2, 7, null, null],
      ]);
      expect(await values(['input_tokens.sum', 'output_tokens.sum', 'cost_usd.sum'])).toEqual({
        'input_tokens.sum': 97,
        'output_tokens.sum': 9,
        'cost_usd.sum': 0.5,
      });
      // what a filter leaves out takes nothing with it to another model
      const filters = [{ field: 'model', op: 'in', value: ['worker', 'silent'] }];
      const others = await rows({ ...asked('input_tokens.sum'), filters });
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
      await Promise.all(spans.map((span) => exporter.protobuf([span])));
      await Promise.all([exporter.protobuf(spans), exporter.protobuf([...spans].reverse())]);
      await space.result(experimentId, { trace_id: traceId });
      expect(await rows(asked('input_tokens.sum', 'cost_usd.sum'))).toEqual([
        { group: { model: 'a' }, values: { 'input_tokens.sum': 4, 'cost_usd.sum': 0.4 } },
        { group: { model: 'b' }, values: { 'input_tokens.sum': 6, 'cost_usd.sum': 0.6 } },
      ]);
    });
  });

  describe('in groups', () => {
    const counted = async (group_by: string[], filters: Fields[] = []) =>
      (await rows({ metrics: metrics('count.count'), group_by, filters })).map(({ group, values: one }) => [
        ...group_by.map((field) => group[field]),
        one['count.count'],
      ]);

    it('have a row for each value, in the order of its characters, and last for what has none', async () => {
      await trace({ name: 'b', result: { case_id: '2', tags: ['x', 'y'] } });
      await trace({ name: 'B', isError: true, result: { case_id: '1', tags: ['y'] } });
      await trace({ name: 'a', result: { case_id: '10' } }, { isError: true });
      // its root has not arrived
      await trace({ parentSpanId: newSpanId(), result: { case_id: 'é' } });
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
      await trace({ name: quoted, result: { tags: [quoted] } });
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
        [experimentId, space.id],
      );
      const body = { metrics: metrics('count.count', 'duration_ms.p99'), group_by: ['case_id'] };
      const all = await stats(body);
      expect([all.rows.length, all.is_truncated, all.coverage.traces_found]).toEqual([10_000, true, 10_001]);
      expect(all.rows.at(-1)!.group).toEqual({ case_id: '02710' });
      const filters = [{ field: 'case_id', op: 'in', value: ['00001', '02711', 'absent'] }];
      const some = await stats({ ...body, filters });
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
        [experimentId, space.id],
      );
      const body = { metrics: metrics('count.count'), group_by: ['case_id', 'root_name', 'service_name'] };
      const found = await stats(body);
      expect([found.is_truncated, found.coverage.traces_found]).toEqual([true, 8_000]);
      expect(found.rows.length).toBeGreaterThan(7_000);
      expect(JSON.stringify(found.rows).length).toBeLessThan(32 * 1024 * 1024);
    });
  });

  describe('filtered', () => {
    beforeEach(async () => {
      await trace(
        { name: 'one', end: SPAN_START + 10n * MS, result: { case_id: 'c1', tags: ['x', 'y'] } },
        { attributes: usage('a', 100, 10, cost(0.5)) },
        { attributes: usage('b', 1, 1) },
      );
      await lasting(20, {
        name: 'two',
        start: SPAN_START + 5n * MS,
        isError: true,
        attributes: usage('b', 7, 3),
        result: { case_id: 'c2', tags: ['y'] },
      });
      await lasting(30, { name: 'three', start: SPAN_START + 10n * MS, result: { case_id: 'c3' } });
    });

    const chosen = async (...filters: [field: string, op: string, value: unknown][]) => {
      const found = await rows({
        metrics: metrics('count.count'),
        group_by: ['case_id'],
        filters: filters.map(([field, op, value]) => ({ field, op, value })),
      });
      return found.map((row) => row.group.case_id).join(' ');
    };

    it.each([
      [[['model', 'eq', 'a']], 'c1'],
      [[['model', 'in', ['a', 'b']]], 'c1 c2'],
      [[['model', 'eq', null]], 'c3'],
      [[['model', 'in', ['a', null]]], 'c1 c3'],
      [
        [
          ['model', 'eq', 'a'],
          ['model', 'eq', 'b'],
        ],
        'c1',
      ],
      [[['case_id', 'in', ['c3', 'c2', 'c9']]], 'c2 c3'],
      [[['root_name', 'eq', 'two']], 'c2'],
      [[['root_name', 'eq', 'Two']], ''],
      [[['status', 'eq', 'error']], 'c2'],
      [[['status', 'in', ['ok']]], 'c1 c3'],
      [[['tag', 'eq', 'x']], 'c1'],
      [[['tag', 'in', ['x', 'y']]], 'c1 c2'],
      [[['tag', 'eq', null]], 'c3'],
      [[['service_name', 'eq', 'shop']], 'c1 c2 c3'],
      [[['service_name', 'eq', null]], ''],
      [[['duration_ms', 'gte', 15]], 'c2 c3'],
      [
        [
          ['duration_ms', 'gte', 10],
          ['duration_ms', 'lte', 10],
        ],
        'c1',
      ],
      [[['duration_ms', 'in', [10, 20.5]]], 'c1'],
      [[['input_tokens', 'eq', 101]], 'c1'],
      [[['output_tokens', 'lte', 3]], 'c2'],
      [[['total_tokens', 'gte', 10]], 'c1 c2'],
      [[['total_tokens', 'eq', null]], 'c3'],
      [[['cost_usd', 'gte', 0.5]], 'c1'],
      [[['span_count', 'eq', 3]], 'c1'],
      [
        [
          ['error_count', 'gte', 1],
          ['model', 'eq', 'b'],
        ],
        'c2',
      ],
      [[['started_at', 'gte', '2026-11-20T00:00:00.005Z']], 'c2 c3'],
      [[['started_at', 'lte', '2026-11-20T01:00:00.005+01:00']], 'c1 c2'],
      [[['started_at', 'eq', '2026-11-20T00:00:00.010Z']], 'c3'],
    ] as [[string, string, unknown][], string][])('by %j are of %s', async (filters, expected) => {
      expect(await chosen(...filters)).toBe(expected);
    });

    it('by model tell of whole traces, unless they are grouped by it', async () => {
      const filters = [{ field: 'model', op: 'eq', value: 'b' }];
      expect(await values(['input_tokens.sum', 'count.count'], filters)).toEqual({
        'input_tokens.sum': 108,
        'count.count': 2,
      });
      const body = { metrics: metrics('input_tokens.sum', 'count.count'), group_by: ['model'], filters };
      expect(await rows(body)).toEqual([
        { group: { model: 'b' }, values: { 'input_tokens.sum': 8, 'count.count': 2 } },
      ]);
    });
  });

  describe('are refused', () => {
    const filter = (field: unknown, op: unknown, value: unknown) => ({ filters: [{ field, op, value }] });
    const many = <Item>(count: number, item: Item) => Array.from({ length: count }, () => item);

    it.each<[string, unknown, number, string | undefined]>([
      ['no object', [], 400, ''],
      ['an unknown member', { metric: [] }, 400, '/metric'],
      ['an unknown member of a metric', { metrics: [{ measure: 'count', aggregation: 'count', as: 'n' }] }, 400, '/metrics/0/as'],
      ['an unknown member of a filter', { filters: [{ field: 'tag', op: 'eq', value: 'x', not: true }] }, 400, '/filters/0/not'],
      ['a metric that is no object', { metrics: ['count'] }, 400, '/metrics/0'],
      ['metrics within a list', { metrics: [metrics('count.count')] }, 400, '/metrics/0'],
      ['no metric', { metrics: [null] }, 400, '/metrics/0'],
      ['a metric without its aggregation', { metrics: [{ measure: 'count' }] }, 400, '/metrics/0/aggregation'],
      ['a measure of the wrong type', { metrics: [{ measure: 1, aggregation: 'sum' }] }, 400, '/metrics/0/measure'],
      ['a filter without a value', { filters: [{ field: 'tag', op: 'eq' }] }, 400, '/filters/0/value'],
      ['groups that are no list', { group_by: 'model' }, 400, '/group_by'],
      ['a metric twice', { metrics: metrics('cost_usd.sum', 'cost_usd.avg', 'cost_usd.sum') }, 400, '/metrics/2'],
      ['a group twice', { group_by: ['model', 'model'] }, 400, '/group_by/1'],
      ['the mean of a count', { metrics: metrics('count.avg') }, 400, '/metrics/0/aggregation'],
      ['a number for a text', filter('model', 'eq', 1), 400, '/filters/0/value'],
      ['a text for a number', filter('cost_usd', 'gte', '1'), 400, '/filters/0/value'],
      ['a text too long', filter('tag', 'eq', 'x'.repeat(256)), 400, '/filters/0/value'],
      ['no time', filter('started_at', 'gte', 'yesterday'), 400, '/filters/0/value'],
      ['a text at least', filter('root_name', 'gte', 'a'), 400, '/filters/0/op'],
      ['null at least', filter('cost_usd', 'lte', null), 400, '/filters/0/value'],
      ['one value as a list', filter('model', 'eq', ['a']), 400, '/filters/0/value'],
      ['a list that is none', filter('model', 'in', 'a'), 400, '/filters/0/value'],
      ['an empty list', filter('model', 'in', []), 400, '/filters/0/value'],
      ['101 values', filter('span_count', 'in', many(101, 1)), 400, '/filters/0/value'],
      ['a list of mixed types', filter('model', 'in', ['a', 1]), 400, '/filters/0/value/1'],
      ['bounds that cross', { filters: [filter('span_count', 'lte', 2), filter('span_count', 'gte', 3)].flatMap((one) => one.filters) }, 400, '/filters/0/value'],
      ['21 metrics', { metrics: many(21, { measure: 'count', aggregation: 'count' }) }, 400, '/metrics'],
      ['21 filters', { filters: many(21, { field: 'tag', op: 'eq', value: 'x' }) }, 400, '/filters'],
      ['50,000 metrics', { metrics: many(50_000, 0) }, 400, '/metrics'],
      ['an unknown measure', { metrics: metrics('latency.p95') }, 422, '/metrics/0/measure'],
      ['an unknown aggregation', { metrics: metrics('cost_usd.p42') }, 422, '/metrics/0/aggregation'],
      ['an unknown group', { group_by: ['model', 'user'] }, 422, '/group_by'],
      ['an unknown field', filter('user', 'eq', 'x'), 422, '/filters/0/field'],
      ['an unknown operator', filter('model', 'like', 'x'), 422, '/filters/0/op'],
      ['an unknown status', filter('status', 'in', ['ok', 'failed']), 422, '/filters/0/value'],
      ['a filter by the count', filter('count', 'gte', 1), 422, '/filters/0/field'],
    ])('for %s', async (_, body, status, pointer) => {
      const answer = await ask(body);
      const code = status === 400 ? 'invalid_request' : 'validation_failed';
      expect([...outcome(answer), places(answer)[0]]).toEqual([status, code, pointer]);
    }); // prettier-ignore

    it('before the experiment is looked for where the form is wrong, and after it where a value is', async () => {
      const elsewhere = pathOf('exp_00000000000000000000000000');
      const asked = (body: unknown) => space.viewer.post(elsewhere, body);
      expect((await asked({ group_by: 'x' })).status).toBe(400);
      expect((await asked({ group_by: ['x'] })).status).toBe(404);
      expect((await asked({})).status).toBe(404);
    });

    it('to those who may not read', async () => {
      const runtime = await space.organization.as('runtime');
      expect(outcome(await runtime.post(pathOf(), {}))).toEqual([403, 'access_denied']);
      const withoutWorkspace = app.api(await space.organization.token('owner'));
      expect((await withoutWorkspace.post(pathOf(), {})).status).toBe(400);
      expect((await app.api().post(pathOf(), {})).status).toBe(401);
    });
  });

  it('are told to be unreadable, 503, when the store does not answer in time', async () => {
    await lasting(10);
    const { databaseUrl, issuer } = app;
    const hasty = await createTestApp({ env: { REQUEST_TIMEOUT_MS: '4000' }, databaseUrl, issuer });
    const viewer = hasty.api(await space.organization.token('viewer')).in(space.id);
    expect((await viewer.post(pathOf(), {})).status).toBe(200);
    const database = new Client({ connectionString: databaseUrl });
    await database.connect();
    await database.query('BEGIN');
    await database.query('LOCK TABLE traces');
    const answer: Answer = await viewer.post(pathOf(), {});
    await database.query('ROLLBACK');
    await database.end();
    expect(outcome(answer)).toEqual([503, 'service_unavailable']);
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
    let status = 0;
    for (let attempt = 0; attempt < 50 && status !== 200; attempt++) {
      ({ status } = await viewer.post(pathOf(), {}));
      if (status !== 200) await delay(100);
    }
    await hasty.close();
    expect(status).toBe(200);
  });
});
