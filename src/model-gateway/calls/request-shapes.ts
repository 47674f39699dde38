import { toMessagesRequest } from '../formats/chat-to-messages';
import { isObject, type JsonObject, nameOf, numberOf, objectOf } from '../formats/json-shape';
import { toChatRequest } from '../formats/messages-to-chat';
import { responsesToChatRequest } from '../formats/responses-to-chat';
import { UntranslatableError } from '../formats/untranslatable.error';
import { tokensOf } from '../formats/usage';
import type { ProviderKind } from '../providers/provider.entity';
import { type CallFormat, wireFormatOf } from './call-format';
import { splice } from './json-splice';

/** A fault in a request, with its JSON Pointer. */
export interface RequestFault {
  pointer: string;
  detail: string;
}

/** The facts that the gateway needs from a request. */
export interface RequestFacts {
  /** The name or id that the client sent. */
  model: string;
  isStream: boolean;
  /** Whether the client of a chat completion requested a last chunk with the usage. */
  includesUsage: boolean;
  /** Maximum tokens of the answer, if the client limits them. */
  maxTokens: number | null;
  temperature: number | null;
}

export type Inspected = { facts: RequestFacts } | { fault: RequestFault };

/** Returns the facts of a request, or its fault. Never throws. */
export function inspect(text: string): Inspected {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return { fault: { pointer: '', detail: 'The body is not valid JSON.' } };
  }
  if (!isObject(body)) return { fault: { pointer: '', detail: 'The body must be a JSON object.' } };
  const { model, stream } = body;
  if (nameOf(model) === undefined || (model as string).length > MODEL_MAX) {
    return {
      fault: {
        pointer: '/model',
        detail: `must be the name or the id of a model, of 1 to ${MODEL_MAX} characters`,
      },
    };
  }
  if (stream !== undefined && stream !== null && typeof stream !== 'boolean') {
    return { fault: { pointer: '/stream', detail: 'must be true or false' } };
  }
  const limit = body.max_completion_tokens ?? body.max_output_tokens ?? body.max_tokens;
  return {
    facts: {
      model: model as string,
      isStream: stream === true,
      includesUsage: objectOf(body.stream_options).include_usage === true,
      maxTokens: tokensOf(limit),
      temperature: numberOf(body.temperature) ?? null,
    },
  };
}

const MODEL_MAX = 255;

/** The target form of a request for a provider. */
export interface Shape {
  format: CallFormat;
  kind: ProviderKind;
  /** The name of the model at the provider. */
  model: string;
  isStream: boolean;
}

export type Shaped = { text: string } | { fault: RequestFault };

/** Returns a request in the form for a kind of provider, or the reason why it cannot be translated. */
export function shape(text: string, { format, kind, model, isStream }: Shape): Shaped {
  try {
    if (wireFormatOf(kind, format) === format) {
      // providers report the usage of a stream only on request
      const usage: Record<string, string> =
        format === 'chat' && isStream ? { stream_options: streamOptions(text) } : {};
      return { text: splice(text, { model: JSON.stringify(model), ...usage }) };
    }
    const request = TRANSLATIONS[`${kind} ${format}`]!(JSON.parse(text) as JsonObject);
    return { text: JSON.stringify({ ...request, model }) };
  } catch (error) {
    if (error instanceof RangeError)
      return { fault: { pointer: '', detail: 'The body is nested too deeply.' } };
    if (!(error instanceof UntranslatableError)) throw error;
    return { fault: { pointer: error.pointer, detail: error.message } };
  }
}

const TRANSLATIONS: Readonly<Record<string, (request: JsonObject) => JsonObject>> = {
  'openai messages': toChatRequest,
  'anthropic chat': toMessagesRequest,
  'anthropic responses': (request) => toMessagesRequest(responsesToChatRequest(request)),
};

function streamOptions(text: string): string {
  const { stream_options } = JSON.parse(text) as JsonObject;
  return JSON.stringify({ ...objectOf(stream_options), include_usage: true });
}

/** Returns the messages of a request in the format of chat completions, for a span, or undefined if there are none. */
export function messagesOf(text: string, format: CallFormat): unknown {
  try {
    const request = JSON.parse(text) as JsonObject;
    if (format === 'embeddings') return request.input;
    if (format === 'messages') return toChatRequest(request).messages;
    return format === 'chat' ? request.messages : responsesToChatRequest(request).messages;
  } catch {
    return undefined;
  }
}
