import type { Response } from 'express';

/** Written at a time: a client that takes this much of an answer now and then is slow, and not one that has stopped. */
const SLICE_BYTES = 64 * 1024;

/**
 * The body of an answer that is sent as it is made, in bounded memory: a part is made when the client has taken the
 * one before. The time for a request ends as its answer begins; a client that takes nothing for too long, or goes away,
 * ends the making. What fails midway breaks the connection off, so that nobody takes a part for the whole.
 */
export class StreamedBody {
  private constructor(
    private readonly parts: AsyncIterator<Buffer, void, undefined>,
    private part: IteratorResult<Buffer, void>,
  ) {}

  /** Makes the first part, before anything is answered: what goes wrong there is answered as a problem. */
  static async begin(parts: AsyncIterable<Buffer>): Promise<StreamedBody> {
    const iterator = parts[Symbol.asyncIterator]() as AsyncIterator<Buffer, void, undefined>;
    return new StreamedBody(iterator, await iterator.next());
  }

  /** Gives up what was begun: where the answer is another one. */
  async cancel(): Promise<void> {
    await this.parts.return?.();
  }

  /**
   * Resolves when all of it is sent, or nobody is there any more to send it to. Throws what the making throws.
   *
   * @param stallMs after which a client that takes nothing is given up
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
    // a first part may be empty, and the next one be long in coming
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

/** Waits for the client, and breaks its connection off where it takes nothing for too long. */
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
