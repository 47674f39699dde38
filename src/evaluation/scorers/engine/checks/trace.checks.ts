import type { Check, CheckOf, ValueCheck } from '../../definitions/check.forms';
import { brief, includes } from './json.value';
import type { Measurement, TraceReader } from './trace.reader';
import { CannotCheck, UNDECIDED, type Verdict } from './verdict';

/*
 * A truncated trace may have more calls than the reader sees. If further calls could change its outcome, a check throws
 * `CannotCheck`.
 */

/** A check that looks at a trace. */
type TraceCheck = Exclude<Check, ValueCheck>;

export function checkTrace(check: TraceCheck, trace: TraceReader): Verdict {
  switch (check.type) {
    case 'tool_called':
      return checkToolCalled(check, trace);
    case 'tool_order':
      return checkToolOrder(check, trace);
    case 'max_steps':
      return atMost(trace.stepCount(check.count), check.max, 'steps');
    case 'max_duration_ms':
      return atMost(trace.durationMs(), check.max, 'ms');
    case 'max_cost_usd':
      return atMost(trace.costUsd(), check.max, 'US dollars');
  }
}

function checkToolCalled(check: CheckOf<'tool_called'>, trace: TraceReader): Verdict {
  const { arguments: expected, min = check.max === 0 ? 0 : 1, max = Infinity } = check;
  const calls = trace.toolCalls().filter((call) => expected === undefined || includes(call.args, expected));
  const counts = Object.fromEntries(
    toolsOf(check).map((tool) => [tool, calls.filter(({ name }) => name === tool).length]),
  );
  const wrong = Object.entries(counts).filter(([, count]) => count < min || count > max);
  const isTooOften = wrong.some(([, count]) => count > max);
  const isOftenEnough = wrong.length === 0 && max === Infinity;
  if (!trace.isComplete && !isTooOften && !isOftenEnough) throw new CannotCheck(UNDECIDED);
  const listed = (wrong.length > 0 ? wrong : Object.entries(counts)).map(
    ([tool, count]) => `${tool}: ${count}`,
  );
  const how = expected === undefined ? 'calls' : `calls with ${brief(expected)}`;
  const bounds = max === Infinity ? `at least ${min}` : `${min} to ${max}`;
  return {
    passed: wrong.length === 0,
    value: counts,
    reason: `${how}: ${listed.slice(0, 10).join(', ')}${wrong.length > 0 ? `, expected ${bounds}` : ''}`,
  };
}

function checkToolOrder(check: CheckOf<'tool_order'>, trace: TraceReader): Verdict {
  const called = trace.toolCalls().map(({ name }) => name);
  const listed = called.length > 0 ? brief(called) : 'no tool';
  if (check.mode === 'exact') {
    const passed = called.length === check.tools.length && called.every((name, i) => name === check.tools[i]);
    const mayBecomeExact = countInOrder(called, check.tools) === called.length;
    if (!trace.isComplete && mayBecomeExact) throw new CannotCheck(UNDECIDED);
    return {
      passed,
      reason: `tools called: ${listed}${passed ? '' : `, expected exactly ${brief(check.tools)}`}`,
    };
  }
  const next = countInOrder(check.tools, called);
  const passed = next === check.tools.length;
  if (!trace.isComplete && !passed) throw new CannotCheck(UNDECIDED);
  return {
    passed,
    reason: passed
      ? `tools called: ${listed}`
      : `${check.tools[next]} was not called${next > 0 ? ` after ${check.tools[next - 1]}` : ''}; tools called: ${listed}`,
  };
}

/** Counts how many names, from the first, occur in a sequence in this order. */
function countInOrder(names: readonly string[], sequence: readonly string[]): number {
  let next = 0;
  for (const name of sequence) if (name === names[next]) next += 1;
  return next;
}

function toolsOf(check: CheckOf<'tool_called'>): string[] {
  return check.tools ?? (check.tool === undefined ? [] : [check.tool]);
}

function atMost({ value, isExact }: Measurement, max: number, unit: string): Verdict {
  const passed = value <= max;
  if (passed && !isExact) throw new CannotCheck(UNDECIDED);
  return { passed, value, reason: `${value} ${unit}, ${passed ? 'within' : 'above'} ${max}` };
}
