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

/** Decoded bytes that are buffered while a body arrives. */
const BUFFERED_BYTES = 64 * 1024;

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
 * Reads a request's body into memory and decodes it. Throws the errors of `receiveBody` and `decode`, and 503 when the
 * lease cannot grow.
 *
 * While an encoded body arrives, only the first bytes of its output are buffered, and the rest is measured. So a small
 * request that never ends cannot hold a large output in memory, and a body that decodes to too much is rejected before it
 * has arrived completely. A larger output is decoded again from the complete body.
 */
export async function readBody(request: ServiceRequest, rules: BodyRules): Promise<Buffer> {
  const { limit, codings, lease, timeoutMs, stallMs = STALL_MS } = rules;
  const announced = Number(request.headers['content-length'] ?? 0);
  const isSmall = request.headers['content-length'] !== undefined && announced <= BLOCK_BYTES;
  if (isSmall && codings.length === 0 && announced <= limit) {
    lease.grow(announced);
    return readSmall(request, timeoutMs, stallMs);
  }
  const body = codings.length === 0 && announced > BLOCK_BYTES ? new SizedBody(announced) : new Blocks();
  async function* stored(): AsyncGenerator<Buffer, void, undefined> {
    let reservedBytes = 0;
    for await (const chunk of receiveBody(request, encodedLimit(limit, codings), { timeoutMs, stallMs })) {
      const size = Math.max(announced, body.size + chunk.length);
      lease.grow(size - reservedBytes);
      reservedBytes = size;
      body.append(chunk);
      yield chunk;
    }
  }
  let size = 0;
  const output = new Blocks();
  for await (const chunk of decode(stored(), codings, limit)) {
    size += chunk.length;
    if (codings.length > 0 && size <= BUFFERED_BYTES) output.append(chunk);
  }
  if (codings.length === 0) return joined(body.all());
  lease.grow(size);
  if (size <= BUFFERED_BYTES) return joined(output.all());
  const decoded = Buffer.allocUnsafeSlow(size);
  let at = 0;
  for await (const chunk of decode(body.all(), codings, limit)) at += chunk.copy(decoded, at);
  return decoded;
}

/**
 * Reads a small body of known size. Uses events, because an async iterator would take longer than the rest of many requests.
 * Throws the errors of `receiveBody`.
 */
function readSmall(request: ServiceRequest, timeoutMs: number, stallMs: number): Promise<Buffer> {
  request.askForBody?.();
  return new Promise((resolve, reject) => {
    const body = new Blocks();
    const endsAt = performance.now() + timeoutMs;
    let timer: NodeJS.Timeout | undefined;
    const wait = (): void => {
      clearTimeout(timer);
      const leftMs = endsAt - performance.now();
      const isLast = leftMs < stallMs;
      const late = (): void => settle(() => reject(isLast ? tooSlow(timeoutMs) : stalled(stallMs)));
      // must not keep the process alive: a client that got an early response may never send the rest
      timer = setTimeout(late, isLast ? leftMs : stallMs).unref();
    };
    const receive = (chunk: Buffer): void => {
      body.append(chunk);
      wait();
    };
    const end = (): void => settle(() => resolve(joined(body.all())));
    const breakOff = (cause?: unknown): void => settle(() => reject(brokenOff(cause)));
    const settle = (done: () => void): void => {
      clearTimeout(timer);
      request.off('data', receive).off('end', end).off('error', breakOff).off('close', breakOff);
      done();
    };
    if (request.destroyed) return breakOff();
    wait();
    request.on('data', receive).on('end', end).on('error', breakOff).on('close', breakOff);
  });
}

/**
 * Yields a request's body as it arrives. Does not read from the client while the caller works on a chunk. Throws 413
 * `payload_too_large` when more than `limit` bytes arrive or are announced, 408 `request_timeout` when the client stalls
 * or is too slow, and 400 when the connection closes early. Discards the rest of a body that is not read to its end.
 *
 * @param options.timeoutMs time for the complete body. Without it, the body must arrive at `STREAM_RATE`.
 * @param options.stallMs milliseconds after which a client that sends nothing gets 408
 */
export async function* receiveBody(
  request: ServiceRequest,
  limit: number,
  { timeoutMs, stallMs = STALL_MS }: { timeoutMs?: number; stallMs?: number } = {},
): AsyncGenerator<Buffer, void, undefined> {
  const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>;
  const arrival = new Arrival(timeoutMs, stallMs);
  let size = Number(request.headers['content-length'] ?? 0);
  let isOver = false;
  try {
    if (size > limit) throw tooLarge(limit);
    size = 0;
    request.askForBody?.();
    for (;;) {
      const next = await arrival.of(chunks);
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

const tooLarge = (limit: number): Problem =>
  new Problem('payload_too_large', `The body exceeds ${formatBytes(limit)}. Send a smaller one.`);

/** Waits for the chunks of a body, for as long as the client is allowed to take. Does not count the service's own time. */
class Arrival {
  private waitedMs = 0;
  private bytes = 0;

  constructor(
    private readonly timeoutMs: number | undefined,
    private readonly stallMs: number,
  ) {}

  async of(chunks: AsyncIterator<Buffer>): Promise<IteratorResult<Buffer>> {
    const startedAt = performance.now();
    const next = await this.orTimeout(chunks.next());
    this.waitedMs += performance.now() - startedAt;
    if (!next.done) this.checkPace(next.value.length);
    return next;
  }

  private async orTimeout(next: Promise<IteratorResult<Buffer>>): Promise<IteratorResult<Buffer>> {
    const waitMs = Math.min(this.stallMs, (this.timeoutMs ?? Infinity) - this.waitedMs);
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<never>((_, reject) => {
      // must not keep the process alive: a client that got an early response may never send the rest
      timer = setTimeout(
        () => reject(waitMs < this.stallMs ? tooSlow(this.timeoutMs!) : stalled(this.stallMs)),
        waitMs,
      ).unref();
    });
    try {
      return await Promise.race([next, timeout]);
    } catch (error) {
      if (error instanceof Problem) throw error;
      throw brokenOff(error);
    } finally {
      clearTimeout(timer);
    }
  }

  private checkPace(bytes: number): void {
    this.bytes += bytes;
    if (this.timeoutMs !== undefined || this.waitedMs < STREAM_PERIOD_MS) return;
    if (this.bytes < (STREAM_RATE * STREAM_PERIOD_MS) / 1000) {
      throw timedOut(`The body arrived at less than ${STREAM_RATE / 1024} KiB/s. Send it faster.`);
    }
    this.waitedMs = 0;
    this.bytes = 0;
  }
}

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

/** Chunks up to this size are joined. */
const BLOCK_BYTES = 16 * 1024;

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
    if (this.waiting >= BLOCK_BYTES) this.join();
  }

  all(): readonly Buffer[] {
    this.join();
    return this.blocks;
  }

  private join(): void {
    if (this.waiting === 0) return;
    this.blocks.push(joined(this.chunks));
    this.chunks = [];
    this.waiting = 0;
  }
}

/** The bytes of a body of known size, which are copied only once. Memory that has not been written to is not resident. */
class SizedBody {
  size = 0;
  private bytes: Buffer | undefined;

  constructor(private readonly announced: number) {}

  append(chunk: Buffer): void {
    this.bytes ??= Buffer.allocUnsafeSlow(this.announced);
    this.size += chunk.copy(this.bytes, this.size);
  }

  all(): readonly Buffer[] {
    return this.bytes ? [this.bytes.subarray(0, this.size)] : [];
  }
}

const joined = (chunks: readonly Buffer[]): Buffer =>
  chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
