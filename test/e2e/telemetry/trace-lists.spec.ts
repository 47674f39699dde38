import { sharedApp, SPAN_START } from '#testing';
import { TRACES } from './otlp.harness';
import { MINUTE, MS, ReadingWorkspace } from './reading.fixture';

const query = (parameters: Record<string, string>): string =>
  `?${new URLSearchParams(parameters).toString()}`;

describe('the list of traces', () => {
  const app = sharedApp();
  let space: ReadingWorkspace;

  beforeAll(async () => {
    space = await ReadingWorkspace.open(app);
  });

  it('returns each trace with its totals, newest first', async () => {
    const own = await ReadingWorkspace.open(app);
    const [first] = await own.send([
      {
        name: 'first',
        isError: true,
        attributes: {
          'session.id': 'ses_1',
          'gen_ai.request.model': 'gpt-4o',
          'gen_ai.usage.input_tokens': 7,
          'gen_ai.usage.output_tokens': 9,
          'gen_ai.usage.cost': 0.5,
        },
      },
    ]);
    await own.send([{ name: 'second', start: SPAN_START + MINUTE, end: SPAN_START + MINUTE }]);
    const { items, page } = await own.list();
    expect(page).toEqual({ limit: 50, offset: 0, total: 2, next_cursor: null });
    expect(items.map((trace) => [trace.root_name, trace.status])).toEqual([
      ['second', 'ok'],
      ['first', 'error'],
    ]);
    expect(items[1]).toEqual({
      user_id: null,
      environment: null,
      tags: [],
      prompt_name: null,
      prompt_version: null,
      input_preview: null,
      output_preview: null,
      trace_id: first,
      root_name: 'first',
      started_at: '2026-11-20T00:00:00.000Z',
      ended_at: '2026-11-20T00:00:00.005Z',
      duration_ms: 5,
      span_count: 1,
      error_count: 1,
      masked_count: 0,
      status: 'error',
      input_tokens: 7,
      output_tokens: 9,
      cost_usd: 0.5,
      models: ['gpt-4o'],
      session_id: 'ses_1',
      service_name: 'shop',
      agent_version: null,
      scores: [],
    });
    expect(await own.names('?sort=started_at')).toEqual(['first', 'second']);
    expect(await own.names('?limit=1')).toEqual(['second']);
    expect(await own.names('?offset=1')).toEqual(['first']);
  });

  describe('with filters', () => {
    beforeAll(async () => {
      const at = (minute: number) => ({ start: SPAN_START + BigInt(minute) * MINUTE });
      const lasting = (minute: number, ms: bigint) => ({
        ...at(minute),
        end: at(minute).start + ms * MS,
      });
      await space.send([
        { name: 'ask', ...lasting(1, 10n), attributes: { 'session.id': 's/1', 'gen_ai.request.model': 'a' } },
        { name: 'ask', ...lasting(2, 20n), isError: true, attributes: { 'gen_ai.request.model': 'b' } },
        {
          name: 'plan',
          ...lasting(3, 300n),
          attributes: { 'input.value': 'Say "50%" of\nthis', 'output.value': '{"n": 5}' },
        },
      ]);
      const [other] = await space.send(
        [{ name: 'else', ...lasting(4, 4000n), attributes: { 'user.age': 42, 'llm.is_streaming': true } }],
        { 'service.name': 'depot', 'deployment.environment': 'staging:eu' },
      );
      const below = {
        traceId: other!,
        parentSpanId: '00f067aa0ba902b7',
        name: 'Look_up',
        ...lasting(4, 5n),
        attributes: { 'tool.name': 'search' },
      };
      await space.send([below], { 'service.name': 'depot' });
    });

    const filters: [string, Record<string, string>, string[]][] = [
      ['a session', { session_id: 's/1' }, ['ask']],
      ['a service', { service_name: 'depot' }, ['else']],
      ['a root name', { root_name: 'ask' }, ['ask', 'ask']],
      ['a model', { model: 'b' }, ['ask']],
      ['an error status', { status: 'error' }, ['ask']],
      ['an ok status', { status: 'ok' }, ['else', 'plan', 'ask']],
      ['a minimum duration', { min_duration_ms: '20' }, ['else', 'plan', 'ask']],
      ['a maximum duration', { max_duration_ms: '20' }, ['ask', 'ask']],
      ['a range of durations', { min_duration_ms: '20.000', max_duration_ms: '300' }, ['plan', 'ask']],
      ['an inclusive start', { since: '2026-11-20T00:03:00Z' }, ['else', 'plan']],
      ['an exclusive end', { until: '2026-11-20T00:03:00.000000Z' }, ['ask', 'ask']],
      [
        'a range of one microsecond',
        { since: '2026-11-20T00:03:00Z', until: '2026-11-20T00:03:00.000001Z' },
        ['plan'],
      ],
      ['a text attribute', { attribute: 'tool.name:search' }, ['else']],
      ['a number attribute', { attribute: 'user.age:42' }, ['else']],
      ['a boolean attribute', { attribute: 'llm.is_streaming:true' }, ['else']],
      ['a resource attribute', { attribute: 'deployment.environment:staging:eu' }, ['else']],
      ['part of an attribute value', { attribute: 'tool.name:sea' }, []],
      ['a span name in any case', { q: 'look_UP' }, ['else']],
      ['a literal percent sign', { q: 'l%k' }, []],
      ['literal underscores', { q: 'l__k_up' }, []],
      ['part of a root name', { q: 'PLA' }, ['plan']],
      ['a text from the input', { q: 'say "50%" of\nthis' }, ['plan']],
      ['JSON from the output', { q: '{"n":5' }, ['plan']],
      ['several filters', { root_name: 'ask', service_name: 'shop', status: 'ok', model: 'a' }, ['ask']],
      ['filters that exclude each other', { session_id: 's/1', model: 'b' }, []],
      ['a text and other filters', { service_name: 'shop', q: 'ask', min_duration_ms: '11' }, ['ask']],
    ];
    it.each(filters)('returns exactly the traces that match %s', async (_, parameters, names) => {
      const { items, page } = await space.list(query(parameters));
      expect(items.map((trace) => trace.root_name)).toEqual(names);
      expect(page).toEqual({ limit: 50, offset: 0, total: names.length, next_cursor: null });
    });

    it('finds a trace by any of many models', async () => {
      const [traceId] = await space.send([{ name: 'of many models' }]);
      await space.send(
        Array.from({ length: 150 }, (_, n) => ({
          traceId,
          parentSpanId: '0000000000000001',
          attributes: { 'gen_ai.request.model': `many ${String(n).padStart(3, '0')}` },
        })),
      );
      for (const model of ['many 000', 'many 149']) {
        expect(await space.names(`?model=${encodeURIComponent(model)}`)).toEqual(['of many models']);
        const both = `?model=${encodeURIComponent(model)}&session_id=${encodeURIComponent('none')}`;
        expect(await space.names(both)).toEqual([]);
      }
    });

    it('finds a trace by attributes of any of its spans', async () => {
      const age = 'attribute=user.age:42';
      expect(await space.names(`?${age}&attribute=tool.name:search`)).toEqual(['else']);
      expect(await space.names(`?${age}&attribute=tool.name:find`)).toEqual([]);
    });

    it('is paged without gaps or repeats, each page with the same total', async () => {
      for (const filter of ['', '&root_name=ask', '&status=ok', '&q=a', '&attribute=service.name:shop']) {
        const all = await space.list(`?limit=500${filter}`);
        for (const sort of ['-started_at', 'started_at']) {
          const { items } = await space.pages(`${TRACES}?limit=1&sort=${sort}${filter}`);
          const expected = sort === '-started_at' ? all.items : [...all.items].reverse();
          expect(items).toEqual(expected);
        }
        const { page } = await space.list(`?limit=1${filter}`);
        expect([page.total, page.next_cursor !== null]).toEqual([all.items.length, all.items.length > 1]);
        const none = await space.list(`?limit=0${filter}`);
        expect([none.items, none.page.total, none.page.next_cursor]).toEqual([[], all.items.length, null]);
      }
    });
  });

  it('rejects unknown parameters', async () => {
    const wrong: [string, number, string][] = [
      ['?sesion_id=x', 400, 'invalid_query'],
      ['?cursor=nonsense', 400, 'invalid_query'],
      ['?q=a&cursor=nonsense', 400, 'invalid_query'],
      ['?q=a&cursor=x&offset=1', 400, 'invalid_query'],
      ['?limit=501', 400, 'invalid_query'],
      ['?session_id=', 400, 'invalid_query'],
      [`?session_id=${'x'.repeat(256)}`, 400, 'invalid_query'],
      ['?session_id=%00', 400, 'invalid_query'],
      ['?q=%00', 400, 'invalid_query'],
      ['?since=yesterday', 400, 'invalid_query'],
      ['?since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z', 400, 'invalid_query'],
      ['?min_duration_ms=-1', 400, 'invalid_query'],
      ['?min_duration_ms=NaN', 400, 'invalid_query'],
      ['?min_duration_ms=5&max_duration_ms=4', 400, 'invalid_query'],
      ['?attribute=key', 400, 'invalid_query'],
      ['?attribute=:value', 400, 'invalid_query'],
      [`?${'attribute=a:b&'.repeat(11)}`, 400, 'invalid_query'],
      ['?status=failed', 422, 'validation_failed'],
      ['?sort=span_count', 422, 'validation_failed'],
    ];
    for (const [parameters, status, code] of wrong) {
      const { body } = await space.viewer.get(TRACES + parameters);
      expect([parameters, body.status, body.code]).toEqual([parameters, status, code]);
    }
  });

  it('accepts only cursors of its own sort', async () => {
    const { page } = await space.list('?limit=1&root_name=ask');
    const { body } = await space.viewer.get(`${TRACES}?sort=started_at&cursor=${page.next_cursor}`);
    expect([body.status, body.code]).toEqual([400, 'invalid_query']);
  });

  it('is limited to readers and traces of the workspace', async () => {
    const other = await ReadingWorkspace.open(app);
    for (const parameters of ['', '?q=a', '?service_name=shop', '?model=a', '?attribute=service.name:shop']) {
      expect((await other.list(parameters)).items).toEqual([]);
    }
    const runtime = await space.organization.as('runtime');
    expect((await runtime.get(TRACES)).status).toBe(403);
    const elsewhere = space.viewer.in(await space.organization.newWorkspace());
    expect((await elsewhere.get(`${TRACES}?root_name=ask`)).body.items).toEqual([]);
  });
});
