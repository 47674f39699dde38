import type { ServerResponse } from 'node:http';
import type { ByteLease } from '#platform/concurrency';

/** Bytes written at once. A client that reads this much within the stall limit is slow, but has not stalled. */
export const SLICE_BYTES = 64 * 1024;

/**
 * The body of a streamed response, in bounded memory: it reads a part once the previous one has been sent. It stops
 * when the client disconnects. If the source fails midway, the connection is closed, so that no client mistakes an
 * incomplete response for a complete one.
 */
export class StreamedBody {
  private lease: ByteLease | undefined;

  private constructor(
    private readonly parts: AsyncIterator<Buffer, void, undefined>,
    private part: IteratorResult<Buffer, void>,
  ) {}

  /** Returns a body whose bytes are already in memory. */
  static of(bytes: Buffer): StreamedBody {
    return new StreamedBody(NO_MORE, { done: false, value: bytes });
  }

  /** Reads the first part before the response begins, so that an early failure becomes a problem. */
  static async begin(parts: AsyncIterable<Buffer>): Promise<StreamedBody> {
    const iterator = parts[Symbol.asyncIterator]() as AsyncIterator<Buffer, void, undefined>;
    return new StreamedBody(iterator, await iterator.next());
  }

  /**
   * Counts each part in a lease until the client has read it. A part that does not fit ends the response midway.
   *
   * @returns whether the first part fits
   */
  fitsInto(lease: ByteLease): boolean {
    this.lease = lease;
    return this.takePart();
  }

  /** Holds the current part instead of the previous one. */
  private takePart(): boolean {
    return !this.lease || this.lease.tryResize(this.part.value?.length ?? 0);
  }

  /** Closes the source, when another response is sent instead. */
  async cancel(): Promise<void> {
    await this.parts.return?.();
  }

  /** Sends everything, or stops when the client has disconnected. Throws the errors of the source. */
  async send(response: ServerResponse): Promise<void> {
    try {
      if (response.req.method !== 'HEAD') await this.sendParts(response);
      if (!response.destroyed) response.end();
    } finally {
      await this.cancel();
    }
  }

  private async sendParts(response: ServerResponse): Promise<void> {
    // the first part may be empty, and the next one may take long
    response.flushHeaders();
    while (!this.part.done) {
      const bytes = this.part.value;
      for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
        if (response.destroyed) return;
        await written(response, bytes.subarray(at, at + SLICE_BYTES));
      }
      if (response.destroyed) return;
      this.part = await this.parts.next();
      if (!this.takePart()) response.destroy();
    }
  }
}

/** Sends bytes in slices, which show whether the client reads, and ends the response. */
export function sendBytes(response: ServerResponse, bytes: Buffer): unknown {
  return bytes.length > SLICE_BYTES ? StreamedBody.of(bytes).send(response) : response.end(bytes);
}

const NO_MORE: AsyncIterator<Buffer, void, undefined> = {
  next: () => Promise.resolve({ done: true, value: undefined }),
};

/** Writes bytes, and waits until their memory can be used again: they have been sent, or the client has disconnected. */
function written(response: ServerResponse, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('close', done);
      resolve();
    };
    response.on('close', done).write(bytes, done);
  });
}
