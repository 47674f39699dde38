import { type Answer, sharedApp, SPAN_START, type TestSpan } from '#testing';
import { metrics, type StatsRow, usage } from '../evaluation/trace-stats.fixture';
import { MS, ReadingWorkspace } from './reading.fixture';

const PATH = '/telemetry/v1/traces/stats/query';
const DAY = 86_400_000n * MS;

/** A period that starts at SPAN_START, which is midnight. */
const WEEK = { since: '2026-11-20T00:00:00Z', until: '2026-11-27T00:00:00Z' };

describe('statistics of the traces of a workspace', () => {
  const app = sharedApp();
  let space: ReadingWorkspace;

  beforeEach(async () => {
    space = await ReadingWorkspace.open(app);
  });

  const at = (days: bigint, ms: bigint, more: Partial<TestSpan> = {}): Partial<TestSpan> => {
    const start = SPAN_START + days * DAY;
    return { start, end: start + ms * MS, ...more };
  };
  const ask = (body?: unknown): Promise<Answer> => space.viewer.post(PATH, body);
  const rows = async (body: object): Promise<StatsRow[]> => {
    const { status, body: answer } = await ask({ ...WEEK, metrics: metrics('count.count'), ...body });
    expect([status, answer]).toEqual([200, expect.anything()]);
    return answer.rows as StatsRow[];
  };
  const counts = async (body: object): Promise<unknown[][]> =>
    (await rows(body)).map(({ group, values }) => [...Object.values(group), values['count.count']]);

  it('have count, duration, tokens, cost and errors by default', async () => {
    await space.send([
      at(0n, 100n, { attributes: usage('priced', 1_000, 100) }),
      at(1n, 300n, { attributes: usage('gpt-4o', 1_000, 100), isError: true }),
      at(2n, 200n),
    ]);
    const { body } = await ask(WEEK);
    expect(body).toEqual({
      rows: [
        {
          group: {},
          values: {
            'count.count': 3,
            'duration_ms.p50': 200,
            'duration_ms.p95': 290,
            'input_tokens.sum': 2_000,
            'output_tokens.sum': 200,
            'total_tokens.sum': 2_200,
            // from MODEL_PRICES and from the built-in prices
            'cost_usd.sum': expect.closeTo(0.0028 + 0.0035, 10),
            'error_count.sum': 1,
          },
        },
      ],
      since: '2026-11-20T00:00:00.000Z',
      until: '2026-11-27T00:00:00.000Z',
      is_truncated: false,
    });
  });

  it('cover the last seven days by default', async () => {
    const now = BigInt(Date.now()) * MS;
    await space.send([
      { start: now - 6n * DAY, end: now - 6n * DAY },
      { start: now - 8n * DAY, end: now - 8n * DAY },
    ]);
    for (const body of [undefined, {}, { metrics: [], group_by: null, filters: null }]) {
      const { body: answer } = await ask(body);
      expect(answer.rows[0].values['count.count']).toBe(1);
      expect(Date.parse(answer.until) - Date.parse(answer.since)).toBe(7 * 86_400_000);
    }
    const until = new Date(Date.now() - 7 * 86_400_000).toISOString();
    const { body: earlier } = await ask({ until });
    expect([earlier.rows[0].values['count.count'], earlier.until]).toEqual([1, until]);
  });

  it('cover nothing if `since` is in the future', async () => {
    const since = new Date(Date.now() + 86_400_000).toISOString();
    const { body } = await ask({ since });
    expect([body.since, body.until, body.rows[0].values['count.count']]).toEqual([since, since, 0]);
  });

  it('include `since` and exclude `until`, to the microsecond', async () => {
    await space.send([at(0n, 1n)]);
    const range = (since: string, until: string) => counts({ since, until });
    expect(await range('2026-11-20T00:00:00Z', '2026-11-20T00:00:00.000001Z')).toEqual([[1]]);
    expect(await range('2026-11-20T00:00:00.000001Z', '2026-11-21T00:00:00Z')).toEqual([[0]]);
    expect(await range('2026-11-19T00:00:00Z', '2026-11-20T00:00:00Z')).toEqual([[0]]);
  });

  it('are zero, or have no groups, for an empty time range', async () => {
    await space.send([at(0n, 1n)]);
    const moment = { since: WEEK.since, until: WEEK.since };
    expect(await counts(moment)).toEqual([[0]]);
    expect(await counts({ ...moment, group_by: ['model'] })).toEqual([]);
    expect(await counts({ since: '0001-01-01T00:00:00Z', until: '0001-01-01T00:00:00Z' })).toEqual([[0]]);
    expect((await ask({ until: '0001-01-01T00:00:00Z' })).status).toBe(200);
  });

  it.each([
    ['a `since` after `until`', { since: WEEK.until, until: WEEK.since }, 400],
    ['something other than a time', { since: 'yesterday' }, 400],
    ['null as a time', { since: null }, 400],
    ['an unknown member', { ...WEEK, group: ['day'] }, 400],
    ['a repeated group', { ...WEEK, group_by: ['day', 'day'] }, 400],
    ['a label that only results have', { ...WEEK, group_by: ['case_id'] }, 422],
    [
      'a filter by a label of results',
      { ...WEEK, filters: [{ field: 'case_id', op: 'eq', value: 'x' }] },
      422,
    ],
    ['a filter by the day', { ...WEEK, filters: [{ field: 'day', op: 'eq', value: '2026-11-20' }] }, 422],
    ['an unknown status', { ...WEEK, filters: [{ field: 'status', op: 'eq', value: 'odd' }] }, 422],
    ['bounds for a text', { ...WEEK, filters: [{ field: 'session_id', op: 'gte', value: 'x' }] }, 400],
  ])('reject %s', async (_, body, status) => {
    expect((await ask(body)).status).toBe(status);
  });

  it('group by day, session, service, root, status and model', async () => {
    const session = { 'session.id': 's1' };
    await space.send([
      at(0n, 1n, { name: 'ask', attributes: { ...session, ...usage('priced', 1_000, 0) } }),
      at(0n, 1n, { name: 'ask', start: SPAN_START + DAY - 1n, end: SPAN_START + DAY, isError: true }),
      at(1n, 1n, { name: 'plan', attributes: { ...session, ...usage('other', 5, 0) } }),
    ]);
    await space.send([at(1n, 1n, { name: 'plan' })], { 'service.name': 'depot' });
    const by = (...group_by: string[]) => counts({ group_by });
    expect(await by('day')).toEqual([
      ['2026-11-20', 2],
      ['2026-11-21', 2],
    ]);
    expect(await by('session_id')).toEqual([
      ['s1', 2],
      [null, 2],
    ]);
    expect(await by('root_name', 'day')).toEqual([
      ['ask', '2026-11-20', 2],
      ['plan', '2026-11-21', 2],
    ]);
    expect(await by('service_name')).toEqual([
      ['depot', 1],
      ['shop', 3],
    ]);
    expect(await by('status')).toEqual([
      ['error', 1],
      ['ok', 3],
    ]);
    const byModel = await rows({
      group_by: ['model', 'day'],
      metrics: metrics('cost_usd.sum', 'input_tokens.sum'),
    });
    expect(byModel.map(({ group, values }) => [group.model, group.day, ...Object.values(values)])).toEqual([
      ['other', '2026-11-21', null, 5],
      ['priced', '2026-11-20', 0.002, 1_000],
    ]);
  });

  it('filter like the list', async () => {
    await space.send([
      at(0n, 10n, { name: 'ask', attributes: { 'session.id': 's1', ...usage('a', 10, 0) } }),
      at(1n, 20n, { name: 'plan', isError: true, attributes: usage('b', 5, 0) }),
    ]);
    const filtered = (...filters: [field: string, op: string, value: unknown][]) =>
      counts({ filters: filters.map(([field, op, value]) => ({ field, op, value })) });
    for (const [field, op, value] of [
      ['session_id', 'eq', 's1'],
      ['session_id', 'in', ['s1', 's2']],
      ['root_name', 'eq', 'ask'],
      ['model', 'eq', 'a'],
      ['status', 'eq', 'ok'],
      ['duration_ms', 'lte', 10],
      ['started_at', 'lte', '2026-11-20T12:00:00Z'],
      ['input_tokens', 'gte', 10],
    ] as [string, string, unknown][]) {
      expect([field, await filtered([field, op, value])]).toEqual([field, [[1]]]);
    }
    expect(await filtered(['session_id', 'in', ['s1', null]])).toEqual([[2]]);
    expect(await filtered(['service_name', 'eq', 'shop'])).toEqual([[2]]);
    expect(await filtered(['session_id', 'eq', 's1'], ['model', 'eq', 'b'])).toEqual([[0]]);
    expect(
      await counts({ group_by: ['session_id'], filters: [{ field: 'session_id', op: 'eq', value: null }] }),
    ).toEqual([[null, 1]]);
  });

  it('need only the role viewer, and do not include other workspaces', async () => {
    await space.send([at(0n, 1n)]);
    const other = await ReadingWorkspace.open(app);
    const { body } = await other.viewer.post(PATH, WEEK);
    expect(body.rows[0].values['count.count']).toBe(0);
  });
});
