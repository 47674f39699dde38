import { callsOf, contentTextOf, firstChoiceOf } from '../formats/chat-outcome';
import { toMessagesAnswer } from '../formats/chat-to-messages-answer';
import { toResponsesAnswer } from '../formats/chat-to-responses';
import {
  type JsonObject,
  jsonText,
  listOf,
  nameOf,
  objectOf,
  parsedObject,
  textOf,
} from '../formats/json-shape';
import { toChatAnswer } from '../formats/messages-to-chat-answer';
import {
  type Usage,
  usageOfChat,
  usageOfEmbeddings,
  usageOfMessages,
  usageOfResponses,
} from '../formats/usage';
import type { ProviderKind } from '../providers/provider.entity';
import { type CallFormat, wireFormatOf } from './call-format';

/** Facts about an answer, for usage and spans. */
export interface AnswerFacts {
  usage: Usage;
  id: string | null;
  /** The model that answered, by its name at the provider. */
  model: string | null;
  finishReason: string | null;
  /** The text of the answer. */
  text: string;
  /** The tool calls, in the format of chat completions. */
  toolCalls: JsonObject[];
}

export type ShapedAnswer = { text: string; facts: AnswerFacts } | { fault: string };

const USAGE_OF: Readonly<Record<CallFormat, (answer: unknown) => Usage>> = {
  chat: usageOfChat,
  responses: usageOfResponses,
  embeddings: usageOfEmbeddings,
  messages: usageOfMessages,
};

/**
 * Returns the answer of a provider in the client's format. If both use the same format, the bytes stay the same.
 *
 * @param request the text of the client's request
 */
export function shapeAnswer(
  text: string,
  { format, kind, request }: { format: CallFormat; kind: ProviderKind; request: string },
): ShapedAnswer {
  const answer = parsedObject(text);
  if (!answer) return { fault: 'did not return a JSON object' };
  const wire = wireFormatOf(kind, format)!;
  if (!IS_ANSWER[wire](answer)) return { fault: `did not return ${NOUNS[wire]}` };
  const facts = factsOf(answer, wire);
  if (wire === format) return { text, facts };
  const shaped = jsonText(translate(answer, wire, format, request));
  return shaped === undefined
    ? { fault: 'returned JSON that is nested too deeply' }
    : { text: shaped, facts };
}

/** Checks that an object is an answer in a format, not an error from an intermediary. */
const IS_ANSWER: Readonly<Record<CallFormat, (answer: JsonObject) => boolean>> = {
  chat: ({ choices }) => Array.isArray(choices),
  responses: ({ output, status }) => Array.isArray(output) || typeof status === 'string',
  embeddings: ({ data }) => Array.isArray(data),
  messages: ({ content }) => Array.isArray(content),
};

const NOUNS: Readonly<Record<CallFormat, string>> = {
  chat: 'a chat completion',
  responses: 'a response',
  embeddings: 'embeddings',
  messages: 'a message',
};

function translate(answer: JsonObject, wire: CallFormat, format: CallFormat, request: string): JsonObject {
  const chat = wire === 'messages' ? toChatAnswer(answer) : answer;
  if (format === 'messages') return toMessagesAnswer(chat);
  return format === 'responses' ? toResponsesAnswer(chat, parsedObject(request) ?? {}) : chat;
}

function factsOf(answer: JsonObject, wire: CallFormat): AnswerFacts {
  const { text, toolCalls, finishReason } = CONTENTS[wire](answer);
  return {
    usage: USAGE_OF[wire](answer),
    id: nameOf(answer.id) ?? null,
    model: nameOf(answer.model) ?? null,
    finishReason: nameOf(finishReason) ?? null,
    text,
    toolCalls,
  };
}

interface Contents {
  text: string;
  toolCalls: JsonObject[];
  finishReason: unknown;
}

const CONTENTS: Readonly<Record<CallFormat, (answer: JsonObject) => Contents>> = {
  chat: chatContents,
  messages: (answer) => chatContents(toChatAnswer(answer)),
  responses: responseContents,
  embeddings: () => ({ text: '', toolCalls: [], finishReason: undefined }),
};

function chatContents(answer: JsonObject): Contents {
  const { message, finish_reason: finishReason } = firstChoiceOf(answer);
  const { content, ...rest } = objectOf(message);
  return {
    text: contentTextOf(content) ?? '',
    toolCalls: callsOf(rest).map(({ id, ...called }) => ({ id, type: 'function', function: called })),
    finishReason,
  };
}

function responseContents({ output, status }: JsonObject): Contents {
  const items = listOf(output).map(objectOf);
  const parts = items.flatMap((item) => listOf(item.content).map(objectOf));
  return {
    text: parts.map((part) => textOf(part.text) ?? '').join(''),
    toolCalls: items
      .filter((item) => item.type === 'function_call')
      .map((item) => ({
        id: textOf(item.call_id),
        type: 'function',
        function: { name: textOf(item.name), arguments: textOf(item.arguments) },
      })),
    finishReason: status,
  };
}
