import { sharedApp, SPAN_START, type TestSpan } from '#testing';
import { addMissingSessions, MINUTE, MS, ReadingWorkspace, SESSIONS } from './reading.fixture';

describe('sessions', () => {
  const app = sharedApp();
  let space: ReadingWorkspace;

  beforeAll(async () => {
    space = await ReadingWorkspace.open(app);
  });

  const turn = (minute: number, session: string | undefined, more: TestSpan['attributes'] = {}) => ({
    name: `at ${minute}`,
    start: SPAN_START + BigInt(minute) * MINUTE,
    end: SPAN_START + BigInt(minute) * MINUTE + 5n * MS,
    attributes: { ...(session !== undefined && { 'session.id': session }), ...more },
  });
  const usage = (input: number, output: number, cost?: number) => ({
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': input > 5 ? 'large' : 'small',
    'gen_ai.usage.input_tokens': input,
    'gen_ai.usage.output_tokens': output,
    ...(cost !== undefined && { 'gen_ai.usage.cost': cost }),
  });
  const list = async (of: ReadingWorkspace, query = ''): Promise<{ items: any[]; page: any }> => {
    const { status, body } = await of.viewer.get(SESSIONS + query);
    expect(status).toBe(200);
    return body;
  };
  const ids = ({ items }: { items: any[] }): string[] => items.map((session) => session.session_id);

  it('are listed with totals, by their last trace', async () => {
    await space.send([
      turn(1, 'a', usage(10, 1, 0.1)),
      turn(2, 'b', usage(1, 1, 0.5)),
      turn(4, undefined),
      { ...turn(3, 'a', usage(5, 2, 0.2)), isError: true },
    ]);
    await space.send([turn(5, 'b')], { 'service.name': 'depot' });
    const { items, page } = await list(space);
    expect(page).toEqual({ limit: 50, offset: 0, total: 2, next_cursor: null });
    const unlabelled = {
      user_id: null,
      environment: null,
      prompt_name: null,
      prompt_version: null,
      tags: [],
      input_preview: null,
      output_preview: null,
    };
    expect(items).toEqual([
      {
        session_id: 'b',
        first_started_at: '2026-11-20T00:02:00.000Z',
        last_started_at: '2026-11-20T00:05:00.000Z',
        trace_count: 2,
        span_count: 2,
        error_count: 0,
        input_tokens: 1,
        output_tokens: 1,
        cost_usd: 0.5,
        models: ['small'],
        service_names: ['depot', 'shop'],
        is_truncated: false,
        unpriced_count: 0,
        ...unlabelled,
      },
      {
        session_id: 'a',
        first_started_at: '2026-11-20T00:01:00.000Z',
        last_started_at: '2026-11-20T00:03:00.000Z',
        trace_count: 2,
        span_count: 2,
        error_count: 1,
        input_tokens: 15,
        output_tokens: 3,
        cost_usd: 0.3,
        models: ['large', 'small'],
        service_names: ['shop'],
        is_truncated: false,
        unpriced_count: 0,
        ...unlabelled,
      },
    ]);
    expect(ids(await list(space, '?sort=last_started_at'))).toEqual(['a', 'b']);
  });

  it('sum the known costs, and count the traces whose cost is unknown', async () => {
    const own = await ReadingWorkspace.open(app);
    await own.send([
      turn(1, 'unknown', usage(1, 1, 0.1)),
      turn(2, 'unknown', usage(1, 1)),
      turn(3, 'known', usage(1, 1, 0.1)),
      turn(4, 'known'),
      turn(5, 'none'),
    ]);
    const { items } = await list(own);
    const costs = items.map((one) => [one.session_id, one.cost_usd, one.unpriced_count, one.input_tokens]);
    expect(costs).toEqual([
      ['none', null, 0, null],
      ['known', 0.1, 0, 1],
      ['unknown', 0.1, 1, 2],
    ]);
  });

  it('filter by the start of their last trace', async () => {
    expect(ids(await list(space, '?since=2026-11-20T00:05:00Z'))).toEqual(['b']);
    expect(ids(await list(space, '?until=2026-11-20T00:05:00Z'))).toEqual(['a']);
    expect((await list(space, '?until=2026-11-20T00:05:00Z')).page.total).toBe(1);
  });

  it('are paged without gaps or repeats', async () => {
    const own = await ReadingWorkspace.open(app);
    await own.send(Array.from({ length: 200 }, (_, n) => turn(n, n % 3 === 0 ? undefined : `s ${n % 41}`)));
    const whole = await list(own, '?limit=500');
    expect(whole.page.total).toBe(41);
    for (const sort of ['-last_started_at', 'last_started_at']) {
      const { items } = await own.pages(`${SESSIONS}?limit=4&sort=${sort}`);
      expect(items).toEqual(sort.startsWith('-') ? whole.items : [...whole.items].reverse());
    }
    expect(ids(await list(own, '?offset=39'))).toEqual(ids(whole).slice(39));
  });

  it('are listed and counted if one session has most of the traces', async () => {
    const own = await ReadingWorkspace.open(app);
    await app.database.query(
      `INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models, session_id)
       SELECT $1, lpad(to_hex(n), 32, '0'), timestamptz '2026-11-20' + n * interval '1 second',
              timestamptz '2026-11-20' + n * interval '1 second', 1, 0, '{}',
              CASE WHEN n <= 3 THEN 'old ' || n ELSE 'default' END
       FROM generate_series(1, 22000) n`,
      [own.id],
    );
    await addMissingSessions(app.database);
    const first = await list(own, '?limit=3');
    expect([ids(first), first.page.total]).toEqual([['default', 'old 3', 'old 2'], 4]);
    expect(first.items[0]).toMatchObject({
      trace_count: 10_000,
      span_count: 10_000,
      is_truncated: true,
      first_started_at: '2026-11-20T00:00:04.000Z',
      last_started_at: '2026-11-20T06:06:40.000Z',
    });
    const second = await list(own, `?cursor=${first.page.next_cursor}`);
    expect([ids(second), second.page.total]).toEqual([['old 1'], 4]);
  });

  it('can have any id', async () => {
    const own = await ReadingWorkspace.open(app);
    const names = ['a/b/c', 'with blanks', '漢字 🚀', '%2F', 'a?b#c', 'x'.repeat(255), '..%2f..', '0'];
    await own.send(names.map((name, n) => turn(n, name)));
    for (const [n, name] of names.entries()) {
      const path = `${SESSIONS}/${encodeURIComponent(name)}`;
      const { status, body } = await own.viewer.get(path);
      expect([name, status, body.session_id, body.trace_count]).toEqual([name, 200, name, 1]);
      const traces = await own.viewer.get(`${path}/traces`);
      expect(traces.body.items.map((trace: any) => trace.root_name)).toEqual([`at ${n}`]);
    }
  });

  it('list their traces with the scores that the list of traces shows', async () => {
    const { body } = await space.viewer.get(`${SESSIONS}/a/traces?limit=1`);
    const { trace_id } = body.items[0] as { trace_id: string };
    const score = { scorer_name: 'polite', trace_id, score: 0.25 };
    const evaluator = await space.organization.as('evaluator');
    expect((await evaluator.post('/eval/v1/scores', { workspace_id: space.id, ...score })).status).toBe(201);
    const scored = (await space.viewer.get(`${SESSIONS}/a/traces?limit=1`)).body.items[0].scores as unknown[];
    expect(scored).toMatchObject([{ scorer_name: 'polite', score: 0.25 }]);
    const [listed] = (await space.viewer.get(`/telemetry/v1/traces?session_id=a&limit=1`)).body.items;
    expect(listed.scores).toEqual(scored);
  });

  it('list their traces by start', async () => {
    const path = `${SESSIONS}/a/traces`;
    const names = async (query: string): Promise<string[]> => {
      const { status, body } = await space.viewer.get(path + query);
      expect(status).toBe(200);
      return body.items.map((trace: any) => trace.root_name);
    };
    expect(await names('')).toEqual(['at 3', 'at 1']);
    expect(await names('?sort=started_at&limit=1')).toEqual(['at 1']);
    expect(await names('?since=2026-11-20T00:02:00Z')).toEqual(['at 3']);
    expect(await names('?since=2027-01-01T00:00:00Z')).toEqual([]);
    expect((await space.viewer.get(`${path}?session_id=b`)).status).toBe(400);
  });

  it('return 404 without traces, and in other workspaces', async () => {
    const elsewhere = space.viewer.in(await space.organization.newWorkspace());
    for (const rest of ['', '/traces']) {
      for (const id of ['c', 'x'.repeat(256), 'a%00', 'A']) {
        const { status, body } = await space.viewer.get(`${SESSIONS}/${id}${rest}`);
        expect([id, status, body.code]).toEqual([id, 404, 'not_found']);
      }
      expect((await elsewhere.get(`${SESSIONS}/a${rest}`)).status).toBe(404);
      const runtime = await space.organization.as('runtime');
      expect((await runtime.get(`${SESSIONS}/a${rest}`)).status).toBe(403);
      const malformed = await space.viewer.get(`${SESSIONS}/%E0%A4%A${rest}`);
      expect([malformed.status, malformed.body.code]).toEqual([400, 'invalid_request']);
    }
    expect((await elsewhere.get(SESSIONS)).body.items).toEqual([]);
    for (const query of ['?user=1', '?sort=started_at&limit=x', '?cursor=x', '?since=x']) {
      expect((await space.viewer.get(SESSIONS + query)).body.code).toBe('invalid_query');
    }
  });
});
