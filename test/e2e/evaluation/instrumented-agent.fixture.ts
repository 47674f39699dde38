import { randomBytes } from 'node:crypto';
import { newTraceId, type ScoringFixture } from './scoring.fixture';

type Attributes = Record<string, unknown>;

interface Event {
  name: string;
  attributes?: Attributes;
  /** The body of a log record. */
  body?: unknown;
}

/** A step of an agent, as an instrumentation sends it. */
interface Step {
  name: string;
  attributes?: Attributes;
  events?: Event[];
  logs?: Event[];
  /** Whether log records have their event name in the field `eventName`, not in an attribute. */
  hasEventNames?: boolean;
}

/** An agent that is asked for the weather, calls a tool and answers, as one instrumentation sends it. */
export interface InstrumentedAgent {
  sentBy: string;
  /** The calls of the model and of the tool, below a root span without content. */
  steps: Step[];
}

export const QUESTION = 'Weather in Paris?';
export const ANSWER = 'Rainy.';
const RULE = 'Be brief.';
const ARGUMENTS = { city: 'Paris' };

/** The transcript that a judge reads, which is the same for all instrumentations. */
export const TRANSCRIPT = `[system]
  ${RULE}

[user]
  ${QUESTION}

[assistant calls get_weather]
  {"city":"Paris"}

[get_weather answers]
  rain

[assistant]
  ${ANSWER}`;

const text = (content: string) => ({ type: 'text', content });
const CALL_PART = { type: 'tool_call', id: 'call_1', name: 'get_weather', arguments: ARGUMENTS };
const CALLING = { role: 'assistant', parts: [CALL_PART] };
const ANSWERING = { role: 'assistant', parts: [text(ANSWER)] };
const ASKED = [{ role: 'user', parts: [text(QUESTION)] }];
const TOLD = [
  ...ASKED,
  CALLING,
  { role: 'tool', parts: [{ type: 'tool_call_response', id: 'call_1', response: 'rain' }] },
];
const finished = (message: object) => ({ ...message, finish_reason: 'stop' });

const CHAT = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm' };
const TOOL: Step = {
  name: 'execute_tool get_weather',
  attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'get_weather' },
};

const details = (input: object[], output: object, as: (value: unknown) => unknown): Attributes => ({
  'gen_ai.system_instructions': as([text(RULE)]),
  'gen_ai.input.messages': as(input),
  'gen_ai.output.messages': as([finished(output)]),
});
const verbatim = (value: unknown): unknown => value;

const DETAILS = 'gen_ai.client.inference.operation.details';

/** OpenAI's tool call. */
const FUNCTION_CALL = {
  id: 'call_1',
  type: 'function',
  function: { name: 'get_weather', arguments: JSON.stringify(ARGUMENTS) },
};

/** One event for each message, as in the semantic conventions up to version 1.36. */
const ASKED_EVENTS: Event[] = [
  { name: 'gen_ai.system.message', body: { content: RULE } },
  { name: 'gen_ai.user.message', body: { content: QUESTION } },
];
const CHOICES: Event[][] = [
  [
    ...ASKED_EVENTS,
    {
      name: 'gen_ai.choice',
      body: {
        index: 0,
        finish_reason: 'tool_calls',
        message: { role: 'assistant', tool_calls: [FUNCTION_CALL] },
      },
    },
  ],
  [
    ...ASKED_EVENTS,
    { name: 'gen_ai.assistant.message', body: { tool_calls: [FUNCTION_CALL] } },
    { name: 'gen_ai.tool.message', body: { id: 'call_1', content: 'rain' } },
    {
      name: 'gen_ai.choice',
      body: { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: ANSWER } },
    },
  ],
];

/** Returns the events as span events, whose attributes contain only strings. */
const asSpanEvents = (events: Event[]): Event[] =>
  events.map(({ name, body }) => ({
    name,
    attributes: Object.fromEntries(
      Object.entries(body as object).map(([key, value]) => [
        key,
        typeof value === 'object' ? JSON.stringify(value) : value,
      ]),
    ),
  }));

/** Flattens a value into attributes. `item` has the name of the member that wraps each item, by the name of the list. */
function flattened(name: string, value: unknown, item: Record<string, string> = {}): Attributes {
  if (Array.isArray(value)) {
    const inner = item[name.split('.').at(-1)!];
    const entries = value.map((one, at) => flattened(`${name}.${at}${inner ? `.${inner}` : ''}`, one, item));
    return Object.assign({}, ...entries) as Attributes;
  }
  if (typeof value !== 'object' || value === null) return { [name]: value };
  const entries = Object.entries(value).map(([key, one]) => flattened(`${name}.${key}`, one, item));
  return Object.assign({}, ...entries) as Attributes;
}

const OPENAI_ASKED = [
  { role: 'system', content: RULE },
  { role: 'user', content: QUESTION },
];
const OPENAI_TOLD = [
  ...OPENAI_ASKED,
  { role: 'assistant', tool_calls: [FUNCTION_CALL] },
  { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
];

/** Returns messages as OpenLLMetry sends them, with the name and arguments of a call next to its id. */
const withFlatCalls = (messages: object[]): object[] =>
  messages.map((message) =>
    'tool_calls' in message
      ? {
          ...message,
          tool_calls: [{ id: 'call_1', name: 'get_weather', arguments: JSON.stringify(ARGUMENTS) }],
        }
      : message,
  );

const OPEN_INFERENCE_ITEMS = {
  'llm.input_messages': 'message',
  input_messages: 'message',
  output_messages: 'message',
  tool_calls: 'tool_call',
};

export const INSTRUMENTED_AGENTS: readonly InstrumentedAgent[] = [
  {
    sentBy: 'OpenTelemetry, in attributes with JSON',
    steps: [
      { name: 'chat', attributes: { ...CHAT, ...details(ASKED, CALLING, JSON.stringify) } },
      TOOL,
      { name: 'chat', attributes: { ...CHAT, ...details(TOLD, ANSWERING, JSON.stringify) } },
    ],
  },
  {
    sentBy: 'OpenTelemetry, in structured attributes',
    steps: [
      { name: 'chat', attributes: { ...CHAT, ...details(ASKED, CALLING, verbatim) } },
      TOOL,
      { name: 'chat', attributes: { ...CHAT, ...details(TOLD, ANSWERING, verbatim) } },
    ],
  },
  {
    sentBy: 'OpenTelemetry, in an event of each span',
    steps: [
      {
        name: 'chat',
        attributes: CHAT,
        events: [{ name: DETAILS, attributes: details(ASKED, CALLING, verbatim) }],
      },
      TOOL,
      {
        name: 'chat',
        attributes: CHAT,
        events: [{ name: DETAILS, attributes: details(TOLD, ANSWERING, verbatim) }],
      },
    ],
  },
  {
    sentBy: 'OpenTelemetry, in a log record of each span',
    steps: [
      {
        name: 'chat',
        attributes: CHAT,
        logs: [{ name: DETAILS, attributes: details(ASKED, CALLING, verbatim) }],
        hasEventNames: true,
      },
      TOOL,
      {
        name: 'chat',
        attributes: CHAT,
        logs: [{ name: DETAILS, attributes: details(TOLD, ANSWERING, verbatim) }],
        hasEventNames: true,
      },
    ],
  },
  {
    sentBy: 'OpenTelemetry up to 1.36, in events of the spans',
    steps: [
      { name: 'chat', attributes: CHAT, events: asSpanEvents(CHOICES[0]!) },
      TOOL,
      { name: 'chat', attributes: CHAT, events: asSpanEvents(CHOICES[1]!) },
    ],
  },
  {
    sentBy: 'OpenTelemetry up to 1.36, in log records',
    steps: [
      { name: 'chat', attributes: CHAT, logs: CHOICES[0]! },
      TOOL,
      { name: 'chat', attributes: CHAT, logs: CHOICES[1]! },
    ],
  },
  {
    sentBy: 'OpenInference',
    steps: [
      {
        name: 'llm',
        attributes: {
          'openinference.span.kind': 'LLM',
          'llm.model_name': 'm',
          ...flattened('llm.input_messages', OPENAI_ASKED, OPEN_INFERENCE_ITEMS),
          ...flattened(
            'llm.output_messages',
            [{ role: 'assistant', tool_calls: [FUNCTION_CALL] }],
            OPEN_INFERENCE_ITEMS,
          ),
        },
      },
      { name: 'get_weather', attributes: { 'openinference.span.kind': 'TOOL', 'tool.name': 'get_weather' } },
      {
        name: 'llm',
        attributes: {
          'openinference.span.kind': 'LLM',
          'llm.model_name': 'm',
          ...flattened('llm.input_messages', OPENAI_TOLD, OPEN_INFERENCE_ITEMS),
          ...flattened('llm.output_messages', [{ role: 'assistant', content: ANSWER }], OPEN_INFERENCE_ITEMS),
        },
      },
    ],
  },
  {
    sentBy: 'OpenLLMetry',
    steps: [
      {
        name: 'openai.chat',
        attributes: {
          'llm.request.type': 'chat',
          'gen_ai.request.model': 'm',
          ...flattened('gen_ai.prompt', OPENAI_ASKED),
          ...flattened(
            'gen_ai.completion',
            withFlatCalls([{ role: 'assistant', finish_reason: 'tool_calls', tool_calls: [] }]),
          ),
        },
      },
      {
        name: 'get_weather.tool',
        attributes: { 'traceloop.span.kind': 'tool', 'traceloop.entity.name': 'get_weather' },
      },
      {
        name: 'openai.chat',
        attributes: {
          'llm.request.type': 'chat',
          'gen_ai.request.model': 'm',
          ...flattened('gen_ai.prompt', withFlatCalls(OPENAI_TOLD)),
          ...flattened('gen_ai.completion', [{ role: 'assistant', content: ANSWER }]),
        },
      },
    ],
  },
  {
    sentBy: 'AI SDK',
    steps: [
      {
        name: 'ai.generateText.doGenerate',
        attributes: {
          'ai.operationId': 'ai.generateText.doGenerate',
          'ai.model.id': 'm',
          'ai.prompt.messages': JSON.stringify([
            { role: 'system', content: RULE },
            { role: 'user', content: [{ type: 'text', text: QUESTION }] },
          ]),
          'ai.response.toolCalls': JSON.stringify([
            { toolCallType: 'function', toolCallId: 'call_1', toolName: 'get_weather', args: ARGUMENTS },
          ]),
        },
      },
      {
        name: 'ai.toolCall',
        attributes: { 'ai.operationId': 'ai.toolCall', 'ai.toolCall.name': 'get_weather' },
      },
      {
        name: 'ai.generateText.doGenerate',
        attributes: {
          'ai.operationId': 'ai.generateText.doGenerate',
          'ai.model.id': 'm',
          'ai.prompt.messages': JSON.stringify([
            { role: 'system', content: RULE },
            { role: 'user', content: [{ type: 'text', text: QUESTION }] },
            {
              role: 'assistant',
              content: [
                { type: 'tool-call', toolCallId: 'call_1', toolName: 'get_weather', input: ARGUMENTS },
              ],
            },
            {
              role: 'tool',
              content: [
                {
                  type: 'tool-result',
                  toolCallId: 'call_1',
                  toolName: 'get_weather',
                  output: { type: 'text', value: 'rain' },
                },
              ],
            },
          ]),
          'ai.response.text': ANSWER,
        },
      },
    ],
  },
];

/** Where and when an agent's trace is sent. */
export interface SentAt {
  sessionId?: string;
  /** Milliseconds since 1970. */
  startedAt?: number;
  /** Attributes of the root span. Undefined removes one. */
  root?: Attributes;
  /** The span that the log records refer to. Default: the span that they describe. */
  loggedUnder?: 'root' | 'none';
}

/** Sends the trace of an agent, and its log records, as exporters would. Returns the trace id. */
export async function sendAgent(
  on: ScoringFixture,
  { steps }: Pick<InstrumentedAgent, 'steps'>,
  { sessionId, startedAt = Date.now(), root: rootAttributes = {}, loggedUnder }: SentAt = {},
): Promise<string> {
  const traceId = newTraceId();
  const nanos = (ms: number): string => `${BigInt(startedAt + ms) * 1_000_000n}`;
  const session = sessionId === undefined ? {} : { 'session.id': sessionId };
  const rootId = randomBytes(8).toString('hex');
  const spans = steps.map(({ name, attributes = {}, events = [] }, index) => ({
    traceId,
    spanId: randomBytes(8).toString('hex'),
    parentSpanId: rootId,
    name,
    startTimeUnixNano: nanos(1 + 2 * index),
    endTimeUnixNano: nanos(2 + 2 * index),
    attributes: attributesOf({ ...session, ...attributes }),
    events: events.map((event) => ({
      name: event.name,
      timeUnixNano: nanos(1 + 2 * index),
      attributes: attributesOf(event.attributes ?? {}),
    })),
  }));
  const root = {
    traceId,
    spanId: rootId,
    name: 'invoke_agent guide',
    startTimeUnixNano: nanos(0),
    endTimeUnixNano: nanos(2 + 2 * steps.length),
    attributes: attributesOf({ ...session, 'gen_ai.operation.name': 'invoke_agent', ...rootAttributes }),
  };
  await exported(on, 'traces', { resourceSpans: [{ scopeSpans: [{ spans: [...spans, root] }] }] });
  const logRecords = steps.flatMap(({ logs = [], hasEventNames = false }, index) =>
    logs.map(({ name, attributes = {}, body }) => ({
      traceId,
      ...(loggedUnder !== 'none' && { spanId: loggedUnder === 'root' ? rootId : spans[index]!.spanId }),
      timeUnixNano: nanos(1 + 2 * index),
      ...(hasEventNames && { eventName: name }),
      attributes: attributesOf({ ...attributes, ...(!hasEventNames && { 'event.name': name }) }),
      ...(body !== undefined && { body: valueOf(body) }),
    })),
  );
  if (logRecords.length > 0) {
    await exported(on, 'logs', { resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
  }
  return traceId;
}

async function exported(on: ScoringFixture, signal: 'traces' | 'logs', body: object): Promise<void> {
  const answer = await on.evaluator.post(`/telemetry/v1/${signal}`, body);
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
}

const attributesOf = (attributes: Attributes): object[] =>
  Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : { key, value: valueOf(value) },
  );

function valueOf(value: unknown): object {
  if (Array.isArray(value)) return { arrayValue: { values: value.map(valueOf) } };
  if (typeof value === 'object' && value !== null)
    return { kvlistValue: { values: attributesOf(value as Attributes) } };
  if (typeof value === 'number') return { intValue: String(value) };
  return { stringValue: String(value) };
}
