import type { ScoreOutcome, ScoringSubject } from '../subject';
import type { Check } from '../../definitions/check.forms';
import type { ChecksDefinition } from '../../definitions/definition.forms';
import { ChecksRunner } from './checks.runner';

const runChecks = (definition: ChecksDefinition, subject: ScoringSubject): ScoreOutcome =>
  new ChecksRunner().score(definition, subject);

const at = (ms: number): string => new Date(Date.UTC(2026, 0, 1) + ms).toISOString();

function span(
  started: number,
  attributes: Record<string, unknown>,
  more: Record<string, unknown> = {},
): unknown {
  return { name: 'span', started_at: at(started), ended_at: at(started + 10), attributes, ...more };
}
const tool = (started: number, name: string, args?: unknown): unknown =>
  span(started, {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': name,
    ...(args !== undefined && { 'gen_ai.tool.call.arguments': JSON.stringify(args) }),
  });
const chat = (started: number): unknown => span(started, { 'gen_ai.operation.name': 'chat' });

describe('a trace check', () => {
  function outcome(check: Check, subject: Partial<ScoringSubject>): ScoreOutcome {
    const empty = { input: null, output: null, expected: null, metadata: null, session: null };
    return runChecks({ checks: [check], aggregate: 'all' }, { ...empty, ...subject });
  }
  const scoreOf = (check: Check, trace: unknown): unknown =>
    (outcome(check, { trace }) as { score?: number }).score;

  const trace = [
    span(0, { 'gen_ai.operation.name': 'invoke_agent' }, { ended_at: at(500) }),
    chat(10),
    tool(200, 'book', { city: 'Rome', nights: 2 }),
    tool(100, 'search', { q: 'hotels' }),
    tool(300, 'search', { q: 'more' }),
  ];

  describe('of type tool_called', () => {
    it('counts the calls of each tool', () => {
      expect(outcome({ type: 'tool_called', tools: ['search', 'book'] }, { trace })).toMatchObject({
        score: 1,
        answers: { tool_called: { search: 2, book: 1 } },
      });
      expect(scoreOf({ type: 'tool_called', tool: 'pay' }, trace)).toBe(0);
      expect(scoreOf({ type: 'tool_called', tools: ['search', 'pay'] }, trace)).toBe(0);
      expect(scoreOf({ type: 'tool_called', tool: 'search', min: 2 }, trace)).toBe(1);
      expect(scoreOf({ type: 'tool_called', tool: 'search', min: 3 }, trace)).toBe(0);
      expect(scoreOf({ type: 'tool_called', tool: 'search', max: 1 }, trace)).toBe(0);
      expect(scoreOf({ type: 'tool_called', tool: 'pay', max: 0 }, trace)).toBe(1);
      expect(scoreOf({ type: 'tool_called', tool: 'pay', negate: true }, trace)).toBe(1);
    });

    it('counts only calls with the given arguments', () => {
      expect(scoreOf({ type: 'tool_called', tool: 'book', arguments: { city: 'Rome' } }, trace)).toBe(1);
      expect(scoreOf({ type: 'tool_called', tool: 'book', arguments: { city: 'Oslo' } }, trace)).toBe(0);
      expect(scoreOf({ type: 'tool_called', tool: 'search', arguments: { q: 'more' }, max: 1 }, trace)).toBe(
        1,
      );
    });

    it.each([
      ['OpenInference', span(0, { 'openinference.span.kind': 'TOOL', 'tool.name': 'search' })],
      ['OpenInference without a name', span(0, { 'openinference.span.kind': 'TOOL' }, { name: 'search' })],
      ['OpenLLMetry', span(0, { 'traceloop.span.kind': 'tool', 'traceloop.entity.name': 'search' })],
      ['the AI SDK', span(0, { 'ai.toolCall.name': 'search' })],
      ['a bare tool.name', span(0, { 'tool.name': 'search' })],
      [
        'the span’s name',
        span(0, { 'gen_ai.operation.name': 'execute_tool' }, { name: 'execute_tool search' }),
      ],
    ])('recognizes a tool by %s', (_, only) => {
      expect(scoreOf({ type: 'tool_called', tool: 'search', max: 1 }, { spans: [only] })).toBe(1);
    });
  });

  describe('of type tool_order', () => {
    it('orders calls by the start of their spans, not by their position in the list', () => {
      expect(scoreOf({ type: 'tool_order', tools: ['search', 'book'] }, trace)).toBe(1);
      expect(scoreOf({ type: 'tool_order', tools: ['search', 'book', 'search'] }, trace)).toBe(1);
      expect(scoreOf({ type: 'tool_order', tools: ['book', 'search', 'book'] }, trace)).toBe(0);
      expect(scoreOf({ type: 'tool_order', tools: ['search', 'search', 'book'] }, trace)).toBe(0);
    });

    it('can require exactly the listed calls', () => {
      expect(scoreOf({ type: 'tool_order', tools: ['search', 'book'], mode: 'exact' }, trace)).toBe(0);
      expect(scoreOf({ type: 'tool_order', tools: ['search', 'book', 'search'], mode: 'exact' }, trace)).toBe(
        1,
      );
    });

    it('orders starts within one millisecond', () => {
      const started = (micros: string): Record<string, unknown> => ({
        started_at: `2026-01-01T00:00:00.000${micros}Z`,
      });
      const spans = [
        span(0, { 'tool.name': 'second' }, started('900')),
        span(0, { 'tool.name': 'first' }, started('100')),
      ];
      expect(scoreOf({ type: 'tool_order', tools: ['first', 'second'] }, spans)).toBe(1);
    });

    it('says which tool was missing and what was called', () => {
      expect(outcome({ type: 'tool_order', tools: ['search', 'pay'] }, { trace })).toMatchObject({
        reasoning: expect.stringContaining(
          'pay was not called after search; tools called: ["search","book","search"]',
        ),
      });
    });
  });

  describe('of type max_steps', () => {
    it('counts calls to models and tools', () => {
      expect(outcome({ type: 'max_steps', max: 4 }, { trace })).toMatchObject({
        score: 1,
        answers: { max_steps: 4 },
      });
      expect(scoreOf({ type: 'max_steps', max: 3 }, trace)).toBe(0);
      expect(scoreOf({ type: 'max_steps', max: 3, count: 'tool' }, trace)).toBe(1);
      expect(scoreOf({ type: 'max_steps', max: 0, count: 'model' }, trace)).toBe(0);
    });

    it('counts every span if none is a call to a model or tool', () => {
      expect(scoreOf({ type: 'max_steps', max: 2 }, [span(0, {}), span(1, {}), span(2, {})])).toBe(0);
      expect(scoreOf({ type: 'max_steps', max: 3 }, [span(0, {}), span(1, {}), span(2, {})])).toBe(1);
    });
  });

  describe('of type max_duration_ms', () => {
    it('uses the duration of the trace, or else the time from the first start to the last end', () => {
      expect(scoreOf({ type: 'max_duration_ms', max: 100 }, { spans: trace, duration_ms: 90 })).toBe(1);
      expect(outcome({ type: 'max_duration_ms', max: 499 }, { trace })).toMatchObject({
        score: 0,
        answers: { max_duration_ms: 500 },
      });
      const open = [span(0, {}, { ended_at: null, duration_ms: 70 })];
      expect(outcome({ type: 'max_duration_ms', max: 70 }, { trace: open })).toMatchObject({ score: 1 });
    });
  });

  describe('of type max_cost_usd', () => {
    it('uses the cost of the trace, or else the sum of its spans', () => {
      expect(scoreOf({ type: 'max_cost_usd', max: 0.5 }, { spans: [], cost_usd: 0.5 })).toBe(1);
      const spans = [span(0, { 'gen_ai.usage.cost': 0.2 }), span(1, { 'llm.cost.total': 0.4 }), span(2, {})];
      expect(scoreOf({ type: 'max_cost_usd', max: 0.5 }, { spans })).toBe(0);
      const withCost = [...spans, span(3, { 'operation.cost': 0.3 })];
      expect(scoreOf({ type: 'max_cost_usd', max: 0.7 }, { spans: withCost })).toBe(0);
    });
  });

  it('reads all traces of a session', () => {
    const session = {
      traces: [
        { spans: [tool(0, 'search')], duration_ms: 10, cost_usd: 1 },
        { spans: [tool(50, 'book')], duration_ms: 20, cost_usd: 2 },
      ],
    };
    const checks: Check[] = [
      { type: 'tool_order', tools: ['search', 'book'] },
      { type: 'max_duration_ms', max: 30 },
      { type: 'max_cost_usd', max: 3 },
    ];
    for (const check of checks) expect(outcome(check, { session })).toMatchObject({ score: 1 });
  });

  it.each<[Check, unknown, string]>([
    [{ type: 'tool_called', tool: 'a' }, null, 'there is no trace'],
    [{ type: 'max_steps', max: 1 }, { spans: [] }, 'the trace has no spans'],
    [{ type: 'max_duration_ms', max: 1 }, { spans: [{ name: 'a' }] }, 'the duration of the trace is unknown'],
    [{ type: 'max_cost_usd', max: 1 }, { spans: [{ name: 'a' }] }, 'the cost of the trace is unknown'],
    [
      { type: 'max_cost_usd', max: 1 },
      { spans: [{ name: 'a', cost_usd: 0.1 }], cost_usd: null },
      'the cost of the trace is unknown',
    ],
  ])('is an error, not a failure, if the trace lacks the data: %j', (check, trace, problem) => {
    expect(outcome(check, { trace })).toEqual({ error: expect.stringContaining(problem) });
  });

  describe('on a truncated trace', () => {
    const seen = [chat(10), tool(100, 'search', { q: 1 }), tool(200, 'book'), tool(300, 'search')];
    const cut = { spans: seen, span_count: 1_500, is_truncated: true, duration_ms: 500, cost_usd: 2 };
    const undecided = { error: expect.stringContaining('too large to be shown to a scorer in full') };

    it.each<[Check, number]>([
      [{ type: 'tool_called', tools: ['search', 'book'] }, 1],
      [{ type: 'tool_called', tool: 'search', min: 2 }, 1],
      [{ type: 'tool_called', tool: 'search', arguments: { q: 1 } }, 1],
      [{ type: 'tool_called', tool: 'search', max: 1 }, 0],
      [{ type: 'tool_called', tools: ['rm', 'book'], max: 0 }, 0],
      [{ type: 'tool_called', tool: 'book', max: 0, negate: true }, 1],
      [{ type: 'tool_order', tools: ['search', 'book'] }, 1],
      [{ type: 'tool_order', tools: ['book', 'search'], mode: 'exact' }, 0],
      [{ type: 'max_steps', max: 3 }, 0],
      [{ type: 'max_steps', max: 2, count: 'tool' }, 0],
      [{ type: 'max_duration_ms', max: 500 }, 1],
      [{ type: 'max_cost_usd', max: 2 }, 1],
      [{ type: 'equals', path: 'trace.span_count', value: 1_500 }, 1],
      [{ type: 'equals', path: 'trace.spans[0].name', value: 'span' }, 1],
    ])('has a score if the missing parts cannot change it: %j', (check, score) => {
      expect(scoreOf(check, cut)).toBe(score);
    });

    it.each<Check>([
      { type: 'tool_called', tool: 'rm', max: 0 },
      { type: 'tool_called', tool: 'rm' },
      { type: 'tool_called', tool: 'rm', negate: true },
      { type: 'tool_called', tool: 'search', max: 2 },
      { type: 'tool_called', tool: 'search', min: 3 },
      { type: 'tool_order', tools: ['book', 'search', 'book'] },
      { type: 'tool_order', tools: ['search', 'book', 'search'], mode: 'exact' },
      { type: 'tool_order', tools: ['search', 'book', 'search', 'pay'], mode: 'exact' },
      { type: 'max_steps', max: 4 },
      { type: 'max_steps', max: 1, count: 'model' },
      { type: 'contains', path: 'trace.spans', value: { name: 'other' } },
      { type: 'equals', path: 'trace.spans[-1].name', value: 'span' },
      { type: 'equals', path: 'trace.spans[1200].name', value: 'span' },
      { type: 'regex', path: 'trace', pattern: 'rm' },
      { type: 'contains', expected_path: 'trace.spans' },
    ])('is an error if the missing parts could change the score: %j', (check) => {
      expect(outcome(check, { trace: cut, output: 'x' })).toEqual(undecided);
    });

    it('does not count spans as steps while calls may be missing', () => {
      const spans = [span(0, {}), span(1, {}), span(2, {})];
      expect(outcome({ type: 'max_steps', max: 2 }, { trace: { ...cut, spans } })).toEqual(undecided);
    });

    it('uses the sum of the spans only if it already exceeds the limit', () => {
      const spans = [span(0, { 'gen_ai.usage.cost': 0.5 })];
      const untold = { ...cut, spans, duration_ms: undefined, cost_usd: undefined };
      expect(scoreOf({ type: 'max_cost_usd', max: 0.4 }, untold)).toBe(0);
      expect(outcome({ type: 'max_cost_usd', max: 0.6 }, { trace: untold })).toEqual(undecided);
      expect(scoreOf({ type: 'max_duration_ms', max: 9 }, untold)).toBe(0);
      expect(outcome({ type: 'max_duration_ms', max: 10 }, { trace: untold })).toEqual(undecided);
      expect(outcome({ type: 'max_cost_usd', max: 1 }, { trace: { ...untold, spans: [] } })).toEqual(
        undecided,
      );
    });

    it('uses the spans if all of them are there, even without other parts', () => {
      const whole = { ...cut, span_count: 4, input: null };
      expect(scoreOf({ type: 'tool_called', tool: 'rm', max: 0 }, whole)).toBe(1);
      expect(scoreOf({ type: 'max_steps', max: 4 }, whole)).toBe(1);
      expect(outcome({ type: 'equals', path: 'trace.input', value: 'x' }, { trace: whole })).toEqual(
        undecided,
      );
    });

    it('is an error if it needs the attributes of a span that lacks them', () => {
      const bare = { ...(span(50, {}) as object), is_truncated: true };
      const trace = { ...cut, span_count: 5, spans: [...seen, bare] };
      expect(outcome({ type: 'tool_called', tool: 'rm', max: 0 }, { trace })).toEqual(undecided);
      expect(outcome({ type: 'equals', path: 'trace.spans[4].attributes.a', value: 1 }, { trace })).toEqual(
        undecided,
      );
      expect(scoreOf({ type: 'equals', path: 'trace.spans[4].name', value: 'span' }, trace)).toBe(1);
    });

    it('decides as it does on a session that lacks traces', () => {
      const one = { spans: seen, span_count: 4, is_truncated: false, duration_ms: 10, cost_usd: 1 };
      const session = { traces: [one], trace_count: 101, messages: [], is_truncated: true };
      const rm: Check = { type: 'tool_called', tool: 'rm', max: 0 };
      expect(outcome(rm, { session })).toEqual(undecided);
      expect(outcome({ type: 'max_cost_usd', max: 1 }, { session })).toEqual(undecided);
      expect(outcome({ type: 'max_cost_usd', max: 0.5 }, { session })).toMatchObject({ score: 0 });
      expect(outcome({ type: 'contains', path: 'session.messages', value: 'x' }, { session })).toEqual(
        undecided,
      );
      expect(outcome(rm, { session: { ...session, trace_count: 1 } })).toMatchObject({ score: 1 });
    });
  });
});
