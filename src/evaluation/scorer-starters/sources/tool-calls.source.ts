/**
 * JavaScript that the scorers of tool calls share. `toolCalls(subject)` returns the actual calls as `{name, args}`, and
 * `expectedCalls(expected)` the expected calls. Reads spans by the same conventions as the checks.
 */
const TOOL_CALLS = String.raw`
// Returns the tool calls by start time: from the spans of the trace, else from tool_calls of the output.
function toolCalls({ trace, output }) {
  if (trace && Array.isArray(trace.spans)) {
    if (trace.is_truncated) throw new Error('the trace is too large to be shown to a scorer in full');
    const time = (span) => Date.parse(span.started_at) || 0;
    return trace.spans
      .slice()
      .sort((a, b) => time(a) - time(b))
      .map(callOf)
      .filter((call) => call !== null);
  }
  const calls = listOf(output);
  if (calls === null) throw new Error('there is no trace, and the output has no tool_calls');
  return calls.map(asCall);
}

function expectedCalls(expected) {
  const calls = listOf(expected);
  if (calls === null) throw new Error('expected must be a list of tool calls, or have a member tool_calls that is one');
  return calls.map(asCall);
}

const listOf = (value) =>
  Array.isArray(value) ? value : value && Array.isArray(value.tool_calls) ? value.tool_calls : null;

// Reads a call that people wrote: a name, {name, arguments}, or {function: {name, arguments}}.
function asCall(call) {
  if (typeof call === 'string') return { name: call, args: {} };
  const own = (call && call.function) || call;
  if (!own || typeof own.name !== 'string') throw new Error('a tool call must have a name');
  return { name: own.name, args: parsed(own.arguments ?? own.args) };
}

// Reads the tool call of a span, by the conventions of OpenTelemetry, OpenInference, OpenLLMetry and the AI SDK.
function callOf({ name, attributes }) {
  const of = (keys) => keys.map((key) => attributes[key]).find((value) => value !== undefined);
  const operation = attributes['gen_ai.operation.name'];
  const tool = of(['gen_ai.tool.name', 'tool.name', 'ai.toolCall.name']);
  const isKind = attributes['openinference.span.kind'] === 'TOOL' || attributes['traceloop.span.kind'] === 'tool';
  const isCall = operation === undefined ? isKind || tool !== undefined : operation === 'execute_tool';
  if (!isCall) return null;
  const given = of([
    'gen_ai.tool.call.arguments',
    'tool.parameters',
    'ai.toolCall.args',
    'traceloop.entity.input',
    'input.value',
  ]);
  const other = attributes['traceloop.entity.name'] ?? String(name).replace(/^execute_tool /, '');
  return { name: tool ?? other, args: parsed(given) };
}

// Arguments are often written as JSON text.
function parsed(args) {
  if (args === undefined || args === null) return {};
  if (typeof args !== 'string') return args;
  try {
    return JSON.parse(args);
  } catch {
    return args;
  }
}
`;

/** JavaScript of the scorer `tool_order`. */
export const TOOL_ORDER = String.raw`// Scores whether the expected tools were called in order. Other calls may happen in between.
//
// The score is the length of the longest common subsequence of expected and actual calls, divided by the number of
// expected calls.
function score(subject) {
  const expected = expectedCalls(subject.expected).map(({ name }) => name);
  if (expected.length === 0) throw new Error('expected names no tool');
  const made = toolCalls(subject).map(({ name }) => name);
  let row = new Array(made.length + 1).fill(0);
  for (const name of expected) {
    const next = [0];
    for (let m = 0; m < made.length; m++) {
      next.push(made[m] === name ? row[m] + 1 : Math.max(next[m], row[m + 1]));
    }
    row = next;
  }
  return {
    score: row[made.length] / expected.length,
    reasoning: 'Tools called: ' + (made.slice(0, 20).join(', ') || 'none') + '.',
  };
}
${TOOL_CALLS}`;

/** JavaScript of the scorer `tool_call_accuracy`. */
export const TOOL_CALL_ACCURACY = String.raw`// Scores how well the tool calls match the expected ones, in any order.
//
// Each expected call is matched with an actual call of the same tool and with the most similar arguments. A match counts
// with the share of arguments that are equal. The score is the F1 of both lists: a missing call, an extra call and a
// wrong argument each lower it.
function score(subject) {
  const expected = expectedCalls(subject.expected);
  const made = toolCalls(subject);
  if (expected.length * made.length > 250000) throw new Error('there are too many calls to match');
  const pairs = [];
  expected.forEach((call, e) =>
    made.forEach((other, m) => {
      if (call.name === other.name) pairs.push({ e, m, likeness: likeness(call.args, other.args) });
    }),
  );
  pairs.sort((a, b) => b.likeness - a.likeness || a.e - b.e || a.m - b.m);
  const expectedLeft = new Set(expected.keys());
  const madeLeft = new Set(made.keys());
  let matched = 0;
  for (const { e, m, likeness } of pairs) {
    if (!expectedLeft.has(e) || !madeLeft.has(m)) continue;
    expectedLeft.delete(e);
    madeLeft.delete(m);
    matched += likeness;
  }
  const count = expected.length + made.length;
  const names = (calls, left) => [...left].slice(0, 10).map((index) => calls[index].name);
  return {
    score: count === 0 ? 1 : (2 * matched) / count,
    reasoning: made.length + ' calls made, ' + expected.length + ' expected.',
    answers: { missing: names(expected, expectedLeft), unexpected: names(made, madeLeft) },
  };
}

// Returns the share of all arguments of both calls that are equal.
function likeness(one, other) {
  if (!isObject(one) || !isObject(other)) return Number(isSame(one, other));
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  if (names.size === 0) return 1;
  let same = 0;
  for (const name of names) {
    if (Object.hasOwn(one, name) && Object.hasOwn(other, name) && isSame(one[name], other[name])) same += 1;
  }
  return same / names.size;
}

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

// Compares JSON values. Members may be in any order.
function isSame(one, other) {
  if (Array.isArray(one)) {
    return Array.isArray(other) && one.length === other.length && one.every((item, i) => isSame(item, other[i]));
  }
  if (!isObject(one)) return one === other;
  const names = Object.keys(one);
  return (
    isObject(other) &&
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isSame(one[name], other[name]))
  );
}
${TOOL_CALLS}`;
