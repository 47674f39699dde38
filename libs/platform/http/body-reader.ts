import { Problem, problem } from '#platform/problem';
import type { HoldBytes } from './body-room';
import { ReceivedBytes } from './received-bytes';
import type { ServiceRequest } from './request-context';

/** A body that sends nothing for this long is given up: 408. */
export const BODY_STALL_MS = 10_000;

/** What is read and thrown away of a refused body, so that its sender can read why before the connection ends. */
const DISCARD_BYTES = 64 * 1024 * 1024;
const DISCARD_MS = 10_000;

/**
 * Reads a request's body whole, in bounded memory. Errors: 413 `payload_too_large` as soon as `limit` bytes are
 * passed (or announced), 408 `request_timeout` when the client stalls, 400 when it breaks off, and whatever `hold` throws.
 *
 * @param hold is told of what is to be kept before it is: of a body of known length of all at once, else of each piece
 */
export async function readBody(
  request: ServiceRequest,
  limit: number,
  hold: HoldBytes = () => undefined,
): Promise<Buffer> {
  const announced = Number(request.headers['content-length'] ?? NaN);
  const isKnown = announced <= limit;
  if (isKnown) holdAnnounced(request, announced, hold);
  const received = new ReceivedBytes();
  await receiveBody(request, limit, (chunk) => {
    if (!isKnown) hold(chunk.length);
    received.add(chunk);
  });
  return received.whole();
}

function holdAnnounced(request: ServiceRequest, announced: number, hold: HoldBytes): void {
  try {
    hold(announced);
  } catch (error) {
    discard(request);
    throw error;
  }
}

/**
 * Hands a request's body on as it arrives. Errors as of `readBody`, and whatever `take` throws.
 *
 * @param take is given each piece; no more is read from the client before a promise that it answers is kept
 * @returns the bytes there were
 */
export function receiveBody(
  request: ServiceRequest,
  limit: number,
  take: (chunk: Buffer) => void | Promise<void>,
  stallMs = BODY_STALL_MS,
): Promise<number> {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > limit) {
    discard(request);
    return Promise.reject(tooLarge(limit));
  }
  if (request.destroyed) return Promise.reject(brokenOff());
  return new Promise((resolve, reject) => {
    let size = 0;
    const stalled = (): void => {
      fail(
        new Problem('request_timeout', `No byte of the body arrived for ${stallMs / 1000} s.`, {
          status: 408,
          headers: { Connection: 'close' },
        }),
      );
    };
    let timer = setTimeout(stalled, stallMs);
    let isOver = false;
    let taking: Promise<void> | undefined;
    const stop = (): void => {
      isOver = true;
      clearTimeout(timer);
      request.off('data', onData).off('end', onEnd).off('error', onBroken).off('close', onBroken);
    };
    const fail = (error: Error): void => {
      stop();
      request.pause();
      reject(error);
    };
    const refuse = (error: Error): void => {
      fail(error);
      discard(request);
    };
    const awaitMore = (): void => {
      clearTimeout(timer);
      timer = setTimeout(stalled, stallMs);
    };
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > limit) return refuse(tooLarge(limit));
      try {
        taking = take(chunk) ?? undefined;
      } catch (error) {
        return refuse(error as Error);
      }
      if (!taking) return awaitMore();
      // while a piece is being taken it is not the client who keeps the other waiting
      clearTimeout(timer);
      request.pause();
      taking.then(
        () => {
          if (isOver) return;
          awaitMore();
          request.resume();
        },
        (error: unknown) => {
          if (!isOver) refuse(error as Error);
        },
      );
    };
    const onEnd = (): void => {
      stop();
      // a body ends with its last piece, which may still be being taken
      if (taking) taking.then(() => resolve(size), reject);
      else resolve(size);
    };
    const onBroken = (): void => fail(brokenOff());
    request.on('data', onData).on('end', onEnd).on('error', onBroken).on('close', onBroken);
  });
}

const brokenOff = (): Problem => problem.invalidRequest('The body broke off before its end.');

const tooLarge = (limit: number): Problem =>
  new Problem('payload_too_large', `The body may have at most ${limit} bytes.`);

/** Closing at once would reset the connection under the answer; a sender that does not end soon is cut off. */
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
