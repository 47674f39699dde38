import { AsyncLocalStorage } from 'node:async_hooks';
import { observe, openAIAgentsProcessor, withTrace } from '#client/otel';
import { tracedApp } from './traced-app.harness';

/** Where the OpenAI Agents SDK keeps its context. */
const STORAGE = Symbol.for('openai.agents.core.asyncLocalStorage');
const registry = globalThis as { [key: symbol]: unknown };

const USAGE = {
  ...{ prompt_tokens: 1000, completion_tokens: 500 },
  prompt_tokens_details: { cached_tokens: 200 },
};

/** tracing.heavy.spec.ts runs the SDK itself. */
describe('openAIAgentsProcessor', () => {
  const traced = tracedApp();
  const storage = new AsyncLocalStorage<object>();
  beforeAll(() => {
    registry[STORAGE] = storage;
  });
  afterAll(() => {
    delete registry[STORAGE];
    storage.disable();
  });

  /** Plays what the SDK does for a span: it is the current one while `fn` runs. */
  const inSpan = (
    processor: ReturnType<typeof openAIAgentsProcessor>,
    [spanId, parentId]: [string, string | null],
    {
      error = null,
      ...spanData
    }: { type: string; error?: { message: string } | null } & Record<string, unknown>,
    fn: () => void = () => undefined,
  ): void => {
    const span = { traceId: 'trace_1', spanId, parentId, spanData, error };
    void processor.onSpanStart(span);
    storage.run({ active: true, span }, fn);
    void processor.onSpanEnd(span);
  };

  it('records agents, calls, tools, guardrails and handoffs, and what tools start', async () => {
    const processor = openAIAgentsProcessor();
    const inner = observe('inner', () => observe('deepest', () => 1)());
    const conversation = [
      { role: 'user', content: 'Where is it?' },
      { type: 'function_call', callId: 'call_1', name: 'look', arguments: '{"n":7}' },
      {
        type: 'function_call_result',
        callId: 'call_1',
        name: 'look',
        output: { type: 'text', text: 'shipped' },
      },
    ];
    const trace = {
      traceId: 'trace_1',
      name: 'turn',
      groupId: 's-1',
      metadata: { userId: 'ada', plan: 'pro' },
    };
    withTrace({ tags: ['beta'] }, () => {
      void processor.onTraceStart(trace);
      inSpan(processor, ['agent', null], { type: 'agent', name: 'support' }, () => {
        inSpan(processor, ['guard', 'agent'], { type: 'guardrail', name: 'polite', triggered: false });
        inSpan(
          processor,
          ['tool', 'agent'],
          { type: 'function', name: 'look', input: '{"n":7}', output: 'shipped' },
          () => inner(),
        );
        inSpan(processor, ['call', 'agent'], {
          ...{ type: 'generation', model: 'gpt-test', input: conversation },
          output: [
            {
              model: 'gpt-test',
              choices: [{ message: { role: 'assistant', content: 'On its way.' } }],
              usage: USAGE,
            },
          ],
        });
        const error = { message: 'no such agent' };
        inSpan(processor, ['handoff', 'agent'], {
          type: 'handoff',
          from_agent: 'support',
          to_agent: 'sales',
          error,
        });
      });
      void processor.onTraceEnd(trace);
    });
    inner();
    const found = await traced.traces();
    const turn = found.find(({ root_name }) => root_name === 'turn');
    expect(turn).toMatchObject({
      ...{ session_id: 's-1', user_id: 'ada', tags: ['beta'], status: 'error' },
      ...{ models: ['gpt-test'], input_tokens: 1000, output_tokens: 500, cost_usd: expect.any(Number) },
      ...{ input_preview: 'Where is it?', output_preview: 'On its way.' },
    });
    const spans = await traced.spansOf(turn.trace_id);
    const nameOf = new Map(spans.map(({ span_id, name }) => [span_id, name]));
    const parents = spans.map(({ name, parent_span_id }) => [name, nameOf.get(parent_span_id)]);
    expect(Object.fromEntries(parents)).toEqual({
      turn: undefined,
      'invoke_agent support': 'turn',
      polite: 'invoke_agent support',
      'execute_tool look': 'invoke_agent support',
      inner: 'execute_tool look',
      deepest: 'inner',
      'chat gpt-test': 'invoke_agent support',
      'handoff support to sales': 'invoke_agent support',
    });
    const call = spans.find(({ name }) => name === 'chat gpt-test');
    expect(call).toMatchObject({ operation: 'chat', cached_input_tokens: 200 });
    const { items } = (await traced.api.get('/telemetry/v1/sessions/s-1/transcript')).body;
    expect(items).toMatchObject([
      { role: 'user', content: 'Where is it?' },
      { kind: 'tool_call', tool_name: 'look', arguments: { n: 7 }, result: 'shipped' },
      { role: 'assistant', content: 'On its way.' },
    ]);
    expect(found.map(({ root_name }) => root_name)).toContain('inner'); // the one after the trace
  });
});
