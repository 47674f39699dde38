import { callsOf, contentTextOf, firstChoiceOf } from './chat-outcome';
import { newId, secondsNow } from './foreign-id';
import { countOf, type JsonObject, nameOf, objectOf } from './json-shape';
import { callItem, messageItem, outputPart, responseOf, statusOf } from './response-object';

export { ResponseEvents } from './response-events';

/**
 * Translates a chat completion to a Response object, without the model's reasoning.
 *
 * @param request the client's request in the format of the Responses API. The object repeats it
 */
export function toResponsesAnswer(chat: JsonObject, request: JsonObject): JsonObject {
  const { finish_reason: finishReason, message } = firstChoiceOf(chat);
  return responseOf(request, {
    id: newId('resp_'),
    createdAt: countOf(chat.created) ?? secondsNow(),
    model: nameOf(chat.model),
    status: statusOf(finishReason),
    output: outputOf(objectOf(message), finishReason),
    finishReason: nameOf(finishReason),
    usageSource: chat,
  });
}

/** Returns the items of an answer. The last item of an incomplete answer is incomplete. */
function outputOf(message: JsonObject, finishReason: unknown): JsonObject[] {
  const text = contentTextOf(message.content);
  const refusal = nameOf(message.refusal);
  const content = [
    ...(text === undefined ? [] : [outputPart('text', text)]),
    ...(refusal === undefined ? [] : [outputPart('refusal', refusal)]),
  ];
  const items = content.length === 0 ? [] : [messageItem(newId('msg_'), 'completed', content)];
  for (const call of callsOf(message)) {
    const callId = call.id ?? newId('call_');
    items.push(
      callItem(newId('fc_'), 'completed', { callId, name: call.name, arguments: call.arguments || '{}' }),
    );
  }
  const last = items.at(-1);
  if (last) last.status = statusOf(finishReason);
  return items;
}
