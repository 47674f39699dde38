import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** A body that arrives while the handler reads it. */
export interface IncomingRequest {
  /** The `Content-Type` as sent, with its parameters. */
  readonly contentType: string;
  /**
   * The bytes. Read them once. Throws 413 beyond the limit of the route, 408 for a client that stalls or is too slow, and
   * 400 when the connection breaks.
   */
  readonly bytes: AsyncIterable<Buffer>;
}

/** The body of a streamed request. It is hashed as it arrives if the request has an idempotency key. */
export class IncomingBytes implements IncomingRequest {
  readonly contentType: string;
  readonly bytes: AsyncIterable<Buffer>;
  private readonly hash: ReturnType<typeof createHash> | null;
  private digest: string | undefined;

  /** @param received the body as `receiveBody` yields it */
  constructor(headers: IncomingHttpHeaders, received: AsyncIterable<Buffer>) {
    this.contentType = headers['content-type'] ?? '';
    this.hash = headers['idempotency-key'] === undefined ? null : createHash('sha256');
    this.bytes = this.hashStream(received);
  }

  /** Returns the SHA-256 of the body, in hexadecimal. First reads the rest that the handler has not read. */
  async sha256(): Promise<string> {
    if (this.digest === undefined) {
      const chunks = this.bytes[Symbol.asyncIterator]();
      while ((await chunks.next()).done !== true);
    }
    if (this.digest === undefined) throw new Error('The body was not read to its end.');
    return this.digest;
  }

  private async *hashStream(received: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
    for await (const chunk of received) {
      this.hash?.update(chunk);
      yield chunk;
    }
    this.digest = this.hash?.digest('hex');
  }
}
