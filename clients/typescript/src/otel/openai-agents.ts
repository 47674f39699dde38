import { type Attributes, type Context, type Span, SpanStatusCode } from '@opentelemetry/api';
import { contentAttributes, toJsonText } from './content.js';
import { activeContext, openTelemetryContext, shared, spanIn, startSpan, withSpan } from './context.js';
import { messagesOfChoices, usageAttributes } from './model-call.js';

type Json = Record<string, unknown>;

/** A trace of the OpenAI Agents SDK, as far as the processor reads it. */
interface AgentsTrace {
  traceId: string;
  name: string;
  groupId?: string | null;
  metadata?: Record<string, unknown> | undefined;
}

/** A span of the OpenAI Agents SDK, as far as the processor reads it. */
interface AgentsSpan {
  traceId: string;
  spanId: string;
  parentId: string | null;
  spanData: { type: string };
  error: { message: string; data?: unknown } | null;
}

/** A `TracingProcessor` of the OpenAI Agents SDK. */
export interface AgentsProcessor {
  onTraceStart(trace: AgentsTrace): Promise<void>;
  onTraceEnd(trace: AgentsTrace): Promise<void>;
  onSpanStart(span: AgentsSpan): Promise<void>;
  onSpanEnd(span: AgentsSpan): Promise<void>;
  shutdown(): Promise<void>;
  forceFlush(): Promise<void>;
}

interface Entry {
  span: Span;
  parent: Entry | undefined;
  /** The span that was active in OpenTelemetry's context at the start. */
  outer: Span | undefined;
  /** Whether it shows the question and the answer of the model calls below it. */
  isConversation: boolean;
  hasInput: boolean;
}

/**
 * Returns a processor that records the traces of the OpenAI Agents SDK as spans of OpenTelemetry. Use it with
 * `setTraceProcessors([openAIAgentsProcessor()])`, so that no trace goes to OpenAI. `groupId` becomes the session, and `userId`
 * in the metadata the user. Spans that start inside a tool belong to it.
 */
export function openAIAgentsProcessor(): AgentsProcessor {
  const entries = new Map<string, Entry>();
  shared.findSpan = (active) => {
    const entry = entries.get(currentId() ?? '');
    // a span that started within the framework's span is closer
    return entry && spanIn(active) === entry.outer ? entry.span : undefined;
  };
  const start = (id: string, name: string, attributes: Attributes, options: StartOptions): void => {
    const outer = spanIn(openTelemetryContext());
    const parent = entries.get(options.parentId ?? '');
    const above: Context = parent ? withSpan(activeContext(), parent.span) : activeContext();
    const span = startSpan(name, { attributes }, above);
    entries.set(id, { span, parent, outer, isConversation: options.isConversation, hasInput: false });
  };
  const end = (id: string, error: AgentsSpan['error'] = null): void => {
    const entry = entries.get(id);
    if (!entry) return;
    if (error) entry.span.setStatus({ code: SpanStatusCode.ERROR, message: error.message });
    entry.span.end();
    entries.delete(id);
  };
  return {
    onTraceStart(trace) {
      start(trace.traceId, trace.name, traceAttributes(trace), { isConversation: true });
      return DONE;
    },
    onTraceEnd({ traceId }) {
      end(traceId);
      return DONE;
    },
    onSpanStart({ traceId, spanId, parentId, spanData }) {
      const isConversation = spanData.type === 'agent';
      start(spanId, nameOf(spanData), {}, { parentId: parentId ?? traceId, isConversation });
      return DONE;
    },
    onSpanEnd({ spanId, spanData, error }) {
      const entry = entries.get(spanId);
      if (!entry) return DONE;
      const call = modelCallOf(spanData as Json);
      entry.span.updateName(nameOf(spanData));
      entry.span.setAttributes(call ? callAttributes(call) : attributesOf(spanData as Json));
      if (call) showConversation(entry.parent, call);
      end(spanId, error);
      return DONE;
    },
    shutdown: () => DONE,
    forceFlush: () => shared.tracing?.forceFlush() ?? DONE,
  };
}

const DONE = Promise.resolve();

interface StartOptions {
  parentId?: string;
  isConversation: boolean;
}

/** Returns the id of the span or trace that is current in the context of the Agents SDK. */
function currentId(): string | undefined {
  const storage = (globalThis as { [key: symbol]: { getStore(): unknown } | undefined })[
    Symbol.for('openai.agents.core.asyncLocalStorage')
  ];
  const store = storage?.getStore() as
    | { active?: boolean; span?: AgentsSpan; trace?: AgentsTrace }
    | undefined;
  return store?.active ? (store.span?.spanId ?? store.trace?.traceId) : undefined;
}

function traceAttributes({ groupId, metadata = {} }: AgentsTrace): Attributes {
  const { userId, tags, ...others } = metadata;
  return {
    'openinference.span.kind': 'CHAIN',
    ...(groupId && { 'session.id': groupId }),
    ...(typeof userId === 'string' && { 'user.id': userId }),
    ...(Array.isArray(tags) && { 'tag.tags': tags.map(String) }),
    ...Object.fromEntries(
      Object.entries(others).map(([name, value]) => [
        `metadata.${name}`,
        typeof value === 'string' ? value : toJsonText(value),
      ]),
    ),
  };
}

function nameOf(data: { type: string }): string {
  const { type, name, model, turn, _response, from_agent, to_agent } = data as Json & { type: string };
  const called = (_response as Json | undefined)?.model ?? model;
  switch (type) {
    case 'agent':
      return `invoke_agent ${String(name)}`;
    case 'function':
      return `execute_tool ${String(name)}`;
    case 'response':
    case 'generation':
      return typeof called === 'string' ? `chat ${called}` : 'chat';
    case 'turn':
      return `turn ${String(turn)}`;
    case 'handoff':
      return `handoff ${String(from_agent)} to ${String(to_agent)}`;
    default:
      return typeof name === 'string' ? name : type;
  }
}

/** Returns the attributes of a span that is no model call. */
function attributesOf(data: Json): Attributes {
  const { type, name, input, output } = data;
  switch (type) {
    case 'agent':
      return { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': String(name) };
    case 'function':
      return {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': String(name),
        ...contentAttributes('input', input),
        ...contentAttributes('output', output),
      };
    case 'guardrail':
      return { 'openinference.span.kind': 'GUARDRAIL', 'guardrail.triggered': data.triggered === true };
    case 'turn':
    case 'task':
      return { 'openinference.span.kind': 'CHAIN' };
    default: {
      const { type: _, ...members } = data;
      return { 'openinference.span.kind': 'CHAIN', ...contentAttributes('output', members) };
    }
  }
}

interface ModelCall {
  /** Whether the provider is known to be OpenAI, and not another one with its API. */
  isOpenAI: boolean;
  requested: unknown;
  answered: unknown;
  instructions: unknown;
  usage: unknown;
  input: Json[];
  output: Json[];
}

/** Reads a call of the Responses API (`response`) or of Chat Completions (`generation`). */
function modelCallOf(data: Json): ModelCall | undefined {
  if (data.type === 'response') {
    const response = (data._response ?? {}) as Json;
    const { model, instructions, usage, output } = response;
    return {
      isOpenAI: true,
      requested: undefined,
      answered: model,
      instructions,
      usage,
      input: messagesOf(data._input),
      output: messagesOf(output),
    };
  }
  if (data.type !== 'generation') return undefined;
  const completions = Array.isArray(data.output) ? (data.output as Json[]) : [];
  const { model, usage } = completions[0] ?? {};
  return {
    isOpenAI: false,
    requested: data.model,
    answered: model,
    instructions: undefined,
    usage: data.usage ?? usage,
    input: messagesOf(data.input),
    output: completions.flatMap((one) =>
      Array.isArray(one.choices) ? messagesOfChoices(one.choices) : [one],
    ),
  };
}

function callAttributes(call: ModelCall): Attributes {
  const { isOpenAI, requested, answered, instructions, usage, input, output } = call;
  return {
    'gen_ai.operation.name': 'chat',
    ...(isOpenAI && { 'gen_ai.provider.name': 'openai' }),
    ...(typeof requested === 'string' && { 'gen_ai.request.model': requested }),
    ...(typeof answered === 'string' && { 'gen_ai.response.model': answered }),
    ...usageAttributes((usage ?? {}) as Json),
    ...(typeof instructions === 'string' && {
      'gen_ai.system_instructions': toJsonText([{ type: 'text', content: instructions }]),
    }),
    ...(input.length > 0 && { 'gen_ai.input.messages': toJsonText(input) }),
    ...(output.length > 0 && { 'gen_ai.output.messages': toJsonText(output) }),
  };
}

/** Returns items of the Responses API as messages. Messages of Chat Completions stay as they are. */
function messagesOf(items: unknown): Json[] {
  if (typeof items === 'string') return [{ role: 'user', content: items }];
  if (!Array.isArray(items)) return [];
  return (items as Json[]).flatMap((item) => {
    const { type, name, output } = item;
    const id = item.call_id ?? item.callId;
    switch (type) {
      case 'reasoning':
        return [];
      case 'function_call': {
        const call = { id, type: 'function', function: { name, arguments: item.arguments } };
        return [{ role: 'assistant', content: null, tool_calls: [call] }];
      }
      case 'function_call_output':
      case 'function_call_result': {
        const text = typeof output === 'string' ? output : ((output as Json | null)?.text ?? output);
        return [{ role: 'tool', tool_call_id: id, ...(name !== undefined && { name }), content: text }];
      }
      default:
        return [item.role === undefined ? { role: 'assistant', content: item } : item];
    }
  });
}

/** Shows the question and the answer of a model call on the agents and the trace around it. */
function showConversation(entry: Entry | undefined, { input, output }: ModelCall): void {
  const question = input.findLast(({ role }) => role === 'user');
  const answer = output.at(-1);
  for (let at = entry; at; at = at.parent) {
    if (!at.isConversation) continue;
    if (question && !at.hasInput) at.span.setAttribute('gen_ai.input.messages', toJsonText([question]));
    at.hasInput ||= question !== undefined;
    if (answer?.content) at.span.setAttribute('gen_ai.output.messages', toJsonText([answer]));
  }
}
