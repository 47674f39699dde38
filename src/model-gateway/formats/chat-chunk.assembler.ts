import { newId } from './foreign-id';
import { isObject, type JsonObject, listOf, nameOf, objectOf, parsedObject, textOf } from './json-shape';
import { type StreamFailure, streamTooLarge, throwIfError } from './stream-failure';
import { type Usage, usageOfChat } from './usage';

/** A part of an answer: a text, a refusal, or a tool call. */
export interface AnswerBlock {
  /** The position among the blocks of the answer. */
  readonly index: number;
  readonly kind: 'text' | 'refusal' | 'call';
  /** The id of a call. */
  readonly id: string;
  /** The tool of a call. */
  readonly name: string;
  /** The text or the arguments so far. Complete with the step `stop`. */
  text: string;
}

/** Maximum blocks of an answer, because they stay in memory until the answer ends. */
const BLOCKS_MAX = 10_000;
/** Maximum characters of an answer, because they stay in memory until the answer ends. */
const LENGTH_MAX = 16 * 1024 * 1024;

/** A step of a block. At most one block is open at a time, and the next one starts after its `stop`. */
export type AnswerStep =
  | { type: 'start'; block: AnswerBlock }
  | { type: 'stop'; block: AnswerBlock }
  | { type: 'delta'; block: AnswerBlock; text: string };

/**
 * Orders the chunks of a chat completion block after block, as the other formats require.
 *
 * Servers may interleave the arguments of several calls. A call is complete when its arguments are a JSON object. Text for
 * another block that arrives before that waits until the stream ends, so that nothing is lost.
 */
export class ChatChunkAssembler {
  id: string | undefined;
  model: string | undefined;
  finishReason: string | undefined;
  /** The last chunk with usage. */
  usageChunk: JsonObject = {};
  #open: AnswerBlock | undefined;
  /** Blocks that started before the open block was complete, with their texts so far. */
  readonly #waiting = new Map<AnswerBlock, string[]>();
  #last: AnswerBlock | undefined;
  readonly #calls = new Map<unknown, AnswerBlock>();
  #lastCall: unknown;
  #count = 0;
  #length = 0;

  get usage(): Usage {
    return usageOfChat(this.usageChunk);
  }

  /**
   * Adds a chunk, and returns the resulting steps.
   *
   * @throws StreamFailure if the chunk reports an error, or if the answer is too large to keep in memory
   */
  push(chunk: JsonObject): AnswerStep[] {
    throwIfError(chunk);
    this.id ??= nameOf(chunk.id);
    this.model ??= nameOf(chunk.model);
    if (isObject(chunk.usage)) this.usageChunk = { usage: chunk.usage };
    const steps: AnswerStep[] = [];
    const choice = listOf(chunk.choices).find((one) => (objectOf(one).index ?? 0) === 0);
    const { delta, finish_reason: finishReason } = objectOf(choice);
    this.#addDelta(objectOf(delta), steps);
    this.finishReason = nameOf(finishReason) ?? this.finishReason;
    return steps;
  }

  /** Ends the answer, and returns the remaining steps. */
  end(): AnswerStep[] {
    const steps: AnswerStep[] = [];
    this.#close(steps);
    for (const [block, texts] of this.#waiting) {
      this.#start(block, steps);
      for (const text of texts) extend(block, text, steps);
      this.#close(steps);
    }
    this.#waiting.clear();
    return steps;
  }

  #addDelta(delta: JsonObject, steps: AnswerStep[]): void {
    const content = nameOf(delta.content);
    if (content !== undefined) this.#addText('text', content, steps);
    const refusal = nameOf(delta.refusal);
    if (refusal !== undefined) this.#addText('refusal', refusal, steps);
    for (const call of listOf(delta.tool_calls)) {
      if (isObject(call)) this.#addCall(call, steps);
    }
  }

  #addText(kind: 'text' | 'refusal', text: string, steps: AnswerStep[]): void {
    const block = this.#last?.kind === kind ? this.#last : this.#begin({ kind, id: '', name: '' }, steps);
    this.#add(block, text, steps);
  }

  #addCall(call: JsonObject, steps: AnswerStep[]): void {
    const { name, arguments: text } = objectOf(call.function);
    const id = nameOf(call.id);
    const key = call.index ?? id ?? this.#lastCall;
    let block = this.#calls.get(key);
    // Some servers send the same index for all calls, but an id and a name for each.
    const isOther = id !== undefined && id !== block?.id && nameOf(name) !== undefined;
    if (block === undefined || isOther) {
      block = this.#begin({ kind: 'call', id: id ?? newId('call_'), name: textOf(name) ?? '' }, steps);
      this.#calls.set(key, block);
    }
    this.#lastCall = key;
    const added = nameOf(text);
    if (added !== undefined) this.#add(block, added, steps);
  }

  #begin(members: Pick<AnswerBlock, 'kind' | 'id' | 'name'>, steps: AnswerStep[]): AnswerBlock {
    if (this.#count === BLOCKS_MAX) throw tooLarge(`${BLOCKS_MAX} parts`);
    const block = { ...members, index: this.#count++, text: '' };
    this.#last = block;
    if (this.#waiting.size === 0 && (this.#open === undefined || isComplete(this.#open))) {
      this.#close(steps);
      this.#start(block, steps);
    } else {
      this.#waiting.set(block, []);
    }
    return block;
  }

  #start(block: AnswerBlock, steps: AnswerStep[]): void {
    this.#open = block;
    steps.push({ type: 'start', block });
  }

  /** Adds text to the open block or to a waiting one. Ignores text for a closed call, which is complete. */
  #add(block: AnswerBlock, text: string, steps: AnswerStep[]): void {
    this.#length += text.length;
    if (this.#length > LENGTH_MAX) throw tooLarge(`${LENGTH_MAX} characters`);
    if (block === this.#open) {
      extend(block, text, steps);
    } else {
      this.#waiting.get(block)?.push(text);
    }
  }

  #close(steps: AnswerStep[]): void {
    if (this.#open) steps.push({ type: 'stop', block: this.#open });
    this.#open = undefined;
  }
}

function extend(block: AnswerBlock, text: string, steps: AnswerStep[]): void {
  block.text += text;
  steps.push({ type: 'delta', block, text });
}

const tooLarge = (limit: string): StreamFailure =>
  streamTooLarge(`The provider sent an answer with more than ${limit}.`);

/** Returns whether a block is complete. A text is complete as soon as another block starts. */
function isComplete(block: AnswerBlock): boolean {
  return block.kind !== 'call' || parsedObject(block.text) !== undefined;
}
