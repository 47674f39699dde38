import { JsonInputError } from '#platform/json';
import { callsOf, contentTextOf, firstChoiceOf } from '../formats/chat-outcome';
import { toMessagesAnswer } from '../formats/chat-to-messages-answer';
import {
  isObject,
  type JsonObject,
  jsonText,
  listOf,
  nameOf,
  objectOf,
  parsedObject,
  textOf,
} from '../formats/json-shape';
import { toChatAnswer } from '../formats/messages-to-chat-answer';
import { errorOf, isError } from '../formats/reported-error';
import { toResponsesAnswer } from '../formats/response-events';
import { StreamFailure } from '../formats/stream-failure';
import {
  type Usage,
  usageOfChat,
  usageOfEmbeddings,
  usageOfMessages,
  usageOfResponses,
} from '../formats/usage';
import type { ProviderKind } from '../providers/provider.entity';
import { answerTooLarge, type FailedProvider, unusableAnswer } from './call-failure';
import { reportedFailure } from './reported-failure';
import { type AnswerFacts, type CallFormat, wireFormatOf } from './call.types';
import { members } from './json-splice';

/** Maximum size of an answer that is parsed, in bytes. The members of larger ones, such as embeddings, are not read. */
const PARSED_MAX = 4 * 1024 * 1024;

const USAGE_OF: Readonly<Record<CallFormat, (answer: unknown) => Usage>> = {
  chat: usageOfChat,
  responses: usageOfResponses,
  embeddings: usageOfEmbeddings,
  messages: usageOfMessages,
};

/** An answer for the client. */
export interface TranslatedAnswer {
  bytes: Buffer;
  facts: AnswerFacts;
}

/**
 * Returns the answer of a provider in the client's format. If both use the same format, the bytes stay the same. Throws
 * `CallFailure` for anything that is not an answer.
 *
 * @param request the client's request. Empty for an answer from the cache
 */
export function translateAnswer(
  bytes: Buffer,
  { format, kind, sender }: { format: CallFormat; kind: ProviderKind; sender: FailedProvider },
  request: Buffer,
): TranslatedAnswer {
  const wire = wireFormatOf(kind, format)!;
  const isLarge = bytes.length > PARSED_MAX;
  const answer = isLarge ? outlineOf(bytes) : parsedObject(bytes.toString());
  const usage = usageOf(answer, wire);
  if (isLarge && wire !== format) throw answerTooLarge(sender.name, PARSED_MAX, usage);
  checkAnswer(answer, wire, sender, usage);
  if (!isLarge && isEmpty(answer, wire, request))
    throw unusableAnswer(sender.name, `did not return ${NOUNS[wire]}`, usage);
  const chat = wire === 'messages' ? toChatAnswer(answer) : answer;
  const facts: AnswerFacts = {
    ...(wire === 'responses' ? responseContents(answer) : chatContents(chat)),
    usage,
    id: nameOf(answer.id) ?? null,
    model: nameOf(answer.model) ?? null,
  };
  if (wire === format) return { bytes, facts };
  try {
    const text = jsonText(translateChat(chat, format, request));
    if (text === undefined)
      throw unusableAnswer(sender.name, 'returned JSON that is nested too deeply', usage);
    return { bytes: Buffer.from(text), facts };
  } catch (error) {
    throw error instanceof StreamFailure
      ? unusableAnswer(sender.name, 'returned too many parts', usage)
      : error;
  }
}

/** Returns the usage that an answer reports, even if it cannot be used. */
export const usageOf = (answer: unknown, wire: CallFormat): Usage => USAGE_OF[wire](answer);

/**
 * Throws `CallFailure` for a value that is not an answer in a format, or that reports an error, although its status is 200.
 *
 * @param usage the usage that the value reports
 */
export function checkAnswer(
  answer: unknown,
  wire: CallFormat,
  sender: FailedProvider,
  usage: Usage,
): asserts answer is JsonObject {
  if (!isObject(answer)) throw unusableAnswer(sender.name, 'did not return a JSON object', usage);
  const isAnswer = IS_ANSWER[wire](answer);
  const error = isAnswer && !isError(answer) ? undefined : errorOf(answer);
  if (error && (isError(answer) || error.message !== '')) {
    const isCounted = usage.inputTokens !== null || usage.outputTokens !== null;
    throw reportedFailure(sender, error, isCounted ? usage : undefined);
  }
  if (!isAnswer) throw unusableAnswer(sender.name, `did not return ${NOUNS[wire]}`, usage);
}

/** Tells whether an answer has no choice, or no embedding of any input. */
function isEmpty(answer: JsonObject, wire: CallFormat, request: Buffer): boolean {
  if (wire === 'chat') return listOf(answer.choices).length === 0;
  if (wire !== 'embeddings' || listOf(answer.data).length > 0) return false;
  const input = parsedObject(request.toString())?.input;
  return typeof input === 'string' || listOf(input).length > 0;
}

/** Tells whether an object is an answer in a format. A Responses object with `status: "failed"` is not an answer. */
const IS_ANSWER: Readonly<Record<CallFormat, (answer: JsonObject) => boolean>> = {
  chat: ({ choices }) => Array.isArray(choices),
  responses: ({ output, status }) =>
    status !== 'failed' && (Array.isArray(output) || typeof status === 'string'),
  embeddings: ({ data }) => Array.isArray(data),
  messages: ({ content }) => Array.isArray(content),
};

const NOUNS: Readonly<Record<CallFormat, string>> = {
  chat: 'a chat completion',
  responses: 'a response',
  embeddings: 'embeddings',
  messages: 'a message',
};

/** Translates a chat completion to another format. */
function translateChat(chat: JsonObject, format: CallFormat, request: Buffer): JsonObject {
  if (format === 'messages') return toMessagesAnswer(chat);
  return format === 'responses' ? toResponsesAnswer(chat, parsedObject(request.toString()) ?? {}) : chat;
}

type Contents = Pick<AnswerFacts, 'text' | 'toolCalls' | 'finishReason'>;

function chatContents(answer: JsonObject): Contents {
  const { message, finish_reason: finishReason } = firstChoiceOf(answer);
  const { content, ...rest } = objectOf(message);
  return {
    text: contentTextOf(content) ?? '',
    toolCalls: callsOf(rest).map(({ id, ...called }) => ({ id, type: 'function', function: called })),
    finishReason: nameOf(finishReason) ?? null,
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
    finishReason: nameOf(status) ?? null,
  };
}

/** The members of a large answer that are read. */
const OUTLINED: ReadonlySet<string> = new Set(['choices', 'content', 'data', 'output', 'usage']);

/** Returns some members of an answer that is too large to parse without blocking the event loop. Its lists are empty. */
function outlineOf(bytes: Buffer): JsonObject | undefined {
  const text = bytes.toString('latin1');
  const outline: JsonObject = {};
  try {
    for (const { name, start, end } of members(text)) {
      if (OUTLINED.has(name)) outline[name] = text[start] === '[' ? [] : parsedObject(text.slice(start, end));
    }
  } catch (error) {
    if (!(error instanceof JsonInputError)) throw error;
    return undefined;
  }
  return outline;
}
