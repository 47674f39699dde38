import { isJsonObject } from '#platform/json';
import type { JsonObject } from './json.value';

/** A tool call read from a span. `args` and `result` are undefined if the span lacks them. */
export interface ToolCall {
  name: string;
  args: unknown;
  result: unknown;
}

const TOOL_NAMES = ['gen_ai.tool.name', 'tool.name', 'ai.toolCall.name'];
const TOOL_ARGUMENTS = [
  'gen_ai.tool.call.arguments',
  'tool.parameters',
  'ai.toolCall.args',
  'traceloop.entity.input',
  'input.value',
];
const TOOL_RESULTS = [
  'gen_ai.tool.call.result',
  'ai.toolCall.result',
  'traceloop.entity.output',
  'output.value',
];

/**
 * Reads a span as a tool call, by the conventions of OpenTelemetry for generative AI, OpenInference, OpenLLMetry or the AI
 * SDK. Returns undefined for any other span.
 */
export function toolCallOf(span: JsonObject): ToolCall | undefined {
  const attributes = attributesOf(span);
  const operation = attributes['gen_ai.operation.name'];
  const named = TOOL_NAMES.map((key) => attributes[key]).find(
    (name): name is string => typeof name === 'string',
  );
  const isKind =
    attributes['openinference.span.kind'] === 'TOOL' || attributes['traceloop.span.kind'] === 'tool';
  const isTool = operation === undefined ? isKind || named !== undefined : operation === 'execute_tool';
  if (!isTool) return undefined;
  const entity = attributes['traceloop.entity.name'];
  const ofSpan = typeof span.name === 'string' ? span.name.replace(/^execute_tool /, '') : '';
  return {
    name: named ?? (typeof entity === 'string' ? entity : ofSpan),
    args: valueOf(attributes, TOOL_ARGUMENTS),
    result: valueOf(attributes, TOOL_RESULTS),
  };
}

export const attributesOf = (span: JsonObject): JsonObject =>
  isJsonObject(span.attributes) ? span.attributes : {};

/** Returns the first of these attributes that is present. Parses it if it is JSON text. */
function valueOf(attributes: JsonObject, keys: readonly string[]): unknown {
  const value = keys.map((key) => attributes[key]).find((one) => one !== undefined);
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
