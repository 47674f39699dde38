import { TOOL_CALL_ACCURACY, TOOL_ORDER } from './sources/tool-calls.source';
import { code, type CodeStarter, type ExampleSpan, type ExampleTrace } from './starter';

const START = Date.parse('2026-01-05T09:00:00.000Z');

/** Creates the trace of an agent that calls tools one after another, each for 100 ms. */
function agentTrace(
  calls: [name: string, args: object][],
  durationMs: number,
  costUsd: number,
): ExampleTrace {
  const at = (ms: number) => new Date(START + ms).toISOString();
  const root: ExampleSpan = {
    name: 'invoke_agent',
    started_at: at(0),
    duration_ms: durationMs,
    attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.usage.cost': costUsd },
  };
  const tools = calls.map(([name, args], index) => ({
    name: `execute_tool ${name}`,
    started_at: at((index + 1) * 100),
    duration_ms: 100,
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': name,
      'gen_ai.tool.call.arguments': JSON.stringify(args),
    },
  }));
  return { duration_ms: durationMs, cost_usd: costUsd, spans: [root, ...tools] };
}

const SEARCH: [string, object] = ['search_orders', { customer: 'c-7', limit: 5 }];
const REFUND: [string, object] = ['refund_order', { order: 'o-12', amount: 30 }];
const REFUND_OF_MORE: [string, object] = ['refund_order', { order: 'o-12', amount: 300 }];
const MAIL: [string, object] = ['send_mail', { to: 'c-7' }];

const EXPECTED = [
  { name: 'search_orders', arguments: { customer: 'c-7', limit: 5 } },
  { name: 'refund_order', arguments: { order: 'o-12', amount: 30 } },
];
const INPUT = 'Refund my last order.';

/** Scorers for the steps of an agent, and for its latency and cost. */
export const TRACE_STARTERS: CodeStarter[] = [
  code({
    starter_id: 'tool_call_accuracy',
    name: 'Tool-call accuracy',
    description:
      'How well the tool calls and their arguments match `expected`, a list of `{name, arguments}` in any order. The score is the F1 of both lists; a call with some wrong arguments counts in part. Calls come from the spans of the trace or, without a trace, from `tool_calls` of the output.',
    tags: ['agent', 'tools', 'reference'],
    definition: { language: 'javascript', source: TOOL_CALL_ACCURACY },
    passing: {
      subject: { input: INPUT, expected: EXPECTED, trace: agentTrace([REFUND, SEARCH], 900, 0.01) },
      score: 1,
    },
    failing: {
      subject: {
        input: INPUT,
        expected: EXPECTED,
        trace: agentTrace([SEARCH, REFUND_OF_MORE, MAIL], 900, 0.01),
      },
      score: (2 * 1.5) / 5,
    },
  }),
  code({
    starter_id: 'tool_order',
    name: 'Tool order',
    description:
      'Whether the tools in `expected`, a list of names or tool calls, were called in this order. Other calls may happen in between. The score is the length of the longest common subsequence, divided by the number of expected calls. If the order is the same for every case, use the check `tool_order` instead.',
    tags: ['agent', 'tools', 'reference'],
    definition: { language: 'javascript', source: TOOL_ORDER },
    passing: {
      subject: {
        input: INPUT,
        expected: ['search_orders', 'send_mail'],
        trace: agentTrace([SEARCH, REFUND, MAIL], 900, 0.01),
      },
      score: 1,
    },
    failing: {
      subject: {
        input: INPUT,
        expected: ['search_orders', 'refund_order'],
        trace: agentTrace([REFUND, SEARCH], 900, 0.01),
      },
      score: 0.5,
    },
  }),
  code({
    starter_id: 'latency_budget',
    name: 'Latency budget',
    description:
      'Whether the trace, from its first start to its last end, took at most `max` milliseconds: 1 or 0. The default is 5 seconds. A trace without spans is an error.',
    tags: ['trace', 'budget'],
    definition: { checks: [{ type: 'max_duration_ms', max: 5_000 }], aggregate: 'all' },
    passing: { subject: { input: INPUT, trace: agentTrace([SEARCH], 5_000, 0.01) }, score: 1 },
    failing: { subject: { input: INPUT, trace: agentTrace([SEARCH], 5_001, 0.01) }, score: 0 },
  }),
  code({
    starter_id: 'cost_budget',
    name: 'Cost budget',
    description:
      'Whether the trace cost at most `max` US dollars: 1 or 0. The default is 5 cents. The cost comes from the spans, or from their tokens and the prices of their models. A trace with an unknown cost is an error.',
    tags: ['trace', 'budget'],
    definition: { checks: [{ type: 'max_cost_usd', max: 0.05 }], aggregate: 'all' },
    passing: { subject: { input: INPUT, trace: agentTrace([SEARCH], 900, 0.05) }, score: 1 },
    failing: { subject: { input: INPUT, trace: agentTrace([SEARCH], 900, 0.0625) }, score: 0 },
  }),
];
