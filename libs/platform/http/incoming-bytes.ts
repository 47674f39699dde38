import { createHash } from 'node:crypto';
import type { IncomingRequest } from './body.decorator';
import { receiveBody } from './body.reader';
import type { ServiceRequest } from './request-context';

/** The body of a streamed request, which is hashed on its way if the request has an idempotency key. */
export class IncomingBytes implements IncomingRequest {
  readonly bytes: AsyncIterable<Buffer>;
  private readonly hash: ReturnType<typeof createHash> | null;
  private digest: string | undefined;

  constructor(
    private readonly request: ServiceRequest,
    limit: number,
  ) {
    this.hash = request.headers['idempotency-key'] === undefined ? null : createHash('sha256');
    this.bytes = this.receive(limit);
  }

  get contentType(): string {
    return this.request.headers['content-type'] ?? '';
  }

  /** SHA-256 of the body, in hexadecimal. Reads what the handler has not read. */
  async sha256(): Promise<string> {
    if (this.digest === undefined) {
      const chunks = this.bytes[Symbol.asyncIterator]();
      while ((await chunks.next()).done !== true);
    }
    if (this.digest === undefined) throw new Error('The body was not read to its end.');
    return this.digest;
  }

  private async *receive(limit: number): AsyncGenerator<Buffer, void, undefined> {
    for await (const chunk of receiveBody(this.request, limit)) {
      this.hash?.update(chunk);
      yield chunk;
    }
    this.digest = this.hash?.digest('hex');
  }
}
