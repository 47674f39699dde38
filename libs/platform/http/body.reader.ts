import type { ByteLease } from '#platform/concurrency';
import { formatBytes, Problem, problem } from '#platform/problem';
import { decode, encodedLimit } from './body.decoder';
import type { ContentCoding } from './content-headers';
import type { ServiceRequest } from './request-context';

/** Default time after which a client that sends nothing gets 408, in milliseconds. */
const STALL_MS = 10_000;
/** A streamed body must arrive at this rate, in bytes per second, on average over each period. */
const STREAM_RATE = 64 * 1024;
const STREAM_PERIOD_MS = 60_000;

/** Decoded bytes that are kept while a body arrives. */
const KEPT_BYTES = 64 * 1024;

/** How much of a rejected body is read and discarded, so that its sender can read the response first. */
export const DISCARD_BYTES = 64 * 1024 * 1024;
export const DISCARD_MS = 10_000;

export interface BodyRules {
  /** Largest body, in bytes, as it arrives and after decoding. Larger ones get 413. */
  limit: number;
  /** Codings to decode, in the order in which they were applied. */
  codings: readonly ContentCoding[];
  /** Grows by the bytes of the body before they are stored. */
  lease: ByteLease;
  /** Time for the client to send the whole body, in milliseconds. */
  timeoutMs: number;
  /** Milliseconds after which a client that sends nothing gets 408. Default: 10 seconds. */
  stallMs?: number;
}

/**
 * Reads a request's body into memory and decodes it. Throws 413 `payload_too_large` when more than `limit` bytes arrive or
 * are announced, 408 `request_timeout` when the client stalls or is too slow, 400 when the connection closes early, 503
 * when the lease cannot grow, and the errors of `decode`.
 */
export async function readBody(request: ServiceRequest, rules: BodyRules): Promise<Buffer> {
  if (rules.codings.length > 0) return readEncoded(request, rules);
  return (await receiveAll(request, rules)).joined();
}

/**
 * Decodes a body as it arrives, but keeps only the first bytes of the output and counts the rest. So a body that decodes
 * to too much is rejected before all of it has arrived, and one that never ends takes only the memory of the bytes that
 * were sent. The output is decoded again from the complete body.
 */
async function readEncoded(request: ServiceRequest, rules: BodyRules): Promise<Buffer> {
  const { limit, codings, lease, timeoutMs, stallMs } = rules;
  const body = new Blocks();
  async function* stored(): AsyncGenerator<Buffer, void, undefined> {
    for await (const chunk of receiveBody(request, encodedLimit(limit, codings), { timeoutMs, stallMs })) {
      lease.grow(chunk.length);
      body.append(chunk);
      yield chunk;
    }
  }
  const start = new Blocks();
  let size = 0;
  for await (const chunk of decode(stored(), codings, limit)) {
    size += chunk.length;
    if (size <= KEPT_BYTES) start.append(chunk);
  }
  lease.grow(size);
  if (size <= KEPT_BYTES) return start.joined();
  const decoded = Buffer.allocUnsafeSlow(size);
  let at = 0;
  for await (const chunk of decode(body.all(), codings, limit)) at += chunk.copy(decoded, at);
  lease.tryResize(size); // the encoded bytes are free
  return decoded;
}

/** Uses events, because an async iterator would take longer than the rest of many requests. */
function receiveAll(
  request: ServiceRequest,
  { limit, lease, timeoutMs, stallMs = STALL_MS }: BodyRules,
): Promise<Blocks> {
  return new Promise((resolve, reject) => {
    const body = new Blocks();
    const announced = Number(request.headers['content-length'] ?? 0);
    let reservedBytes = 0;
    // must not keep the process alive: a client that got an early response may never send the rest
    const late = setTimeout(() => fail(tooSlow(timeoutMs)), timeoutMs).unref();
    const stall = setTimeout(() => fail(stalled(stallMs)), stallMs).unref();
    const receive = (chunk: Buffer): void => {
      stall.refresh();
      const size = body.size + chunk.length;
      if (size > limit) return refuse(tooLarge(limit));
      const bytes = Math.max(announced, size);
      try {
        lease.grow(bytes - reservedBytes);
      } catch (error) {
        return refuse(error as Problem);
      }
      reservedBytes = bytes;
      body.append(chunk);
    };
    const settle = (): void => {
      clearTimeout(late);
      clearTimeout(stall);
      request.off('data', receive).off('end', end).off('error', breakOff).off('close', breakOff);
    };
    const fail = (error: Problem): void => {
      settle();
      reject(error);
    };
    const refuse = (error: Problem): void => {
      fail(error);
      discard(request);
    };
    const breakOff = (cause?: unknown): void => fail(brokenOff(cause));
    const end = (): void => {
      settle();
      resolve(body);
    };
    if (announced > limit) return refuse(tooLarge(limit));
    if (request.destroyed) return breakOff();
    request.askForBody?.();
    request.on('data', receive).on('end', end).on('error', breakOff).on('close', breakOff);
  });
}

/**
 * Yields a request's body as it arrives. Does not read from the client while the caller works on a chunk. Throws the
 * errors of `readBody` for the size and the connection, and 408 for a client that stalls or sends less than `STREAM_RATE`.
 * Discards the rest of a body that is not read to its end.
 *
 * @param options.timeoutMs time for the whole body, in milliseconds. Default: none
 * @param options.stallMs milliseconds after which a client that sends nothing gets 408
 */
export async function* receiveBody(
  request: ServiceRequest,
  limit: number,
  { timeoutMs = Infinity, stallMs = STALL_MS }: { timeoutMs?: number; stallMs?: number } = {},
): AsyncGenerator<Buffer, void, undefined> {
  const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>;
  const pace = new Pace();
  const endsAt = performance.now() + timeoutMs;
  let size = Number(request.headers['content-length'] ?? 0);
  let isOver = false;
  try {
    if (size > limit) throw tooLarge(limit);
    size = 0;
    request.askForBody?.();
    for (;;) {
      const leftMs = endsAt - performance.now();
      const late = (): Problem => (leftMs < stallMs ? tooSlow(timeoutMs) : stalled(stallMs));
      const next = await pace.of(nextWithin(chunks, Math.min(leftMs, stallMs), late));
      isOver = next.done === true;
      if (next.done) return;
      size += next.value.length;
      if (size > limit) throw tooLarge(limit);
      yield next.value;
    }
  } catch (error) {
    // the pending read ends with the connection
    isOver ||= (error as Problem).code === 'request_timeout';
    throw error;
  } finally {
    if (!isOver) {
      await chunks.return?.();
      discard(request);
    }
  }
}

async function nextWithin(
  chunks: AsyncIterator<Buffer>,
  ms: number,
  late: () => Problem,
): Promise<IteratorResult<Buffer>> {
  let timer: NodeJS.Timeout | undefined;
  const stall = new Promise<never>((_, reject) => {
    // must not keep the process alive, see `receiveAll`
    timer = setTimeout(() => reject(late()), ms).unref();
  });
  try {
    return await Promise.race([chunks.next(), stall]);
  } catch (error) {
    throw error instanceof Problem ? error : brokenOff(error);
  } finally {
    clearTimeout(timer);
  }
}

/** Checks that a body arrives at `STREAM_RATE`. Does not count the service's own time. */
class Pace {
  private waitedMs = 0;
  private bytes = 0;

  /** Waits for the next chunk. Throws 408 if the chunks of a period were too small. */
  async of(chunk: Promise<IteratorResult<Buffer>>): Promise<IteratorResult<Buffer>> {
    const startedAt = performance.now();
    const next = await chunk;
    this.waitedMs += performance.now() - startedAt;
    this.bytes += next.done ? 0 : next.value.length;
    if (next.done || this.waitedMs < STREAM_PERIOD_MS) return next;
    if (this.bytes < (STREAM_RATE * STREAM_PERIOD_MS) / 1000) {
      throw timedOut(`The body arrived at less than ${STREAM_RATE / 1024} KiB/s. Send it faster.`);
    }
    this.waitedMs = 0;
    this.bytes = 0;
    return next;
  }
}

const tooLarge = (limit: number): Problem =>
  new Problem('payload_too_large', `The body exceeds ${formatBytes(limit)}. Send a smaller one.`);

const brokenOff = (cause: unknown): Problem =>
  problem.invalidRequest('The connection closed before the end of the body.', { cause });

const tooSlow = (timeoutMs: number): Problem =>
  timedOut(`The body did not arrive within ${timeoutMs / 1000} s.`);

const stalled = (stallMs: number): Problem =>
  timedOut(`No byte of the body arrived for ${stallMs / 1000} s.`);

const timedOut = (detail: string): Problem =>
  new Problem('request_timeout', detail, { status: 408, headers: { Connection: 'close' } });

/** Discards the rest of a body. Closing at once would reset the connection before the sender has read the response. */
function discard(request: ServiceRequest): void {
  let left = DISCARD_BYTES;
  const timer = setTimeout(() => request.destroy(), DISCARD_MS).unref();
  request
    .on('data', (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0) request.destroy();
    })
    .on('error', () => undefined)
    .once('close', () => clearTimeout(timer));
  request.resume();
}

/** Chunks up to this size, and up to this number, are joined. */
const BLOCK_BYTES = 16 * 1024;
const CHUNKS_MAX = 256;

/**
 * The bytes of a body as they arrived, in blocks. A list of all chunks, as in `raw-body`, takes some 400 times the memory
 * of the body when a client sends single bytes.
 */
export class Blocks {
  size = 0;
  private readonly blocks: Buffer[] = [];
  private chunks: Buffer[] = [];
  private waiting = 0;

  append(chunk: Buffer): void {
    this.size += chunk.length;
    this.chunks.push(chunk);
    this.waiting += chunk.length;
    if (this.waiting >= BLOCK_BYTES || this.chunks.length === CHUNKS_MAX) this.join();
  }

  all(): readonly Buffer[] {
    this.join();
    return this.blocks;
  }

  /** Returns all bytes in one buffer. */
  joined(): Buffer {
    return concat(this.all());
  }

  private join(): void {
    if (this.waiting === 0) return;
    this.blocks.push(concat(this.chunks));
    this.chunks = [];
    this.waiting = 0;
  }
}

const concat = (chunks: readonly Buffer[]): Buffer =>
  chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
