import { SourceRunner } from './run-source.fixture';
import { TOOL_CALL_ACCURACY, TOOL_ORDER } from './tool-calls.source';

type Attributes = Record<string, string>;

const span = (attributes: Attributes, at = 0, name = 'step') => ({
  name,
  started_at: new Date(1_767_600_000_000 + at).toISOString(),
  attributes,
});
/** Creates the span of a call by the conventions of OpenTelemetry. */
const call = (name: string, args: object = {}, at = 0) =>
  span(
    {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': name,
      'gen_ai.tool.call.arguments': JSON.stringify(args),
    },
    at,
  );
const traceOf = (...spans: object[]) => ({ spans, is_truncated: false });
const CHAT = span({ 'gen_ai.operation.name': 'chat', 'gen_ai.tool.name': 'not called' });

describe('tool-call accuracy', () => {
  const runner = new SourceRunner(TOOL_CALL_ACCURACY);
  afterAll(() => runner.close());

  const expectedCalls = [
    { name: 'search', arguments: { q: 'a', filter: { year: 2024, tags: ['x', 'y'] } } },
    { name: 'mail', arguments: { to: 'c' } },
  ];
  const [search, mail] = expectedCalls.map(({ name, arguments: args }) => call(name, args)) as [
    object,
    object,
  ];

  it.each<[string, object[], number]>([
    ['the same calls', [search, mail], 1],
    ['the same calls in another order', [mail, CHAT, search], 1],
    [
      'arguments in another order',
      [call('search', { filter: { tags: ['x', 'y'], year: 2024 }, q: 'a' }), mail],
      1,
    ],
    [
      'items of an argument in another order',
      [call('search', { q: 'a', filter: { year: 2024, tags: ['y', 'x'] } }), mail],
      0.75,
    ],
    [
      'one argument of two wrong',
      [call('search', { q: 'b', filter: { year: 2024, tags: ['x', 'y'] } }), mail],
      0.75,
    ],
    ['an argument too many', [search, call('mail', { to: 'c', cc: 'd' })], 0.75],
    ['an argument missing', [search, call('mail')], 0.5],
    [
      'a number as text',
      [call('search', { q: 'a', filter: { year: '2024', tags: ['x', 'y'] } }), mail],
      0.75,
    ],
    ['a call missing', [search], 2 / 3],
    ['a call too many', [search, mail, call('delete')], 4 / 5],
    ['a call twice', [search, mail, mail], 4 / 5],
    ['other tools', [call('lookup'), call('post')], 0],
    ['no calls', [CHAT], 0],
  ])('scores %s', async (_, spans, score) => {
    expect(await runner.score({ expected: expectedCalls, trace: traceOf(...spans) })).toBeCloseTo(score, 12);
  });

  it('pairs calls of one tool by the most similar arguments', async () => {
    const expected = [
      { name: 'read', arguments: { path: '/a' } },
      { name: 'read', arguments: { path: '/b' } },
    ];
    const trace = traceOf(call('read', { path: '/b' }), call('read', { path: '/a' }));
    expect(await runner.score({ expected, trace })).toBe(1);
    const outcome = await runner.run({
      expected,
      trace: traceOf(call('read', { path: '/b' }), call('write')),
    });
    expect(outcome).toMatchObject({ score: 0.5, answers: { missing: ['read'], unexpected: ['write'] } });
  });

  it('is 1 if no call was expected or made, and 0 if one was made', async () => {
    expect(await runner.score({ expected: [], trace: traceOf(CHAT) })).toBe(1);
    expect(await runner.score({ expected: [], trace: traceOf(search) })).toBe(0);
  });

  it.each<[string, object]>([
    [
      'OpenInference',
      span({ 'openinference.span.kind': 'TOOL', 'tool.name': 'mail', 'tool.parameters': '{"to":"c"}' }),
    ],
    [
      'OpenLLMetry',
      span({
        'traceloop.span.kind': 'tool',
        'traceloop.entity.name': 'mail',
        'traceloop.entity.input': '{"to":"c"}',
      }),
    ],
    ['the AI SDK', span({ 'ai.toolCall.name': 'mail', 'ai.toolCall.args': '{"to":"c"}' })],
    [
      'a span named after the tool',
      span(
        { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.call.arguments': '{"to":"c"}' },
        0,
        'execute_tool mail',
      ),
    ],
  ])('reads calls of %s', async (_, one) => {
    const expected = [{ name: 'mail', arguments: { to: 'c' } }];
    expect(await runner.score({ expected, trace: traceOf(one) })).toBe(1);
  });

  it('reads calls from the output, and expected calls in several formats', async () => {
    const output = {
      tool_calls: [{ id: '1', type: 'function', function: { name: 'mail', arguments: '{"to":"c"}' } }],
    };
    for (const expected of [
      [{ name: 'mail', arguments: { to: 'c' } }],
      { tool_calls: [{ name: 'mail', args: { to: 'c' } }] },
      output,
    ]) {
      expect(await runner.score({ expected, output })).toBe(1);
    }
    expect(await runner.score({ expected: ['mail'], output })).toBe(0);
    expect(await runner.score({ expected: ['mail'], output: [{ name: 'mail' }] })).toBe(1);
  });

  it.each<[string, object, string]>([
    ['nothing is expected', { expected: null, trace: traceOf() }, 'expected must be a list'],
    ['an expected call has no name', { expected: [{ arguments: {} }], trace: traceOf() }, 'must have a name'],
    [
      'there is neither a trace nor a call in the output',
      { expected: expectedCalls, output: 'done' },
      'there is no trace',
    ],
    [
      'the trace is truncated',
      { expected: expectedCalls, trace: { spans: [search], is_truncated: true } },
      'too large to be shown to a scorer in full',
    ],
    [
      'there are too many calls',
      { expected: Array(1000).fill('a'), output: Array(1000).fill('a') },
      'too many calls',
    ],
  ])('is an error if %s', async (_, subject, error) => {
    expect(await runner.score(subject)).toContain(error);
  });
});

describe('tool order', () => {
  const runner = new SourceRunner(TOOL_ORDER);
  afterAll(() => runner.close());

  it.each<[string[], string[], number]>([
    [['a', 'b', 'c'], ['a', 'b', 'c'], 1],
    [['x', 'a', 'y', 'b', 'c', 'z'], ['a', 'b', 'c'], 1],
    [['c', 'b', 'a'], ['a', 'b', 'c'], 1 / 3],
    [['a', 'c', 'b'], ['a', 'b', 'c'], 2 / 3],
    [['b', 'c', 'a'], ['a', 'b', 'c'], 2 / 3],
    [['a'], ['a', 'a'], 0.5],
    [['a', 'a'], ['a'], 1],
    [[], ['a'], 0],
  ])('scores the calls %j, with %j expected, as %d', async (made, expected, score) => {
    const trace = traceOf(...made.map((name, index) => call(name, {}, index)));
    expect(await runner.score({ expected, trace })).toBeCloseTo(score, 12);
  });

  it('uses the start times of calls, not the order of their spans', async () => {
    const trace = traceOf(call('b', {}, 20), call('a', {}, 10));
    expect(await runner.score({ expected: ['a', 'b'], trace })).toBe(1);
    expect(await runner.score({ expected: [{ name: 'b' }, { name: 'a' }], trace })).toBe(0.5);
  });

  it('is an error if no tool is expected', async () => {
    expect(await runner.score({ expected: [], trace: traceOf() })).toContain('expected names no tool');
  });
});
