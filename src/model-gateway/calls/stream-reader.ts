import { Injectable } from '@nestjs/common';
import type { ByteLease } from '#platform/concurrency';
import { Environment } from '#platform/config';
import { outboundFailure } from '#platform/outbound';
import { outlineOf } from '../formats/json-outline';
import { parsedObject } from '../formats/json-shape';
import { isPart, isPing, type SseEvent, type SsePart, SseReader, SseTooLarge } from '../formats/sse';
import { StreamFailure, streamTooLarge } from '../formats/stream-failure';
import type { Call } from './call.types';
import { CHECKED_MIN, COSTLY, isCostly, ParsingTurns } from './parsing-turns';
import type { ProviderResponse } from './provider-client';
import { sanitizedFailure } from './reported-failure';
import type { StreamTranslation } from './stream-translation';

/** Bytes of a stream that are processed at once. */
const PIECE_BYTES = 16 * 1024;
/** Minimum bytes that a stream takes from its organization's memory budget. */
const STREAM_MIN = 16 * 1024;
/** Maximum time between two events of a stream that has started, in milliseconds. Comments do not count. */
const EVENT_MS = 600_000;
/** Maximum bytes to read after the last event of a stream, and maximum time to read them, in milliseconds. */
const REST_MAX = 4 * 1024;
const REST_MS = 1_000;
const NOTHING = Buffer.alloc(0);

/** Reads the streams of providers in bounded memory, without blocking the event loop. */
@Injectable()
export class StreamReader {
  constructor(
    private readonly turns: ParsingTurns,
    private readonly environment: Environment,
  ) {}

  /** Yields the bytes for the client, for each chunk that arrives. Returns the last ones when the answer is complete. */
  async *read(
    call: Call,
    response: ProviderResponse,
    translation: StreamTranslation,
  ): AsyncGenerator<Buffer, Buffer, undefined> {
    const { body, sender, release } = response;
    try {
      const last = yield* this.readParts(call, response, translation);
      if (translation.failure) translation.failure = sanitizedFailure(translation.failure, sender);
      return last;
    } catch (error) {
      if (error instanceof StreamFailure) throw sanitizedFailure(error, sender);
      if (error instanceof SseTooLarge) {
        translation.addUnread(error.maxEventBytes);
        throw streamTooLarge(error.message);
      }
      throw error;
    } finally {
      release();
      // the body may still fail, although nobody reads it
      body.on('error', () => undefined);
      if (translation.isDone) readRest(body);
      else body.destroy();
    }
  }

  private async *readParts(
    call: Call,
    { body, signal, onActivity }: ProviderResponse,
    translation: StreamTranslation,
  ): AsyncGenerator<Buffer, Buffer, undefined> {
    const { isNative } = translation;
    const maxEventBytes = this.environment.GATEWAY_EVENT_LIMIT_BYTES;
    const reader = new SseReader({ maxEventBytes, maxLargeBytes: isNative ? call.maxBytes : 0 });
    const memory = new StreamMemory(call.lease);
    const hold = (part: Buffer): void => memory.hold(reader.heldBytes + translation.heldBytes + part.length);
    /** Runs work on the stream in its turn. A translation may write again what it holds, such as a complete text. */
    const inTurn = <Result>(bytes: number, work: () => Result): Result | Promise<Result> =>
      this.turns.run(
        call.caller.orgId,
        signal,
        bytes + reader.bufferedBytes + (isNative ? 0 : translation.heldBytes),
        work,
      );
    hold(NOTHING); // what the translation keeps from the request
    let hasStarted = false;
    let lastAt = Date.now();
    const translated = (events: readonly (SseEvent | SsePart)[], isAtEnd = false): Buffer => {
      if (events.length > 0) lastAt = Date.now();
      const parts: Buffer[] = [];
      for (const event of events) {
        if (translation.isDone) break;
        // another target may still be called after a ping
        if (!hasStarted && !isPart(event) && isPing(event)) continue;
        const readable = isPart(event) ? event : parsable(event, isNative);
        if (isAtEnd && translation.isFinished && !isPart(readable) && isTruncated(readable)) continue;
        const part = isPart(readable) ? readable.raw : translation.push(readable);
        if (isPart(readable)) translation.addUnread(part.length);
        hasStarted ||= part.length > 0;
        parts.push(part);
      }
      return Buffer.concat(parts);
    };
    try {
      for await (const chunk of body.iterator({ destroyOnReturn: false })) {
        if (!hasStarted) onActivity();
        else if (Date.now() - lastAt > EVENT_MS) throw new DOMException('No event arrived.', 'TimeoutError');
        for (const piece of piecesOf(chunk as Buffer)) {
          const ready = inTurn(piece.length, () => translated(reader.push(piece)));
          const part = ready instanceof Promise ? await ready : ready;
          hold(part);
          if (part.length > 0) {
            yield part;
            // the client may have been slow
            lastAt = Date.now();
          }
          if (translation.isDone) break;
        }
        if (translation.isDone) break;
      }
      if (!translation.isDone) {
        const part = await inTurn(0, () => translated(reader.end(), true));
        hold(part);
        if (part.length > 0) yield part;
      }
    } catch (error) {
      // the end of the stream is missing, but not of the answer
      if (!translation.isFinished || outboundFailure(error) === null) throw error;
    }
    if (!translation.isDone) {
      const part = await inTurn(0, () => translation.finish());
      hold(part);
      if (part.length > 0) yield part;
    }
    const closing = translation.close();
    for (;;) {
      const part = await inTurn(0, () => nextParts(closing));
      if (part.length === 0) break;
      hold(part);
      yield part;
    }
    const last = await inTurn(0, () => translation.end());
    hold(last);
    return last;
  }
}

/** Reads the bytes after the last event, so that the connection can be reused. */
function readRest(body: ProviderResponse['body']): void {
  body.dump({ limit: REST_MAX, signal: AbortSignal.timeout(REST_MS) }).catch(() => undefined);
}

/** Tells whether the last event of a stream is not complete. */
const isTruncated = ({ event, data }: SseEvent): boolean => event !== 'error' && !parsedObject(data);

/** Returns an event whose data can be parsed at once. A costly event of the client's format is replaced by its outline. */
function parsable(event: SseEvent, isNative: boolean): SseEvent {
  if (event.largeBytes !== undefined || event.data.length <= CHECKED_MIN) return event;
  const data = Buffer.from(event.data);
  if (!isCostly(data)) return event;
  if (!isNative) throw streamTooLarge(`An event of the stream has ${COSTLY}.`);
  return { ...event, data: outlineOf(data), largeBytes: event.raw.length };
}

function* piecesOf(chunk: Buffer): Generator<Buffer, void> {
  for (let at = 0; at < chunk.length; at += PIECE_BYTES) yield chunk.subarray(at, at + PIECE_BYTES);
}

/** Returns the next parts as one, of about the size of a piece. Empty at the end. */
function nextParts(parts: Generator<Buffer, void>): Buffer {
  const taken: Buffer[] = [];
  let bytes = 0;
  while (bytes < PIECE_BYTES) {
    const { value, done } = parts.next();
    if (done) break;
    taken.push(value);
    bytes += value.length;
  }
  return Buffer.concat(taken);
}

/** Counts the memory of a stream in the lease of its call. */
class StreamMemory {
  /** Bytes that the lease holds for the request. */
  private readonly otherBytes: number;
  private heldBytes = 0;

  constructor(private readonly lease: ByteLease | undefined) {
    this.otherBytes = lease?.bytes ?? 0;
  }

  /** Counts this many bytes instead of the previous ones. Throws 503 `service_overloaded` when they do not fit. */
  hold(bytes: number): void {
    const held = Math.max(bytes, STREAM_MIN);
    if (held === this.heldBytes || !this.lease) return;
    if (held > this.heldBytes) this.lease.grow(held - this.heldBytes);
    else this.lease.tryResize(this.otherBytes + held);
    this.heldBytes = held;
  }
}
