import { isUtf8 } from 'node:buffer';
import { parsePlain } from '#platform/http';
import { parsedSizeOf } from '#platform/json';
import { problem } from '#platform/problem';
import { withoutBlankTexts } from '../formats/blank-texts';
import { toMessagesRequest } from '../formats/chat-to-messages';
import { isObject, type JsonObject, nameOf, numberOf, objectOf } from '../formats/json-shape';
import { toChatRequest } from '../formats/messages-to-chat';
import { ECHOED } from '../formats/response-object';
import { responsesToChatRequest } from '../formats/responses-to-chat';
import { UntranslatableError } from '../formats/request-members';
import type { ProviderKind } from '../providers/provider.entity';
import { CallFailure } from './call-failure';
import { type CallFormat, type RequestFacts, wireFormatOf } from './call.types';
import { members, type Replacements, splice } from './json-splice';
import { checkRequestValues } from './parsing-turns';
import { boundOf } from './request-bound';

const MODEL_MAX = 255;

/** Reads the facts of a request. Errors: 400, 413 for too many values. Takes long for a large request: run it in a turn. */
export function inspect(bytes: Buffer, format: CallFormat): RequestFacts {
  checkRequestValues(bytes);
  const body = parse(bytes);
  if (!isObject(body)) throw problem.invalidField('', 'must be a JSON object');
  const { model, stream } = body;
  if (nameOf(model) === undefined || (model as string).length > MODEL_MAX) {
    throw problem.invalidField(
      '/model',
      `must be the name or the id of a model, of 1 to ${MODEL_MAX} characters`,
    );
  }
  if (stream !== undefined && stream !== null && typeof stream !== 'boolean') {
    throw problem.invalidField('/stream', 'must be true or false');
  }
  return {
    model: model as string,
    // embeddings are never streamed, so `stream` has no effect there
    isStream: stream === true && format !== 'embeddings',
    includesUsage: objectOf(body.stream_options).include_usage === true,
    bound: boundOf(body, bytes.length, format),
    temperature: numberOf(body.temperature) ?? null,
  };
}

function parse(bytes: Buffer): unknown {
  try {
    if (isUtf8(bytes)) return JSON.parse(bytes.toString());
  } catch {
    // reported with its position below
  }
  return parsePlain(bytes);
}

/** The form in which a provider takes a request. */
export interface RequestForm {
  format: CallFormat;
  kind: ProviderKind;
  /** The name of the model at the provider. */
  model: string;
  isStream: boolean;
}

/**
 * Returns a request in the form for a provider. Takes long for a large request: run it in a turn.
 *
 * @throws CallFailure if it cannot be translated
 */
export function translateRequest(body: Buffer, { format, kind, model, isStream }: RequestForm): string {
  const text = body.toString();
  try {
    if (wireFormatOf(kind, format) === format) {
      return splice(text, { model: JSON.stringify(model), ...nativeChanges(text, format, isStream) });
    }
    const request = TRANSLATIONS[`${kind} ${format}`]!(JSON.parse(text) as JsonObject);
    return JSON.stringify({ ...request, model });
  } catch (error) {
    if (error instanceof RangeError) throw untranslatable('', 'The body is nested too deeply.');
    if (!(error instanceof UntranslatableError)) throw error;
    throw untranslatable(error.pointer, error.message);
  }
}

const TRANSLATIONS: Readonly<Record<string, (request: JsonObject) => JsonObject>> = {
  'openai messages': toChatRequest,
  'anthropic chat': toMessagesRequest,
  'anthropic responses': (request) => toMessagesRequest(responsesToChatRequest(request)),
};

const untranslatable = (pointer: string, detail: string): CallFailure =>
  new CallFailure('refused', 'cannot express the request', problem.invalidField(pointer, detail), {
    status: 400,
    reported: { message: detail, parameter: pointer, code: '', type: '' },
  });

/** Returns the other members to change in a request that is passed on, as JSON texts. */
function nativeChanges(text: string, format: CallFormat, isStream: boolean): Replacements {
  if (format === 'messages') return withoutBlankTexts(text);
  // providers report the usage of a stream only on request
  return format === 'chat' && isStream ? { stream_options: streamOptions(text) } : {};
}

function streamOptions(text: string): string {
  let options: JsonObject = {};
  for (const { name, start, end } of members(text)) {
    if (name === 'stream_options') options = objectOf(JSON.parse(text.slice(start, end)));
  }
  return JSON.stringify({ ...options, include_usage: true });
}

/** The members of a request that a Response repeats. */
export interface Echo {
  members: JsonObject;
  /** Estimated bytes of memory. */
  heldBytes: number;
}

/** Returns what a Response repeats of a request. Takes long for a large request: run it in a turn. */
export function echoOf(body: Buffer): Echo {
  const text = body.toString();
  const parts: string[] = [];
  for (const { name, start, end } of members(text)) {
    if (ECHOED.has(name)) parts.push(`${JSON.stringify(name)}:${text.slice(start, end)}`);
  }
  const json = `{${parts.join(',')}}`;
  return { members: JSON.parse(json) as JsonObject, heldBytes: parsedSizeOf(Buffer.from(json)) };
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
