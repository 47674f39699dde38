import {
  isObject,
  type JsonObject,
  keyOf,
  labelOf,
  listOf,
  memoryOf,
  nameOf,
  objectOf,
  textOf,
} from '../formats/json-shape';
import { lengthOfMessage } from '../formats/chat-outcome';
import type { Usage } from '../formats/usage';
import type { AnswerFacts } from './call.types';

/** Maximum characters of a streamed answer's text, and of its tool calls, to keep for its span. */
const KEPT_MAX = 256 * 1024;
/** Characters that a tool call counts in addition to its texts. */
const CALL_SIZE = 64;
/** Maximum choices to watch. OpenAI accepts 128. */
const CHOICES_MAX = 128;
/** Estimated bytes of memory of a text that is added to another, and of a call. */
const TEXT_MEMORY = 64;
const CALL_MEMORY = 256;

interface StreamedCall {
  id: string;
  name: string;
  arguments: string;
}

/** Collects the facts about an answer while it streams. */
export class StreamedAnswer {
  /** Characters of text and arguments. */
  length = 0;
  /** Estimated bytes of memory. */
  heldBytes = 0;
  private text = '';
  private readonly calls = new Map<number, StreamedCall>();
  private keptCallLength = 0;
  private id: string | null = null;
  private model: string | null = null;
  private finishReason: string | null = null;
  /** Whether each choice of a chat completion has its finish reason. */
  private readonly choices = new Map<unknown, boolean>();

  /** @param keepsContent whether to keep the text and the tool calls, not only their length */
  constructor(private readonly keepsContent: boolean) {}

  /** Whether every choice has its finish reason. */
  get isFinished(): boolean {
    return this.choices.size > 0 && ![...this.choices.values()].includes(false);
  }

  describe(id: unknown, model: unknown, finishReason: unknown): void {
    this.id = labelOf(id) ?? this.id;
    this.model = labelOf(model) ?? this.model;
    this.finishReason = labelOf(finishReason) ?? this.finishReason;
  }

  addText(text: string): void {
    this.length += text.length;
    this.keepText(text);
  }

  /** Adds a chunk of a chat completion. */
  addChunk(chunk: JsonObject): void {
    const choices = listOf(chunk.choices).map(objectOf);
    for (const one of choices) this.addChoice(one);
    const choice = objectOf(choices[0]);
    this.describe(chunk.id, chunk.model, choice.finish_reason);
    const delta = objectOf(choice.delta);
    this.keepText(textOf(delta.content) ?? '');
    if (!this.keepsContent) return;
    for (const call of listOf(delta.tool_calls)) if (isObject(call)) this.keepCall(call);
  }

  facts(usage: Usage, isUsageFinal: boolean): AnswerFacts {
    const { id, model, finishReason, text } = this;
    const toolCalls = [...this.calls.values()].map((call) => ({
      id: call.id,
      type: 'function',
      function: { name: call.name, arguments: call.arguments },
    }));
    return { usage, isUsageFinal, id, model, finishReason, text, toolCalls };
  }

  private addChoice({ index: at, finish_reason: reason, delta }: JsonObject): void {
    this.length += lengthOfMessage(objectOf(delta));
    const index = keyOf(at) ?? 0;
    const isKnown = this.choices.has(index);
    if (isKnown ? nameOf(reason) === undefined : this.choices.size === CHOICES_MAX) return;
    this.choices.set(index, nameOf(reason) !== undefined);
    if (!isKnown) this.heldBytes += memoryOf(index);
  }

  private keepText(text: string): void {
    if (!this.keepsContent || text === '' || this.text.length >= KEPT_MAX) return;
    const kept = text.slice(0, KEPT_MAX - this.text.length);
    this.text += kept;
    this.heldBytes += 2 * text.length + TEXT_MEMORY;
  }

  private keepCall(delta: JsonObject): void {
    const called = objectOf(delta.function);
    const [id, name, text] = [delta.id, called.name, called.arguments].map((one) => textOf(one) ?? '');
    const index = typeof delta.index === 'number' ? delta.index : 0;
    const existing = this.calls.get(index);
    this.keptCallLength += (existing ? 0 : CALL_SIZE) + id!.length + name!.length + text!.length;
    if (this.keptCallLength > KEPT_MAX) return;
    this.heldBytes += (existing ? TEXT_MEMORY : CALL_MEMORY) + 2 * (id!.length + name!.length + text!.length);
    const call = existing ?? { id: '', name: '', arguments: '' };
    call.id ||= id!;
    call.name ||= name!;
    call.arguments += text!;
    this.calls.set(index, call);
  }
}
