import { context, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { evaluate } from '#client';
import {
  agentRegistrySpanProcessor,
  currentSpan,
  currentTraceId,
  observe,
  startTracing,
  withTrace,
} from '#client/otel';
import { tracedApp } from './traced-app.harness';

describe('tracing', () => {
  const traced = tracedApp();

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
      const [found] = await traced.traces(
        'user_id=ada&session_id=s-1&tag=mobile&attribute=metadata.plan:pro',
      );
      expect(found).toMatchObject({
        ...{ root_name: 'GET', service_name: 'support', span_count: 2 },
        ...{ user_id: 'ada', session_id: 's-1', tags: ['beta', 'mobile'] },
      });
      for (const { attributes } of await traced.spansOf(found.trace_id))
        expect(attributes).toMatchObject({ 'user.id': 'ada', 'metadata.seats': 4 });
    });

    it('ends with its function, and makes it a span if it has a name', async () => {
      let inside: string | undefined;
      await withTrace({ name: 'turn', userId: 'ada' }, async () => {
        await Promise.resolve();
        currentSpan()!.setAttribute('gen_ai.agent.version', '1.2');
        inside = currentTraceId();
        return { text: 'reply' };
      });
      withTrace({ name: 'class' }, () => new URL('http://localhost'));
      expect(currentTraceId()).toBeUndefined();
      observe('other', () => 1)();
      const found = await traced.traces();
      const byName = Object.fromEntries(found.map((one: any) => [one.root_name, one]));
      expect(byName.other).toMatchObject({ user_id: null, agent_version: null });
      expect(byName.turn).toMatchObject({ user_id: 'ada', agent_version: '1.2', trace_id: inside });
      expect(byName.turn.output_preview).toBe('{"text":"reply"}');
      expect(byName.class.output_preview).toBeNull();
    });
  });

  describe('with another provider', () => {
    const foreign = new InMemorySpanExporter();

    /** Registers a provider of the application before tracing starts. */
    const registerForeign = async (processors = [new SimpleSpanProcessor(foreign)]) => {
      await traced.tracing.shutdown();
      foreign.reset();
      const provider = new BasicTracerProvider({ spanProcessors: processors });
      trace.setGlobalTracerProvider(provider);
      context.setGlobalContextManager(new AsyncLocalStorageContextManager());
      return provider;
    };
    const names = () => foreign.getFinishedSpans().map(({ name }) => name);

    it('leaves it alone: neither spans nor parents are mixed', async () => {
      await registerForeign();
      traced.tracing = startTracing({ client: traced.client });
      expect(traced.tracing.isGlobal).toBe(false);
      const tracer = trace.getTracer('http');
      const tool = observe('tool', () => tracer.startActiveSpan('query', (span) => span.end()));
      tracer.startActiveSpan('request', (request) => {
        observe('agent', () => {
          // a framework that was given the tracer
          traced.tracing.tracer.startActiveSpan('chat', (span) => {
            tool();
            span.end();
          });
        })();
        request.end();
      });
      expect(names()).toEqual(['query', 'request']);
      const [query, request] = foreign.getFinishedSpans();
      expect(query!.parentSpanContext?.spanId).toBe(request!.spanContext().spanId);
      const recorded = await traced.spans();
      expect(Object.keys(recorded).sort()).toEqual(['agent', 'chat', 'tool']);
      expect([
        recorded.agent.parent_span_id,
        recorded.chat.parent_span_id,
        recorded.tool.parent_span_id,
      ]).toEqual([null, recorded.agent.span_id, recorded.chat.span_id]);
      await traced.tracing.shutdown();
      tracer.startSpan('after').end();
      expect(names()).toContain('after');
    });

    it('shares it through a processor of its own', async () => {
      const processor = agentRegistrySpanProcessor({ client: traced.client });
      const provider = await registerForeign([new SimpleSpanProcessor(foreign), processor as never]);
      withTrace({ userId: 'ada' }, () =>
        observe('agent', () => trace.getTracer('http').startSpan('GET').end())(),
      );
      await provider.forceFlush();
      expect(processor.stats).toEqual({ sent: 2, dropped: 0, queued: 0 });
      expect(names()).toEqual(['GET', 'agent']);
      const { body } = await traced.api.get('/telemetry/v1/traces?user_id=ada');
      expect(body.items).toMatchObject([{ root_name: 'agent', span_count: 2 }]);
      await provider.shutdown();
    });

    it('waits for traces that it sends, if evaluate joins it', async () => {
      const provider = await registerForeign([
        agentRegistrySpanProcessor({ client: traced.client }) as never,
      ]);
      traced.tracing = startTracing({ join: true });
      const summary = await evaluate({
        ...{ name: 'joined', client: traced.client, report: false, data: [{ input: 'a' }] },
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
        ...{ name: 'numbers', client: traced.client, report: false, concurrency: 2 },
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
      const { body } = await traced.api.get(`/eval/v1/experiments/${summary.experimentId}/results`);
      const found = await Promise.all(
        body.items.map(async ({ trace_id }: { trace_id: string }) => {
          const recorded = await traced.api.get(`/telemetry/v1/traces/${trace_id}`);
          return [recorded.body.root_name, recorded.body.status, recorded.body.input, recorded.body.output];
        }),
      );
      expect(found.sort()).toEqual([
        ['numbers', 'error', 2, null],
        ['numbers', 'ok', 1, { answer: 1 }],
      ]);
      const [{ trace_id }] = body.items;
      expect((await traced.spansOf(trace_id)).map(({ name }) => name).sort()).toEqual([
        'GET',
        'numbers',
        'tool',
      ]);
    });
  });

  it('starts once, and tells what became of the spans', async () => {
    expect(startTracing({ serviceName: 'other' })).toBe(traced.tracing);
    const span = trace.getTracer('http').startSpan('GET');
    span.setStatus({ code: SpanStatusCode.ERROR }).end();
    expect(traced.tracing.stats()).toEqual({ sent: 0, dropped: 0, queued: 1 });
    await traced.tracing.shutdown();
    expect(traced.tracing.stats()).toEqual({ sent: 1, dropped: 0, queued: 0 });
  });
});
