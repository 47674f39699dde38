import { formatBytes } from '#platform/problem';
import { newId } from './foreign-id';
import { isObject, type JsonObject, keyOf, labelOf, listOf, memoryOf, nameOf, objectOf } from './json-shape';
import { ObjectEnd } from './object-end';
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
  /** The text or the arguments so far, if they are kept. Complete with the step `stop`. */
  text: string;
  /** Bytes of the text or the arguments so far. */
  bytes: number;
}

/** Maximum blocks of an answer. */
const BLOCKS_MAX = 1_000;
/** Maximum bytes of a tool call's arguments, or of a text. */
const BLOCK_MAX = 1024 * 1024;
/** Maximum bytes of an answer. */
const ANSWER_MAX = 2 * BLOCK_MAX;
/** Estimated bytes of memory of a block, and of a text that is added to another. */
const BLOCK_MEMORY = 512;
const TEXT_MEMORY = 64;
/** Maximum members of a usage to keep. */
const COUNTS_MAX = 32;

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
  /** The end of the open block's arguments. */
  #argumentsEnd = new ObjectEnd();
  /** Blocks that started before the open block was complete. */
  readonly #waiting = new Set<AnswerBlock>();
  #last: AnswerBlock | undefined;
  readonly #calls = new Map<number | string | undefined, AnswerBlock>();
  #lastCall: number | string | undefined;
  #count = 0;
  #bytes = 0;
  #heldBytes = 0;
  #usageBytes = 0;

  /** @param keepsTexts whether the steps `stop` have the texts */
  constructor(private readonly keepsTexts: boolean) {}

  /** Estimated bytes of memory. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

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
    this.id ??= labelOf(chunk.id);
    this.model ??= labelOf(chunk.model);
    if (isObject(chunk.usage)) this.#setUsage(countsOf(chunk.usage));
    const steps: AnswerStep[] = [];
    const choice = listOf(chunk.choices).find((one) => (objectOf(one).index ?? 0) === 0);
    const { delta, finish_reason: finishReason } = objectOf(choice);
    this.#addDelta(objectOf(delta), steps);
    this.finishReason = labelOf(finishReason) ?? this.finishReason;
    return steps;
  }

  /** Ends the answer, and yields the remaining steps. */
  *end(): Generator<AnswerStep, void> {
    const steps: AnswerStep[] = [];
    this.#close(steps);
    for (const block of this.#waiting) {
      this.#start(block, steps);
      if (block.text !== '') steps.push({ type: 'delta', block, text: block.text });
      this.#close(steps);
      yield* steps.splice(0);
    }
    this.#waiting.clear();
    yield* steps;
  }

  #setUsage(usage: JsonObject): void {
    this.#heldBytes -= this.#usageBytes;
    this.#usageBytes = memoryOf(JSON.stringify(usage));
    this.#heldBytes += this.#usageBytes;
    this.usageChunk = { usage };
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
    const id = labelOf(call.id);
    const key = keyOf(call.index) ?? id ?? this.#lastCall;
    let block = this.#calls.get(key);
    // Some servers send the same index for all calls, but an id and a name for each.
    const isOther = id !== undefined && id !== block?.id && nameOf(name) !== undefined;
    if (block === undefined || isOther) {
      block = this.#begin({ kind: 'call', id: id ?? newId('call_'), name: labelOf(name) ?? '' }, steps);
      this.#calls.set(key, block);
      this.#heldBytes += memoryOf(key, block.id, block.name);
    }
    this.#lastCall = key;
    const added = nameOf(text);
    if (added !== undefined) this.#add(block, added, steps);
  }

  #begin(members: Pick<AnswerBlock, 'kind' | 'id' | 'name'>, steps: AnswerStep[]): AnswerBlock {
    if (this.#count === BLOCKS_MAX) throw tooLarge(`${BLOCKS_MAX} parts`);
    const block = { ...members, index: this.#count++, text: '', bytes: 0 };
    this.#heldBytes += BLOCK_MEMORY;
    this.#last = block;
    if (this.#waiting.size === 0 && this.#isOpenComplete) {
      this.#close(steps);
      this.#start(block, steps);
    } else {
      this.#waiting.add(block);
    }
    return block;
  }

  #start(block: AnswerBlock, steps: AnswerStep[]): void {
    this.#open = block;
    this.#argumentsEnd = new ObjectEnd();
    steps.push({ type: 'start', block });
  }

  /** Whether the next block can start. A text is complete as soon as another block starts. */
  get #isOpenComplete(): boolean {
    return this.#open?.kind !== 'call' || this.#argumentsEnd.isReached;
  }

  /** Adds text to the open block or to a waiting one. Ignores text for a closed call, which is complete. */
  #add(block: AnswerBlock, text: string, steps: AnswerStep[]): void {
    const isOpen = block === this.#open;
    if (!isOpen && !this.#waiting.has(block)) return;
    const bytes = Buffer.byteLength(text);
    block.bytes += bytes;
    this.#bytes += bytes;
    if (block.bytes > BLOCK_MAX) {
      throw streamTooLarge(
        block.kind === 'call'
          ? `The arguments of a tool call have more than ${formatBytes(BLOCK_MAX)}.`
          : `A text of the answer has more than ${formatBytes(BLOCK_MAX)}.`,
      );
    }
    if (this.#bytes > ANSWER_MAX) throw tooLarge(formatBytes(ANSWER_MAX));
    if (isOpen && block.kind === 'call') this.#argumentsEnd.add(text);
    if (this.keepsTexts || !isOpen) {
      block.text += text;
      this.#heldBytes += 2 * text.length + TEXT_MEMORY;
    }
    if (isOpen) steps.push({ type: 'delta', block, text });
  }

  #close(steps: AnswerStep[]): void {
    const block = this.#open;
    if (!block) return;
    steps.push({ type: 'stop', block });
    if (!this.keepsTexts) block.text = '';
    this.#open = undefined;
  }
}

const tooLarge = (limit: string): StreamFailure =>
  streamTooLarge(`The provider sent an answer with more than ${limit}.`);

/** Returns the counts in the usage of a chunk, which are kept until the answer ends. */
function countsOf(usage: JsonObject, levels = 2): JsonObject {
  const counts = Object.entries(usage)
    .slice(0, COUNTS_MAX)
    .flatMap(([name, value]): [string, unknown][] => {
      if (labelOf(name) === undefined) return [];
      if (typeof value === 'number') return [[name, value]];
      return isObject(value) && levels > 1 ? [[name, countsOf(value, levels - 1)]] : [];
    });
  return Object.fromEntries(counts);
}
