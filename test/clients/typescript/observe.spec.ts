import { observe, withTrace } from '#client/otel';
import { tracedApp } from './traced-app.harness';

describe('observe', () => {
  const traced = tracedApp();

  it('records nested calls with their inputs and outputs, of functions of all kinds', async () => {
    const sum = observe(function sum(a: number, b: number) {
      return a + b;
    });
    const later = observe('later', async (n: number) => {
      await Promise.resolve();
      return { sum: sum(n, 1) };
    });
    const agent = observe(async (question: string) => (await later(question.length)).sum, {
      name: 'support',
      kind: 'agent',
    });
    expect(await agent('Why?')).toBe(5);
    expect([sum.name, sum.length]).toEqual(['sum', 2]);
    const recorded = await traced.spans();
    expect(recorded.support).toMatchObject({
      ...{ parent_span_id: null, operation: 'AGENT', agent_name: 'support', input: 'Why?', output: 5 },
      attributes: { 'openinference.span.kind': 'AGENT' },
    });
    expect(recorded.later).toMatchObject({
      ...{ parent_span_id: recorded.support.span_id, input: 4, output: { sum: 5 } },
    });
    expect(recorded.sum).toMatchObject({
      parent_span_id: recorded.later.span_id,
      input: [4, 1],
      output: 5,
    });
  });

  it('records errors, and throws what the function throws', async () => {
    const [thrown, rejected] = [new TypeError('no order'), new Error('no answer')];
    const lookup = observe(
      'lookup',
      () => {
        throw thrown;
      },
      { kind: 'tool' },
    );
    const turn = observe('turn', async () => {
      await Promise.resolve();
      expect(lookup).toThrow(thrown);
      throw rejected;
    });
    await expect(turn()).rejects.toBe(rejected);
    const recorded = await traced.spans();
    expect(recorded.lookup).toMatchObject({
      ...{ tool_name: 'lookup', output: null, status: { code: 'error', message: 'no order' } },
      events: [expect.objectContaining({ name: 'exception' })],
    });
    expect(recorded.turn.status.code).toBe('error');
  });

  it('records what generators yield, when their loops end', async () => {
    const inner = observe('inner', (n: number) => n);
    const words = observe('words', function* (this: void, ...all: string[]) {
      for (const word of all) yield word;
      return 'unused';
    });
    const numbers = observe('numbers', async function* () {
      yield inner(await Promise.resolve(1));
      yield inner(2);
      throw new Error('out of numbers');
    });
    await withTrace({ name: 'turn' }, async () => {
      expect([...words('a', 'b')]).toEqual(['a', 'b']);
      for (const word of words('first', 'second')) if (word === 'first') break;
      const seen: number[] = [];
      await expect(
        (async () => {
          for await (const n of numbers()) seen.push(n);
        })(),
      ).rejects.toThrow('out of numbers');
      expect(seen).toEqual([1, 2]);
    });
    const [{ trace_id }] = await traced.traces();
    const recorded = await traced.spansOf(trace_id);
    const of = (name: string) => recorded.filter((span) => span.name === name);
    expect(
      of('words')
        .map(({ output }) => output)
        .sort(),
    ).toEqual(['ab', 'first']);
    const [failed] = of('numbers');
    expect(failed.status).toMatchObject({ code: 'error', message: 'out of numbers' });
    expect(of('inner').map(({ parent_span_id }) => parent_span_id)).toEqual([failed.span_id, failed.span_id]);
  });

  it('returns the very object, also where it is no plain promise', () => {
    class Request extends Promise<string> {
      readonly id = 'req_1';
    }
    const request = Request.resolve('answer') as Request;
    const lazy = { then: jest.fn() };
    const list = [1];
    expect(observe('list', () => list)()).toBe(list);
    expect(observe('request', () => request)()).toBe(request);
    expect(observe('lazy', () => lazy)()).toBe(lazy);
    expect(lazy.then).not.toHaveBeenCalled();
    const steps = observe('steps', function* (): Generator<number, string, string> {
      const reply = yield 1;
      return reply;
    })();
    expect([steps.next(), steps.next('two'), steps.next()]).toEqual([
      { value: 1, done: false },
      { value: 'two', done: true },
      { value: undefined, done: true },
    ]);
    expect(Object.prototype.toString.call(steps)).toBe('[object Generator]');
  });

  it('describes values that JSON cannot represent, and bounds their size', async () => {
    const cycle: Record<string, unknown> = { n: 1n, nan: NaN, map: new Map([['a', new Set([1])]]) };
    Object.assign(cycle, { self: cycle, call: tracedApp, bytes: new Uint8Array(3), error: new Error('x') });
    cycle.stream = new ReadableStream();
    const secret = {
      get value() {
        throw new Error('locked');
      },
    };
    const odd = observe('odd', (..._: unknown[]) => 'x'.repeat(1_000_000));
    expect(odd(cycle, secret, 'y'.repeat(1_000_000))).toHaveLength(1_000_000);
    const broken = observe('broken', () => 1, {
      captureOutput: () => {
        throw new Error('bad capture');
      },
    });
    expect(withTrace({}, broken)).toBe(1);
    const items = await traced.traces();
    const recorded = (await Promise.all(items.map(({ trace_id }: any) => traced.spansOf(trace_id)))).flat();
    const [input, output] = ['input.value', 'output.value'].map(
      (name) => recorded.find((span) => span.name === 'odd').attributes[name] as string,
    );
    expect(JSON.parse(input!).slice(0, 2)).toEqual([
      {
        ...{ n: '1', nan: 'NaN', map: { a: [1] }, self: '[circular]' },
        ...{ call: '[function tracedApp]', bytes: '[Uint8Array of 3 bytes]', error: 'Error: x' },
        stream: '[ReadableStream]',
      },
      '[not readable: Error: locked]',
    ]);
    expect(input!.length).toBeLessThan(270_000);
    expect(output).toMatch(/^x{262144}… \(737856 more characters\)$/);
  });

  it('leaves out what is not to be captured', async () => {
    const login = observe('login', (user: string, _password: string) => ({ user, token: 'secret-token' }), {
      captureInput: (user) => ({ user }),
      captureOutput: ({ user }) => user,
    });
    const quiet = observe('quiet', (value: string) => value, { captureInput: false, captureOutput: false });
    withTrace({ name: 'turn' }, () => [login('ada', 'secret'), quiet('secret')]);
    const recorded = await traced.spans();
    expect(recorded.login).toMatchObject({ input: { user: 'ada' }, output: 'ada' });
    expect(recorded.quiet).toMatchObject({ input: null, output: null });
    expect(JSON.stringify([recorded.login, recorded.quiet])).not.toContain('secret');
  });

  it.each([
    [
      'Chat Completions',
      {
        model: 'gpt-test-2026-01-01',
        choices: [{ index: 0, message: { role: 'assistant', content: 'Rainy.' } }],
        usage: {
          ...{ prompt_tokens: 1000, completion_tokens: 100 },
          prompt_tokens_details: { cached_tokens: 400 },
        },
      },
    ],
    [
      "Anthropic's messages",
      {
        ...{ model: 'gpt-test-2026-01-01', role: 'assistant', content: [{ type: 'text', text: 'Rainy.' }] },
        usage: { input_tokens: 600, output_tokens: 100, cache_read_input_tokens: 400_000 },
      },
    ],
  ])('reads model, tokens and messages of a call in the form of %s', async (_, answer) => {
    const chat = observe('chat', (_request: object) => Promise.resolve(answer), { kind: 'llm' });
    await chat({ model: 'gpt-test', messages: [{ role: 'user', content: 'Weather?' }] });
    const [found] = await traced.traces();
    expect(found).toMatchObject({
      ...{ models: ['gpt-test-2026-01-01'], output_tokens: 100, cost_usd: expect.any(Number) },
      ...{ input_preview: 'Weather?', output_preview: 'Rainy.' },
    });
    const [span] = await traced.spansOf(found.trace_id);
    expect(span).toMatchObject({ operation: 'LLM', cached_input_tokens: expect.any(Number) });
  });
});
