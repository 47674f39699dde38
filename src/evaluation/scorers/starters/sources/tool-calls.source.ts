/**
 * JavaScript that scorers of tool calls share: `toolCalls(subject)`, the calls that were made as `{name, args}`, and
 * `expectedCalls(expected)`, those that should have been. It reads spans by the same conventions as the checks do.
 */
export const TOOL_CALLS = String.raw`
// Calls of tools, by their start: from the spans of the trace, else from tool_calls of the output.
function toolCalls({ trace, output }) {
  if (trace && Array.isArray(trace.spans)) {
    if (trace.is_truncated) throw new Error('the trace is larger than a scorer is shown');
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

// A call as people write it down: a name, {name, arguments}, or {function: {name, arguments}}.
function asCall(call) {
  if (typeof call === 'string') return { name: call, args: {} };
  const own = (call && call.function) || call;
  if (!own || typeof own.name !== 'string') throw new Error('a tool call must have a name');
  return { name: own.name, args: parsed(own.arguments ?? own.args) };
}

// The call that a span is, by the conventions of OpenTelemetry, OpenInference, OpenLLMetry and the AI SDK.
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
