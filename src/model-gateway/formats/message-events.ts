import { type AnswerBlock, type AnswerStep, ChatChunkAssembler } from './chat-chunk.assembler';
import { stopReasonOf } from './chat-outcome';
import { newId, toolUseId } from './foreign-id';
import type { JsonObject } from './json-shape';
import { messagesUsage, type Usage } from './usage';

/** An event of an Anthropic stream. The `type` of its data is also its name. */
export interface MessageEvent {
  event: string;
  data: JsonObject;
}

/** Translates the chunks of a chat completion to the stream of an Anthropic message. */
export class MessageEvents {
  readonly #answer = new ChatChunkAssembler(false);
  #hasStarted = false;
  #hasCalls = false;
  #hasRefusal = false;

  /** Estimated bytes of memory. */
  get heldBytes(): number {
    return this.#answer.heldBytes;
  }

  get usage(): Usage {
    return this.#answer.usage;
  }

  /**
   * Adds a chunk, and returns its events.
   *
   * @throws StreamFailure if the chunk reports an error
   */
  push(chunk: JsonObject): MessageEvent[] {
    const steps = this.#answer.push(chunk);
    return [...this.#start(), ...steps.map((step) => this.#eventOf(step))];
  }

  /** Ends the blocks of the message, and yields their remaining events. */
  *close(): Generator<MessageEvent, void> {
    const steps = this.#answer.end();
    yield* this.#start();
    for (const step of steps) yield this.#eventOf(step);
  }

  /** Ends the message after its blocks, and returns its last events. */
  end(): MessageEvent[] {
    const reason = stopReasonOf(this.#answer.finishReason, this.#hasCalls, this.#hasRefusal);
    return [
      eventOf('message_delta', {
        delta: { stop_reason: reason, stop_sequence: null },
        usage: messagesUsage(this.usage),
      }),
      eventOf('message_stop', {}),
    ];
  }

  /** Returns the first event once. Its usage is zero, because the totals are only known for `message_delta`. */
  #start(): MessageEvent[] {
    if (this.#hasStarted) return [];
    this.#hasStarted = true;
    const message = {
      id: this.#answer.id ?? newId('msg_'),
      type: 'message',
      role: 'assistant',
      model: this.#answer.model ?? '',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 0, output_tokens: 0 },
    };
    return [eventOf('message_start', { message })];
  }

  #eventOf(step: AnswerStep): MessageEvent {
    const { index } = step.block;
    if (step.type === 'stop') return eventOf('content_block_stop', { index });
    if (step.type === 'start') {
      return eventOf('content_block_start', { index, content_block: this.#blockOf(step.block) });
    }
    const delta =
      step.block.kind === 'call'
        ? { type: 'input_json_delta', partial_json: step.text }
        : { type: 'text_delta', text: step.text };
    return eventOf('content_block_delta', { index, delta });
  }

  #blockOf(block: AnswerBlock): JsonObject {
    if (block.kind === 'call') {
      this.#hasCalls = true;
      return { type: 'tool_use', id: toolUseId(block.id), name: block.name, input: {} };
    }
    if (block.kind === 'refusal') this.#hasRefusal = true;
    return { type: 'text', text: '' };
  }
}

function eventOf(type: string, members: JsonObject): MessageEvent {
  return { event: type, data: { type, ...members } };
}
