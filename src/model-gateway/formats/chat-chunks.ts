import { newId, secondsNow } from './foreign-id';
import {
  isObject,
  type JsonObject,
  keyOf,
  labelOf,
  memoryOf,
  nameOf,
  numberOf,
  objectOf,
  textOf,
} from './json-shape';
import { chatUsageOfMessage, finishReasonOf, refusalOf } from './messages-to-chat-answer';
import type { SseEvent } from './sse';
import { eventObject, streamTooLarge } from './stream-failure';
import { toolArgumentsOf } from './tool-input';
import { type Usage, usageOfMessages } from './usage';

/** A call whose block is open. */
interface OpenCall {
  /** The position among the calls of the answer. Block indexes also count texts. */
  index: number;
  hasArguments: boolean;
}

/** Maximum calls that are open at once, because they stay in memory until they end. */
const OPEN_MAX = 1_000;

const USAGE_MEMBERS = [
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
] as const;

/** Translates the stream of an Anthropic message to the chunks of a chat completion. */
export class ChatChunks {
  #id = newId('chatcmpl-');
  #model = '';
  readonly #created = secondsNow();
  readonly #calls = new Map<number | string | undefined, OpenCall>();
  #heldBytes = 0;
  #callCount = 0;
  #usage: JsonObject = {};
  #hasRole = false;
  #isFinished = false;
  #isUsageFinal = false;
  #isDone = false;

  /** Estimated bytes of memory. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Whether the message is complete. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /** Whether the message has its stop reason. A stream that ends earlier was cut off. */
  get isFinished(): boolean {
    return this.#isFinished;
  }

  /** Whether the usage has arrived with the stop reason. The one at the start of a message is too small. */
  get isUsageFinal(): boolean {
    return this.#isUsageFinal;
  }

  /** The usage so far. The output counts are final once the message is complete. */
  get usage(): Usage {
    return usageOfMessages({ usage: this.#usage });
  }

  /**
   * Adds an event, and returns its chunks. The last chunk has the usage and no choice.
   *
   * @throws StreamFailure for an event that reports an error or is not a JSON object
   */
  push(sse: SseEvent): JsonObject[] {
    const event = eventObject(sse);
    switch (event.type) {
      case 'message_start':
        return this.#start(objectOf(event.message));
      case 'content_block_start':
        return this.#startBlock(keyOf(event.index), objectOf(event.content_block));
      case 'content_block_delta':
        return this.#addTo(keyOf(event.index), objectOf(event.delta));
      case 'content_block_stop':
        return this.#stopBlock(keyOf(event.index));
      case 'message_delta':
        return this.#finish(objectOf(event.delta), event.usage);
      case 'message_stop':
        return this.#stop();
      default:
        return [];
    }
  }

  #start(message: JsonObject): JsonObject[] {
    this.#id = labelOf(message.id) ?? this.#id;
    this.#model = labelOf(message.model) ?? '';
    this.#addUsage(message.usage);
    return [this.#chunk({ content: '' })];
  }

  #startBlock(index: number | string | undefined, block: JsonObject): JsonObject[] {
    if (block.type === 'text') return this.#textChunks('content', block.text);
    if (block.type === 'thinking') return this.#textChunks('reasoning_content', block.thinking);
    if (block.type !== 'tool_use') return [];
    if (this.#calls.size === OPEN_MAX)
      throw streamTooLarge(`The provider started more than ${OPEN_MAX} tool calls at once.`);
    // Anthropic sends an empty input here, and the arguments as deltas. Other servers send the whole input.
    const isWhole = isObject(block.input) && Object.keys(block.input).length > 0;
    const call = { index: this.#callCount++, hasArguments: isWhole };
    if (!this.#calls.has(index)) this.#heldBytes += memoryOf(index);
    this.#calls.set(index, call);
    const start = {
      index: call.index,
      id: nameOf(block.id) ?? newId('call_'),
      type: 'function',
      function: {
        name: textOf(block.name) ?? '',
        arguments: isWhole ? (toolArgumentsOf(block.input) ?? '') : '',
      },
    };
    return [this.#chunk({ tool_calls: [start] })];
  }

  #addTo(index: number | string | undefined, delta: JsonObject): JsonObject[] {
    if (delta.type === 'text_delta') return this.#textChunks('content', delta.text);
    if (delta.type === 'thinking_delta') return this.#textChunks('reasoning_content', delta.thinking);
    const call = this.#calls.get(index);
    const text = nameOf(delta.partial_json);
    if (delta.type !== 'input_json_delta' || call === undefined || text === undefined) return [];
    call.hasArguments = true;
    return [this.#argumentsChunk(call, text)];
  }

  /** Adds `{}` for a call without arguments, which has no deltas. Clients parse arguments, and an empty string is not JSON. */
  #stopBlock(index: number | string | undefined): JsonObject[] {
    const call = this.#calls.get(index);
    if (this.#calls.delete(index)) this.#heldBytes -= memoryOf(index);
    return call && !call.hasArguments ? [this.#argumentsChunk(call, '{}')] : [];
  }

  #finish(delta: JsonObject, usage: unknown): JsonObject[] {
    this.#addUsage(usage);
    const hasUsage = numberOf(objectOf(usage).output_tokens) !== undefined;
    this.#isUsageFinal ||= hasUsage && nameOf(delta.stop_reason) !== undefined;
    if (nameOf(delta.stop_reason) === undefined || this.#isFinished) return [];
    this.#isFinished = true;
    const refusal = refusalOf(delta);
    return [this.#chunk(refusal === undefined ? {} : { refusal }, finishReasonOf(delta.stop_reason))];
  }

  #stop(): JsonObject[] {
    if (this.#isDone) return [];
    this.#isDone = true;
    const finish = this.#isFinished ? [] : [this.#chunk({}, finishReasonOf(undefined))];
    const usage = chatUsageOfMessage({ usage: this.#usage });
    return usage === undefined ? finish : [...finish, { ...this.#envelope(), choices: [], usage }];
  }

  /** Replaces the counts, because they are totals of the message. */
  #addUsage(value: unknown): void {
    const usage = objectOf(value);
    for (const name of USAGE_MEMBERS) {
      const count = numberOf(usage[name]);
      if (count !== undefined) this.#usage[name] = count;
    }
    const { thinking_tokens } = objectOf(usage.output_tokens_details);
    if (numberOf(thinking_tokens) !== undefined) {
      this.#usage.output_tokens_details = { thinking_tokens };
    }
  }

  #textChunks(member: 'content' | 'reasoning_content', text: unknown): JsonObject[] {
    return nameOf(text) === undefined ? [] : [this.#chunk({ [member]: text })];
  }

  #argumentsChunk({ index }: OpenCall, text: string): JsonObject {
    return this.#chunk({ tool_calls: [{ index, function: { arguments: text } }] });
  }

  #chunk(delta: JsonObject, finishReason: string | null = null): JsonObject {
    const role = this.#hasRole ? {} : { role: 'assistant' };
    this.#hasRole = true;
    return {
      ...this.#envelope(),
      choices: [{ index: 0, delta: { ...role, ...delta }, logprobs: null, finish_reason: finishReason }],
    };
  }

  #envelope(): JsonObject {
    return {
      id: this.#id,
      object: 'chat.completion.chunk',
      created: this.#created,
      model: this.#model,
    };
  }
}
