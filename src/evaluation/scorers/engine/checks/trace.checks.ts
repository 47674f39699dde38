import type { CheckOf } from '../../definitions/check.forms';
import { brief, includes } from './json.value';
import type { Figure, TraceReader } from './trace.reader';
import { CannotCheck } from './verdict';
import type { Verdict } from './verdict';
import { IN_PART } from './whole.subject';

/*
 * A truncated trace may have more calls than the reader sees. A check then decides only if no further call could change
 * its outcome. Otherwise it throws `CannotCheck`.
 */

export function checkToolCalled(check: CheckOf<'tool_called'>, trace: TraceReader): Verdict {
  const { arguments: wanted, min = check.max === 0 ? 0 : 1, max = Infinity } = check;
  const calls = trace.toolCalls().filter((call) => wanted === undefined || includes(call.args, wanted));
  const counts = Object.fromEntries(
    toolsOf(check).map((tool) => [tool, calls.filter(({ name }) => name === tool).length]),
  );
  const wrong = Object.entries(counts).filter(([, count]) => count < min || count > max);
  const isTooOften = wrong.some(([, count]) => count > max);
  const isOftenEnough = wrong.length === 0 && max === Infinity;
  if (!trace.isWhole && !isTooOften && !isOftenEnough) throw new CannotCheck(IN_PART);
  const listed = (wrong.length > 0 ? wrong : Object.entries(counts)).map(
    ([tool, count]) => `${tool}: ${count}`,
  );
  const how = wanted === undefined ? 'calls' : `calls with ${brief(wanted)}`;
  const bounds = max === Infinity ? `at least ${min}` : `${min} to ${max}`;
  return {
    passed: wrong.length === 0,
    value: counts,
    reason: `${how}: ${listed.slice(0, 10).join(', ')}${wrong.length > 0 ? `, wanted ${bounds}` : ''}`,
  };
}

export function checkToolOrder(check: CheckOf<'tool_order'>, trace: TraceReader): Verdict {
  const called = trace.toolCalls().map(({ name }) => name);
  const listed = called.length > 0 ? brief(called) : 'no tool';
  if (check.mode === 'exact') {
    const passed = called.length === check.tools.length && called.every((name, i) => name === check.tools[i]);
    const mayBecomeExact = followed(called, check.tools) === called.length;
    if (!trace.isWhole && mayBecomeExact) throw new CannotCheck(IN_PART);
    return {
      passed,
      reason: `tools called: ${listed}${passed ? '' : `, wanted exactly ${brief(check.tools)}`}`,
    };
  }
  const next = followed(check.tools, called);
  const passed = next === check.tools.length;
  if (!trace.isWhole && !passed) throw new CannotCheck(IN_PART);
  return {
    passed,
    reason: passed
      ? `tools called: ${listed}`
      : `${check.tools[next]} was not called${next > 0 ? ` after ${check.tools[next - 1]}` : ''}; tools called: ${listed}`,
  };
}

/** Counts how many of the names occur among others, in order. */
function followed(names: readonly string[], among: readonly string[]): number {
  let next = 0;
  for (const name of among) if (name === names[next]) next += 1;
  return next;
}

export function checkMaxSteps(check: CheckOf<'max_steps'>, trace: TraceReader): Verdict {
  return atMost(trace.stepCount(check.count), check.max, 'steps');
}

export function checkMaxDuration(check: CheckOf<'max_duration_ms'>, trace: TraceReader): Verdict {
  return atMost(trace.durationMs(), check.max, 'ms');
}

export function checkMaxCost(check: CheckOf<'max_cost_usd'>, trace: TraceReader): Verdict {
  return atMost(trace.costUsd(), check.max, 'US dollars');
}

function toolsOf(check: CheckOf<'tool_called'>): string[] {
  return check.tools ?? (check.tool === undefined ? [] : [check.tool]);
}

function atMost({ value, isExact }: Figure, max: number, unit: string): Verdict {
  const passed = value <= max;
  if (passed && !isExact) throw new CannotCheck(IN_PART);
  return { passed, value, reason: `${value} ${unit}, ${passed ? 'within' : 'above'} ${max}` };
}
