import { sharedApp, SPAN_START } from '#testing';
import { outcome, places } from './evaluation.harness';
import { cost, metrics, MS, statsPath, TracedExperiment, usage } from './trace-stats.fixture';

describe('trace stats queries', () => {
  const app = sharedApp();
  let on: TracedExperiment;

  beforeAll(async () => {
    on = await TracedExperiment.open(app);
  });

  describe('with filters', () => {
    beforeAll(async () => {
      await on.trace(
        { name: 'one', end: SPAN_START + 10n * MS, result: { case_id: 'c1', tags: ['x', 'y'] } },
        { attributes: usage('a', 100, 10, cost(0.5)) },
        { attributes: usage('b', 1, 1, cost(0)) },
      );
      await on.lasting(20, {
        name: 'two',
        start: SPAN_START + 5n * MS,
        isError: true,
        attributes: usage('b', 7, 3),
        result: { case_id: 'c2', tags: ['y'] },
      });
      await on.lasting(30, { name: 'three', start: SPAN_START + 10n * MS, result: { case_id: 'c3' } });
    });

    const chosen = async (...filters: [field: string, op: string, value: unknown][]) => {
      const rows = await on.rows({
        metrics: metrics('count.count'),
        group_by: ['case_id'],
        filters: filters.map(([field, op, value]) => ({ field, op, value })),
      });
      return rows.map((row) => row.group.case_id).join(' ');
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
      // The cost of c2 is unknown.
      [[['cost_usd', 'lte', 1]], 'c1'],
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
    ] as [[string, string, unknown][], string][])(
      'apply %j, which matches "%s"',
      async (filters, expected) => {
        expect(await chosen(...filters)).toBe(expected);
      },
    );

    it('cover whole traces with a filter by model, unless grouped by model', async () => {
      const filters = [{ field: 'model', op: 'eq', value: 'b' }];
      expect(await on.values(['input_tokens.sum', 'count.count'], filters)).toEqual({
        'input_tokens.sum': 108,
        'count.count': 2,
      });
      const body = { metrics: metrics('input_tokens.sum', 'count.count'), group_by: ['model'], filters };
      expect(await on.rows(body)).toEqual([
        { group: { model: 'b' }, values: { 'input_tokens.sum': 8, 'count.count': 2 } },
      ]);
    });
  });

  describe('that are invalid', () => {
    const filter = (field: unknown, op: unknown, value: unknown) => ({ filters: [{ field, op, value }] });
    const many = <Item>(count: number, item: Item) => Array.from({ length: count }, () => item);

    it.each<[string, unknown, number, string | undefined]>([
      ['a body that is not an object', [], 400, ''],
      ['an unknown member', { metric: [] }, 400, '/metric'],
      ['an unknown member of a metric', { metrics: [{ measure: 'count', aggregation: 'count', as: 'n' }] }, 400, '/metrics/0/as'],
      ['an unknown member of a filter', { filters: [{ field: 'tag', op: 'eq', value: 'x', not: true }] }, 400, '/filters/0/not'],
      ['a metric that is not an object', { metrics: ['count'] }, 400, '/metrics/0'],
      ['metrics in a nested array', { metrics: [metrics('count.count')] }, 400, '/metrics/0'],
      ['a null metric', { metrics: [null] }, 400, '/metrics/0'],
      ['a metric without its aggregation', { metrics: [{ measure: 'count' }] }, 400, '/metrics/0/aggregation'],
      ['a measure of the wrong type', { metrics: [{ measure: 1, aggregation: 'sum' }] }, 400, '/metrics/0/measure'],
      ['a filter without a value', { filters: [{ field: 'tag', op: 'eq' }] }, 400, '/filters/0/value'],
      ['groups that are not an array', { group_by: 'model' }, 400, '/group_by'],
      ['a repeated metric', { metrics: metrics('cost_usd.sum', 'cost_usd.avg', 'cost_usd.sum') }, 400, '/metrics/2'],
      ['a repeated group', { group_by: ['model', 'model'] }, 400, '/group_by/1'],
      ['the mean of a count', { metrics: metrics('count.avg') }, 400, '/metrics/0/aggregation'],
      ['a number instead of a string', filter('model', 'eq', 1), 400, '/filters/0/value'],
      ['a string instead of a number', filter('cost_usd', 'gte', '1'), 400, '/filters/0/value'],
      ['a string that is too long', filter('tag', 'eq', 'x'.repeat(256)), 400, '/filters/0/value'],
      ['an invalid time', filter('started_at', 'gte', 'yesterday'), 400, '/filters/0/value'],
      ['a lower bound on a string', filter('root_name', 'gte', 'a'), 400, '/filters/0/op'],
      ['null as a bound', filter('cost_usd', 'lte', null), 400, '/filters/0/value'],
      ['an array for eq', filter('model', 'eq', ['a']), 400, '/filters/0/value'],
      ['no array for in', filter('model', 'in', 'a'), 400, '/filters/0/value'],
      ['an empty array', filter('model', 'in', []), 400, '/filters/0/value'],
      ['101 values', filter('span_count', 'in', many(101, 1)), 400, '/filters/0/value'],
      ['an array of mixed types', filter('model', 'in', ['a', 1]), 400, '/filters/0/value/1'],
      ['contradictory bounds', { filters: [filter('span_count', 'lte', 2), filter('span_count', 'gte', 3)].flatMap((one) => one.filters) }, 400, '/filters/0/value'],
      ['21 metrics', { metrics: many(21, { measure: 'count', aggregation: 'count' }) }, 400, '/metrics'],
      ['21 filters', { filters: many(21, { field: 'tag', op: 'eq', value: 'x' }) }, 400, '/filters'],
      ['20,000 metrics', { metrics: many(20_000, 0) }, 400, '/metrics'],
      ['an unknown measure', { metrics: metrics('latency.p95') }, 422, '/metrics/0/measure'],
      ['an unknown aggregation of the count', { metrics: metrics('count.p42') }, 422, '/metrics/0/aggregation'],
      ['an unknown aggregation', { metrics: metrics('cost_usd.p42') }, 422, '/metrics/0/aggregation'],
      ['an unknown group', { group_by: ['model', 'user'] }, 422, '/group_by/1'],
      ['an unknown field', filter('user', 'eq', 'x'), 422, '/filters/0/field'],
      ['an unknown operator', filter('model', 'like', 'x'), 422, '/filters/0/op'],
      ['an unknown status', filter('status', 'in', ['ok', 'failed']), 422, '/filters/0/value'],
      ['a filter by the count', filter('count', 'gte', 1), 422, '/filters/0/field'],
    ])('are rejected with %s', async (_, body, status, pointer) => {
      const answer = await on.ask(body);
      const code = status === 400 ? 'invalid_request' : 'validation_failed';
      expect([...outcome(answer), places(answer)[0]]).toEqual([status, code, pointer]);
    }); // oxfmt-ignore

    it('are checked in order: form, experiment, values', async () => {
      const elsewhere = statsPath('exp_00000000000000000000000000');
      const post = (body: unknown) => on.space.viewer.post(elsewhere, body);
      expect((await post({ group_by: 'x' })).status).toBe(400);
      expect((await post({ group_by: ['x'] })).status).toBe(404);
      expect((await post({})).status).toBe(404);
    });

    it('are rejected for callers without read access', async () => {
      const runtime = await on.space.organization.as('runtime');
      expect(outcome(await runtime.post(statsPath(on.id), {}))).toEqual([403, 'access_denied']);
      const withoutWorkspace = app.api(await on.space.organization.token('owner'));
      expect((await withoutWorkspace.post(statsPath(on.id), {})).status).toBe(400);
      expect((await app.api().post(statsPath(on.id), {})).status).toBe(401);
    });
  });
});
