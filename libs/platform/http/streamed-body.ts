import type { Response } from 'express';

/** Bytes written at once. A client that reads this much within the stall limit is slow, but has not stalled. */
const SLICE_BYTES = 64 * 1024;

/**
 * The body of a streamed response, in bounded memory: it reads a part once the client has read the previous one. It stops
 * when the client stalls or disconnects. If the source fails midway, the connection is closed, so that no client takes an
 * incomplete response for a complete one.
 */
export class StreamedBody {
  private constructor(
    private readonly parts: AsyncIterator<Buffer, void, undefined>,
    private part: IteratorResult<Buffer, void>,
  ) {}

  /** Reads the first part before the response begins, so that an early failure becomes a problem. */
  static async begin(parts: AsyncIterable<Buffer>): Promise<StreamedBody> {
    const iterator = parts[Symbol.asyncIterator]() as AsyncIterator<Buffer, void, undefined>;
    return new StreamedBody(iterator, await iterator.next());
  }

  /** Closes the source, when another response is sent instead. */
  async cancel(): Promise<void> {
    await this.parts.return?.();
  }

  /**
   * Sends everything, or stops when the client has gone. Throws what the source throws.
   *
   * @param stallMs time after which a client that reads nothing is disconnected, in milliseconds
   */
  async send(response: Response, stallMs: number): Promise<void> {
    try {
      if (response.req.method !== 'HEAD') await this.sendParts(response, stallMs);
      if (response.destroyed) return;
      response.end();
      await progress(response, 'finish', stallMs);
    } finally {
      await this.cancel();
    }
  }

  private async sendParts(response: Response, stallMs: number): Promise<void> {
    // the first part may be empty, and the next one may take long
    response.flushHeaders();
    while (!this.part.done) {
      const bytes = this.part.value;
      for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
        if (response.destroyed) return;
        const isTaken = response.write(bytes.subarray(at, at + SLICE_BYTES));
        if (!isTaken) await progress(response, 'drain', stallMs);
      }
      if (response.destroyed) return;
      this.part = await this.parts.next();
    }
  }
}

/** Waits for the client, and closes the connection when it stalls. */
function progress(response: Response, event: 'drain' | 'finish', stallMs: number): Promise<void> {
  if (response.destroyed || response.writableFinished) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(() => response.destroy(), stallMs);
    const done = (): void => {
      clearTimeout(timer);
      response.off(event, done).off('close', done);
      resolve();
    };
    response.on(event, done).on('close', done);
  });
}
