import { context, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { Client, evaluate } from '#client';
import {
  agentRegistrySpanProcessor,
  currentSpan,
  currentTraceId,
  observe,
  startTracing,
  type Tracing,
  withTrace,
} from '#client/otel';
import { type ApiClient, newOrganization, sharedApp } from '#testing';

describe('tracing', () => {
  const app = sharedApp();
  let api: ApiClient;
  let client: Client;
  let tracing: Tracing;

  beforeEach(async () => {
    const organization = await newOrganization(app);
    api = await organization.as('editor');
    const apiKey = await organization.token('editor');
    client = new Client({ url: app.url, apiKey, workspaceId: organization.workspaceId });
    tracing = startTracing({ client, serviceName: 'support' });
  });
  afterEach(async () => {
    await tracing.shutdown();
    trace.disable();
    context.disable();
  });

  /** Returns the traces that were recorded, newest first. */
  const traces = async (query = '') => {
    await tracing.forceFlush();
    return (await api.get(`/telemetry/v1/traces?${query}`)).body.items;
  };
  const contentOf = ({ attributes }: any, member: 'input' | 'output') => {
    const value = attributes[`${member}.value`] ?? null;
    return attributes[`${member}.mime_type`] === 'application/json' ? JSON.parse(value) : value;
  };
  /** Returns the spans of a trace, with the input and the output that were recorded. */
  const spansOf = async (traceId: string): Promise<any[]> =>
    (await api.get(`/telemetry/v1/traces/${traceId}/spans`)).body.items.map((span: any) => ({
      ...span,
      input: contentOf(span, 'input'),
      output: contentOf(span, 'output'),
    }));
  /** Returns the spans of the only trace, by name. */
  const spans = async (): Promise<Record<string, any>> => {
    const [only, ...others] = await traces();
    expect(others).toEqual([]);
    return Object.fromEntries((await spansOf(only.trace_id)).map((span) => [span.name, span]));
  };

  describe('observe', () => {
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
      const recorded = await spans();
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
      const recorded = await spans();
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
      const [{ trace_id }] = await traces();
      const recorded = await spansOf(trace_id);
      const of = (name: string) => recorded.filter((span) => span.name === name);
      expect(of('words').map(({ output }) => output)).toEqual(['ab', 'first']);
      const [failed] = of('numbers');
      expect(failed.status).toMatchObject({ code: 'error', message: 'out of numbers' });
      expect(of('inner').map(({ parent_span_id }) => parent_span_id)).toEqual([
        failed.span_id,
        failed.span_id,
      ]);
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
      Object.assign(cycle, { self: cycle, call: sharedApp, bytes: new Uint8Array(3), error: new Error('x') });
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
      const items = await traces();
      const recorded = (await Promise.all(items.map(({ trace_id }: any) => spansOf(trace_id)))).flat();
      const [input, output] = ['input.value', 'output.value'].map(
        (name) => recorded.find((span) => span.name === 'odd').attributes[name] as string,
      );
      expect(JSON.parse(input!).slice(0, 2)).toEqual([
        {
          ...{ n: '1', nan: 'NaN', map: { a: [1] }, self: '[circular]' },
          ...{ call: '[function sharedApp]', bytes: '[Uint8Array of 3 bytes]', error: 'Error: x' },
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
      const recorded = await spans();
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
      const [found] = await traces();
      expect(found).toMatchObject({
        ...{ models: ['gpt-test-2026-01-01'], output_tokens: 100, cost_usd: expect.any(Number) },
        ...{ input_preview: 'Weather?', output_preview: 'Rainy.' },
      });
      const [span] = await spansOf(found.trace_id);
      expect(span).toMatchObject({ operation: 'LLM', cached_input_tokens: expect.any(Number) });
    });
  });

  describe('withTrace', () => {
    it('gives its members to all spans of the trace, whoever starts them', async () => {
      const reply = withTrace(
        { userId: 'ada', sessionId: 's-1', tags: ['beta'], metadata: { plan: 'pro', seats: 3 } },
        () =>
          withTrace({ tags: ['mobile'], metadata: { seats: 4 } }, () => {
            trace.getTracer('http').startActiveSpan('GET', (span) => {
              observe('inner', () => expect(currentTraceId()).toBe(span.spanContext().traceId))();
              span.end();
            });
            return 'reply';
          }),
      );
      expect(reply).toBe('reply');
      const [found] = await traces('user_id=ada&session_id=s-1&tag=mobile&attribute=metadata.plan:pro');
      expect(found).toMatchObject({
        ...{ root_name: 'GET', service_name: 'support', span_count: 2 },
        ...{ user_id: 'ada', session_id: 's-1', tags: ['beta', 'mobile'] },
      });
      for (const { attributes } of await spansOf(found.trace_id))
        expect(attributes).toMatchObject({ 'user.id': 'ada', 'metadata.seats': 4 });
    });

    it('ends with its function, and makes it a span if it has a name', async () => {
      let inside: string | undefined;
      await withTrace({ name: 'turn', userId: 'ada' }, async () => {
        await Promise.resolve();
        currentSpan()!.setAttribute('gen_ai.agent.version', '1.2');
        inside = currentTraceId();
      });
      expect(currentTraceId()).toBeUndefined();
      observe('other', () => 1)();
      const found = await traces();
      expect(found.map((one: any) => [one.root_name, one.user_id, one.agent_version])).toEqual([
        ['other', null, null],
        ['turn', 'ada', '1.2'],
      ]);
      expect(found[1].trace_id).toBe(inside);
    });
  });

  describe('with another provider', () => {
    const foreign = new InMemorySpanExporter();

    /** Registers a provider of the application before tracing starts. */
    const registerForeign = async (processors = [new SimpleSpanProcessor(foreign)]) => {
      await tracing.shutdown();
      foreign.reset();
      const provider = new BasicTracerProvider({ spanProcessors: processors });
      trace.setGlobalTracerProvider(provider);
      context.setGlobalContextManager(new AsyncLocalStorageContextManager());
      return provider;
    };
    const names = () => foreign.getFinishedSpans().map(({ name }) => name);

    it('leaves it alone: neither spans nor parents are mixed', async () => {
      await registerForeign();
      tracing = startTracing({ client });
      expect(tracing.isGlobal).toBe(false);
      const tracer = trace.getTracer('http');
      const tool = observe('tool', () => tracer.startActiveSpan('query', (span) => span.end()));
      tracer.startActiveSpan('request', (request) => {
        observe('agent', () => {
          // a framework that was given the tracer
          tracing.tracer.startActiveSpan('chat', (span) => {
            tool();
            span.end();
          });
        })();
        request.end();
      });
      expect(names()).toEqual(['query', 'request']);
      const [query, request] = foreign.getFinishedSpans();
      expect(query!.parentSpanContext?.spanId).toBe(request!.spanContext().spanId);
      const recorded = await spans();
      expect(Object.keys(recorded).sort()).toEqual(['agent', 'chat', 'tool']);
      expect([
        recorded.agent.parent_span_id,
        recorded.chat.parent_span_id,
        recorded.tool.parent_span_id,
      ]).toEqual([null, recorded.agent.span_id, recorded.chat.span_id]);
      await tracing.shutdown();
      tracer.startSpan('after').end();
      expect(names()).toContain('after');
    });

    it('shares it through a processor of its own', async () => {
      const processor = agentRegistrySpanProcessor({ client });
      const provider = await registerForeign([new SimpleSpanProcessor(foreign), processor as never]);
      withTrace({ userId: 'ada' }, () =>
        observe('agent', () => trace.getTracer('http').startSpan('GET').end())(),
      );
      await provider.forceFlush();
      expect(processor.stats).toEqual({ sent: 2, dropped: 0, queued: 0 });
      expect(names()).toEqual(['GET', 'agent']);
      const { body } = await api.get('/telemetry/v1/traces?user_id=ada');
      expect(body.items).toMatchObject([{ root_name: 'agent', span_count: 2 }]);
      await provider.shutdown();
    });

    it('waits for traces that it sends, if evaluate joins it', async () => {
      const provider = await registerForeign([agentRegistrySpanProcessor({ client }) as never]);
      tracing = startTracing({ join: true });
      const summary = await evaluate({
        ...{ name: 'joined', client, report: false, data: [{ input: 'a' }] },
        task: observe('agent', ({ input }: { input: unknown }) => input),
      });
      expect(summary.traces).toEqual({ sent: 1, missing: 0 });
      await provider.shutdown();
    });
  });

  describe('in evaluate', () => {
    it('runs each case in a trace, with the spans of everybody', async () => {
      const tool = observe('tool', (n: unknown) => n, { kind: 'tool' });
      const summary = await evaluate({
        ...{ name: 'numbers', client, report: false, concurrency: 2 },
        data: [1, 2].map((input) => ({ id: `n${input}`, input })),
        task: async ({ input }) => {
          await trace.getTracer('http').startActiveSpan('GET', async (span) => {
            await Promise.resolve();
            tool(input);
            span.end();
          });
          if (input === 2) throw new Error('no answer');
          return { answer: input };
        },
      });
      expect(summary.traces).toEqual({ sent: 2, missing: 0 });
      const { body } = await api.get(`/eval/v1/experiments/${summary.experimentId}/results`);
      const found = await Promise.all(
        body.items.map(async ({ trace_id }: { trace_id: string }) => {
          const recorded = await api.get(`/telemetry/v1/traces/${trace_id}`);
          return [recorded.body.root_name, recorded.body.status, recorded.body.input, recorded.body.output];
        }),
      );
      expect(found.sort()).toEqual([
        ['numbers', 'error', 2, null],
        ['numbers', 'ok', 1, { answer: 1 }],
      ]);
      const [{ trace_id }] = body.items;
      expect((await spansOf(trace_id)).map(({ name }) => name).sort()).toEqual(['GET', 'numbers', 'tool']);
    });
  });

  it('starts once, and tells what became of the spans', async () => {
    expect(startTracing({ serviceName: 'other' })).toBe(tracing);
    const span = trace.getTracer('http').startSpan('GET');
    span.setStatus({ code: SpanStatusCode.ERROR }).end();
    expect(tracing.stats()).toEqual({ sent: 0, dropped: 0, queued: 1 });
    await tracing.shutdown();
    expect(tracing.stats()).toEqual({ sent: 1, dropped: 0, queued: 0 });
  });
});
