import { callsOf, contentTextOf, firstChoiceOf, lengthOfMessage } from '../formats/chat-outcome';
import { toMessagesAnswer } from '../formats/chat-to-messages-answer';
import { outlineOf } from '../formats/json-outline';
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
import { COSTLY, isCostly } from './parsing-turns';

/** Maximum size of an answer whose content is read, in bytes. Only the outline of larger ones, such as embeddings, is read. */
const READ_MAX = 256 * 1024;
/** Maximum size of an answer that is translated, in bytes. */
const TRANSLATED_MAX = 4 * 1024 * 1024;

const USAGE_OF: Readonly<Record<CallFormat, (answer: unknown) => Usage>> = {
  chat: usageOfChat,
  responses: usageOfResponses,
  embeddings: usageOfEmbeddings,
  messages: usageOfMessages,
};

/** The format of the client, and the provider that answered. */
export interface AnswerForm {
  format: CallFormat;
  kind: ProviderKind;
  sender: FailedProvider;
}

/** Tells whether only the outline of an answer is read, because it is large. */
export const isOutlined = ({ length }: Buffer, { format, kind }: AnswerForm): boolean =>
  length > (wireFormatOf(kind, format) === format ? READ_MAX : TRANSLATED_MAX);

/** An answer for the client. */
export interface TranslatedAnswer {
  bytes: Buffer;
  facts: AnswerFacts;
  /** Characters to estimate tokens from if the answer does not report its usage. */
  length: number;
}

/**
 * Returns the answer of a provider in the client's format. If both use the same format, the bytes stay the same. Throws
 * `CallFailure` for anything that is not an answer.
 *
 * @param request the client's request. Empty for an answer from the cache
 * @param outline the outline of an answer for which `isOutlined` is true, if it has been read
 */
export function translateAnswer(
  bytes: Buffer,
  form: AnswerForm,
  request: Buffer,
  outline?: string,
): TranslatedAnswer {
  const { format, kind, sender } = form;
  const wire = wireFormatOf(kind, format)!;
  const isNative = wire === format;
  const isLarge = isOutlined(bytes, form);
  const isOutline = isLarge || isCostly(bytes);
  const answer = parsedObject(isOutline ? (outline ?? outlineOf(bytes)) : bytes.toString());
  const usage = usageOf(answer, wire);
  if (isLarge && !isNative) throw answerTooLarge(sender.name, TRANSLATED_MAX, usage);
  checkAnswer(answer, wire, sender, usage);
  if (isOutline && !isNative) throw unusableAnswer(sender.name, `returned JSON with ${COSTLY}`, usage);
  if (isEmpty(answer, wire, request))
    throw unusableAnswer(sender.name, `did not return ${NOUNS[wire]}`, usage);
  const chat = wire === 'messages' ? toChatAnswer(answer) : answer;
  const contents = wire === 'responses' ? responseContents(answer) : chatContents(chat);
  const facts: AnswerFacts = {
    usage,
    isUsageFinal: true,
    id: nameOf(answer.id) ?? null,
    model: nameOf(answer.model) ?? null,
    finishReason: contents.finishReason,
    // the texts of an outline are cut
    text: isOutline ? '' : contents.text,
    toolCalls: isOutline ? [] : contents.toolCalls,
  };
  const isCounted = isOutline && wire !== 'embeddings';
  const length = isCounted ? bytes.length : contents.length;
  if (isNative) return { bytes, facts, length };
  try {
    const text = jsonText(translateChat(chat, format, request));
    if (text === undefined)
      throw unusableAnswer(sender.name, 'returned JSON that is nested too deeply', usage);
    return { bytes: Buffer.from(text), facts, length };
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

interface Contents extends Pick<AnswerFacts, 'text' | 'toolCalls' | 'finishReason'> {
  /** Characters of all choices: texts, reasoning and arguments. */
  length: number;
}

function chatContents(answer: JsonObject): Contents {
  const { message, finish_reason: finishReason } = firstChoiceOf(answer);
  const { content, ...rest } = objectOf(message);
  const messages = listOf(answer.choices).map((choice) => objectOf(objectOf(choice).message));
  return {
    length: messages.reduce((sum, one) => sum + lengthOfMessage(one), 0),
    text: contentTextOf(content) ?? '',
    toolCalls: callsOf(rest).map(({ id, ...called }) => ({ id, type: 'function', function: called })),
    finishReason: nameOf(finishReason) ?? null,
  };
}

function responseContents({ output, status }: JsonObject): Contents {
  const items = listOf(output).map(objectOf);
  const parts = items.flatMap((item) => listOf(item.content).map(objectOf));
  const summaries = items.flatMap((item) => listOf(item.summary).map(objectOf));
  const texts = [
    ...[...parts, ...summaries].flatMap(({ text, refusal }) => [text, refusal]),
    ...items.flatMap((item) => [item.arguments, item.input]),
  ];
  return {
    length: texts.reduce<number>((sum, text) => sum + (textOf(text)?.length ?? 0), 0),
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
