import { ChatChunks } from '../formats/chat-chunks';
import { isObject, type JsonObject, listOf, objectOf, textOf } from '../formats/json-shape';
import { MessageEvents } from '../formats/message-events';
import { ResponseEvents } from '../formats/response-events';
import { formatSse, isPing, type SseEvent } from '../formats/sse';
import { eventObject, failureOf, StreamFailure } from '../formats/stream-failure';
import { NO_USAGE, type Usage, usageOfChat, usageOfResponses } from '../formats/usage';
import type { ProviderKind } from '../providers/provider.entity';
import { type AnswerFacts, type CallFormat, wireFormatOf } from './call.types';
import type { Echo } from './request-translation';
import { StreamedAnswer } from './streamed-answer';

export interface StreamRequest {
  format: CallFormat;
  kind: ProviderKind;
  /** Whether the client of a chat completion requested a last chunk with the usage. */
  includesUsage: boolean;
  /** What a Response repeats of the request. Absent for other formats, and for providers of the same format. */
  echo?: Echo | undefined;
  /** Whether to keep the text of the answer. */
  keepsContent: boolean;
}

const NOTHING = Buffer.alloc(0);

const DONE: SseEvent = { data: '[DONE]', raw: Buffer.from(formatSse('[DONE]')) };
const STOP_DATA = '{"type":"message_stop"}';
const STOP: SseEvent = { data: STOP_DATA, raw: Buffer.from(formatSse(STOP_DATA, 'message_stop')) };

export function streamTranslationOf(stream: StreamRequest): StreamTranslation {
  const wire = wireFormatOf(stream.kind, stream.format);
  if (wire === 'chat')
    return stream.format === 'messages' ? new ChatAsMessages(stream) : new NativeChat(stream);
  if (wire === 'responses') return new NativeResponses(stream);
  return stream.format === 'messages' ? new NativeMessages(stream) : new MessagesAsChat(stream);
}

/** Translates the events of a provider to the events for the client. */
export abstract class StreamTranslation {
  protected readonly answer: StreamedAnswer;
  protected abstract readonly usage: Usage;
  /** Whether the usage has arrived with the end of the answer. Some servers send counts before it. */
  protected abstract readonly isUsageFinal: boolean;
  /** The last event of the provider's format. */
  protected readonly lastEvent: SseEvent = DONE;
  /** Whether the bytes of the provider's events are passed on. */
  readonly isNative: boolean;
  /** Whether the last event has arrived. */
  isDone = false;
  /** The error that the last event reported. */
  failure: StreamFailure | undefined;
  private last: Buffer = NOTHING;

  constructor(protected readonly stream: StreamRequest) {
    this.answer = new StreamedAnswer(stream.keepsContent);
    this.isNative = wireFormatOf(stream.kind, stream.format) === stream.format;
  }

  /** The facts about the answer so far. */
  get facts(): AnswerFacts {
    return this.answer.facts(this.usage, this.isUsageFinal);
  }

  /** Characters of text and arguments so far, from which tokens are estimated if the answer breaks off. */
  get length(): number {
    return this.answer.length;
  }

  /**
   * Adds an event, and returns the bytes to send to the client. They are empty for an event that is not passed on. Only providers
   * of the client's format may send large events.
   *
   * @throws StreamFailure for an error from the provider
   */
  abstract push(event: SseEvent): Buffer;

  /** Estimated bytes of memory. */
  get heldBytes(): number {
    return this.answer.heldBytes;
  }

  /** Whether the answer has its finish reason. It is then complete, even if the stream ends without its last event. */
  get isFinished(): boolean {
    return this.answer.isFinished;
  }

  /**
   * Adds the last event of the format, which some servers do not send. Returns the bytes to send to the client.
   *
   * @throws StreamFailure if the answer was cut off
   */
  finish(): Buffer {
    if (this.isFinished) return this.push(this.lastEvent);
    throw new StreamFailure('api_error', 'The provider closed the stream before the answer was complete.');
  }

  /** Yields the bytes of a complete answer before its last ones, which may be many. */
  *close(): Generator<Buffer, void> {}

  /** The last bytes of a complete answer. */
  end(): Buffer {
    return this.last;
  }

  /** Counts bytes whose texts are not read as text. */
  addUnread(bytes: number): void {
    this.answer.length += bytes;
  }

  /** Counts a large event, or what follows its parts. */
  protected addLarge({ largeBytes, raw }: SseEvent): void {
    if (largeBytes !== undefined) this.addUnread(raw.length);
  }

  /** Completes the answer with an event that is passed on unchanged, but not before the call is recorded. */
  protected complete({ raw }: SseEvent): Buffer {
    this.isDone = true;
    this.last = Buffer.from(raw);
    return NOTHING;
  }
}

/** Chat completions from a provider of the same format. Their bytes are not changed. */
class NativeChat extends StreamTranslation {
  protected usage: Usage = NO_USAGE;
  protected isUsageFinal = false;

  push(event: SseEvent): Buffer {
    const { data, raw } = event;
    // clients of this format expect choices in every event
    if (isPing(event)) return NOTHING;
    if (data.startsWith(DONE.data)) return this.complete(event);
    const chunk = eventObject(event);
    this.answer.addChunk(chunk);
    this.addLarge(event);
    if (!isObject(chunk.usage)) return raw;
    this.usage = usageOfChat(chunk);
    this.isUsageFinal = this.isFinished;
    const isOnlyUsage = listOf(chunk.choices).length === 0;
    // the gateway, not the client, requested this chunk
    return isOnlyUsage && !this.stream.includesUsage ? NOTHING : raw;
  }
}

/** Chat completions for a client that speaks Anthropic's messages. */
class ChatAsMessages extends StreamTranslation {
  protected isUsageFinal = false;
  private readonly events = new MessageEvents();

  push(event: SseEvent): Buffer {
    if (isPing(event)) return NOTHING;
    if (event.data.startsWith(DONE.data)) {
      this.isDone = true;
      return NOTHING;
    }
    const chunk = eventObject(event);
    this.answer.addChunk(chunk);
    if (isObject(chunk.usage)) this.isUsageFinal = this.isFinished;
    return encodeEvents(this.events.push(chunk));
  }

  override get heldBytes(): number {
    return this.answer.heldBytes + this.events.heldBytes;
  }

  override *close(): Generator<Buffer, void> {
    for (const event of this.events.close()) yield encodeEvents([event]);
  }

  override end(): Buffer {
    return encodeEvents(this.events.end());
  }

  protected get usage(): Usage {
    return this.events.usage;
  }
}

/** Anthropic's messages for a client that speaks chat completions or Responses. */
class MessagesAsChat extends StreamTranslation {
  protected override readonly lastEvent = STOP;
  private readonly chunks = new ChatChunks();
  private readonly responses = this.stream.echo && new ResponseEvents(this.stream.echo.members);

  push(event: SseEvent): Buffer {
    const chunks = this.chunks.push(event);
    this.isDone = this.chunks.isDone;
    chunks.forEach((chunk) => this.answer.addChunk(chunk));
    if (this.responses) return encodeObjects(chunks.flatMap((chunk) => this.responses!.push(chunk)));
    const sentChunks = this.stream.includesUsage
      ? chunks
      : chunks.filter((chunk) => listOf(chunk.choices).length > 0);
    return Buffer.from(sentChunks.map((chunk) => encode(chunk)).join(''));
  }

  override get heldBytes(): number {
    const { answer, chunks, responses, stream } = this;
    return answer.heldBytes + chunks.heldBytes + (responses?.heldBytes ?? 0) + (stream.echo?.heldBytes ?? 0);
  }

  override *close(): Generator<Buffer, void> {
    if (this.responses) for (const object of this.responses.close()) yield encodeObjects([object]);
  }

  override end(): Buffer {
    return this.responses ? encodeObjects([this.responses.end()]) : Buffer.from(formatSse('[DONE]'));
  }

  protected get usage(): Usage {
    return this.chunks.usage;
  }

  protected get isUsageFinal(): boolean {
    return this.chunks.isUsageFinal;
  }
}

const RESPONSE_ENDS: ReadonlySet<unknown> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
]);

/** Responses from a provider of the same format. Their bytes are not changed. */
class NativeResponses extends StreamTranslation {
  protected usage: Usage = NO_USAGE;
  protected isUsageFinal = false;

  push(sse: SseEvent): Buffer {
    const event = eventObject(sse);
    const delta = textOf(event.delta);
    this.answer.addText(delta ?? '');
    if (delta !== undefined) this.addLarge(sse);
    if (!RESPONSE_ENDS.has(event.type)) return sse.raw;
    const response = objectOf(event.response);
    this.answer.describe(response.id, response.model, response.status);
    this.usage = usageOfResponses(response);
    this.isUsageFinal = true;
    if (event.type === 'response.failed') this.failure = failureOf(response);
    return this.complete(sse);
  }
}

/** Messages from a provider of the same format. Their bytes are not changed. */
class NativeMessages extends StreamTranslation {
  protected override readonly lastEvent = STOP;
  private readonly chunks = new ChatChunks();

  push(event: SseEvent): Buffer {
    this.chunks.push(event).forEach((chunk) => this.answer.addChunk(chunk));
    this.addLarge(event);
    return this.chunks.isDone ? this.complete(event) : event.raw;
  }

  override get heldBytes(): number {
    return this.answer.heldBytes + this.chunks.heldBytes;
  }

  protected get usage(): Usage {
    return this.chunks.usage;
  }

  protected get isUsageFinal(): boolean {
    return this.chunks.isUsageFinal;
  }
}

/** Writes an event. Its JSON needs no search for line ends. */
const encode = (data: object, event?: string): string =>
  `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;

const encodeEvents = (events: readonly { event: string; data: JsonObject }[]): Buffer =>
  Buffer.from(events.map(({ event, data }) => encode(data, event)).join(''));

const encodeObjects = (objects: readonly JsonObject[]): Buffer =>
  Buffer.from(objects.map((object) => encode(object, textOf(object.type))).join(''));
