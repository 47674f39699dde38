import { type AnswerBlock, type AnswerStep, ChatChunkAssembler } from './chat-chunk.assembler';
import { firstChoiceOf } from './chat-outcome';
import { newId, secondsNow } from './foreign-id';
import { type JsonObject, listOf, objectOf } from './json-shape';
import { type ItemStatus, outputPart, responseOf, statusOf } from './response-object';

/**
 * Translates the chunks of a chat completion to the stream of a Response. The `type` of each object is also the name of its event.
 * Every text, refusal and call becomes a separate item.
 */
export class ResponseEvents {
  readonly #answer = new ChatChunkAssembler(true);
  readonly #id = newId('resp_');
  readonly #createdAt = secondsNow();
  readonly #output: JsonObject[] = [];
  #itemId = '';
  #sequenceNumber = 0;
  #hasStarted = false;

  /** Estimated bytes of memory. */
  get heldBytes(): number {
    return this.#answer.heldBytes;
  }

  /** @param request the client's request, or its members that Response objects repeat */
  constructor(private readonly request: JsonObject) {}

  /**
   * Adds a chunk, and returns its events.
   *
   * @throws StreamFailure if the chunk reports an error
   */
  push(chunk: JsonObject): JsonObject[] {
    const steps = this.#answer.push(chunk);
    return [...this.#start(), ...steps.flatMap((step) => this.#eventsOf(step, 'completed'))];
  }

  /** Ends the items of the response, and yields their remaining events. */
  *close(): Generator<JsonObject, void> {
    yield* this.#start();
    let last: AnswerStep | undefined;
    for (const step of this.#answer.end()) {
      if (last) yield* this.#eventsOf(last, 'completed');
      last = step;
    }
    if (last) yield* this.#eventsOf(last, statusOf(this.#answer.finishReason));
  }

  /** Ends the response after its items, and returns its last event. */
  end(): JsonObject {
    const status = statusOf(this.#answer.finishReason);
    return this.#event(`response.${status}`, { response: this.#response(status) });
  }

  #start(): JsonObject[] {
    if (this.#hasStarted) return [];
    this.#hasStarted = true;
    return ['response.created', 'response.in_progress'].map((type) =>
      this.#event(type, { response: this.#response('in_progress') }),
    );
  }

  #response(status: ItemStatus): JsonObject {
    const isOver = status !== 'in_progress';
    return responseOf(this.request, {
      id: this.#id,
      createdAt: this.#createdAt,
      model: this.#answer.model,
      status,
      output: [...this.#output],
      ...(isOver ? { finishReason: this.#answer.finishReason, usageSource: this.#answer.usageChunk } : {}),
    });
  }

  #eventsOf(step: AnswerStep, status: ItemStatus): JsonObject[] {
    const { block } = step;
    if (step.type === 'delta') return [this.#deltaOf(block, step.text)];
    if (step.type === 'start') {
      this.#itemId = newId(block.kind === 'call' ? 'fc_' : 'msg_');
      return this.#eventsOfStart(block);
    }
    const item = this.#itemOf(block, status);
    this.#output.push(item);
    return [
      ...this.#eventsOfStop(block),
      this.#event('response.output_item.done', { output_index: block.index, item }),
    ];
  }

  #eventsOfStart(block: AnswerBlock): JsonObject[] {
    const item = this.#itemOf(block, 'in_progress');
    const added = this.#event('response.output_item.added', { output_index: block.index, item });
    if (block.kind === 'call') return [added];
    const part = outputPart(block.kind, '');
    return [added, this.#event('response.content_part.added', { ...this.#partPlace(block), part })];
  }

  #deltaOf(block: AnswerBlock, delta: string): JsonObject {
    switch (block.kind) {
      case 'call':
        return this.#event('response.function_call_arguments.delta', { ...this.#itemPlace(block), delta });
      case 'refusal':
        return this.#event('response.refusal.delta', { ...this.#partPlace(block), delta });
      case 'text':
        return this.#event('response.output_text.delta', { ...this.#partPlace(block), delta, logprobs: [] });
    }
  }

  #eventsOfStop(block: AnswerBlock): JsonObject[] {
    if (block.kind === 'call') return this.#eventsOfCallStop(block);
    const place = this.#partPlace(block);
    const done =
      block.kind === 'refusal'
        ? this.#event('response.refusal.done', { ...place, refusal: block.text })
        : this.#event('response.output_text.done', { ...place, text: block.text, logprobs: [] });
    const part = outputPart(block.kind, block.text);
    return [done, this.#event('response.content_part.done', { ...place, part })];
  }

  /** Uses `{}` for empty arguments, because clients parse them, and an empty string is not JSON. */
  #eventsOfCallStop(block: AnswerBlock): JsonObject[] {
    const events = block.text === '' ? [this.#deltaOf(block, '{}')] : [];
    const done = this.#event('response.function_call_arguments.done', {
      ...this.#itemPlace(block),
      name: block.name,
      arguments: block.text || '{}',
    });
    return [...events, done];
  }

  #itemOf({ kind, id: call_id, name, text }: AnswerBlock, status: ItemStatus): JsonObject {
    const isNew = status === 'in_progress';
    const item = { id: this.#itemId, status };
    return kind === 'call'
      ? { ...item, type: 'function_call', call_id, name, arguments: isNew ? '' : text || '{}' }
      : { ...item, type: 'message', role: 'assistant', content: isNew ? [] : [outputPart(kind, text)] };
  }

  #itemPlace(block: AnswerBlock): JsonObject {
    return { item_id: this.#itemId, output_index: block.index };
  }

  #partPlace(block: AnswerBlock): JsonObject {
    return { ...this.#itemPlace(block), content_index: 0 };
  }

  #event(type: string, members: JsonObject): JsonObject {
    return { type, sequence_number: this.#sequenceNumber++, ...members };
  }
}

/**
 * Translates a whole chat completion to a Response, which is the same as at the end of its stream.
 *
 * @param request the client's request in the format of the Responses API. The Response repeats it
 * @throws StreamFailure if the answer has too many parts
 */
export function toResponsesAnswer(chat: JsonObject, request: JsonObject): JsonObject {
  const { message, finish_reason } = firstChoiceOf(chat);
  const { tool_calls, ...delta } = objectOf(message);
  const calls = listOf(tool_calls).map((call, index) => ({ ...objectOf(call), index }));
  const events = new ResponseEvents(request);
  events.push({ ...chat, choices: [{ delta: { ...delta, tool_calls: calls }, finish_reason }] });
  for (const _ of events.close());
  return objectOf(events.end().response);
}
