import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { mediaTypeOf } from './content-headers';
import type { SpooledFile } from './spooled-file';

/** The body of a streamed request. It is hashed as it arrives if the request has an idempotency key. */
export class IncomingRequest {
  /** The `Content-Type` as sent, with its parameters. */
  readonly contentType: string;
  /** In lower case and without parameters; empty if none is named. */
  readonly mediaType: string;
  /** The number of bytes of the body if the client declares it, and does not compress the body. */
  readonly length: number | undefined;
  /** The decoded bytes. Read them once. Throws the errors of `receiveBody` and `decode`. */
  readonly bytes: AsyncIterable<Buffer>;
  private readonly hash: ReturnType<typeof createHash> | null;
  private digest: string | undefined;

  /**
   * @param received the decoded body
   * @param createFile creates a file that is closed when the request ends
   */
  constructor(
    headers: IncomingHttpHeaders,
    received: AsyncIterable<Buffer>,
    private readonly createFile: () => Promise<SpooledFile>,
  ) {
    this.contentType = headers['content-type'] ?? '';
    this.mediaType = mediaTypeOf({ headers }) ?? '';
    const { 'content-length': length, 'content-encoding': coding } = headers;
    this.length = length !== undefined && coding === undefined ? Number(length) : undefined;
    this.hash = headers['idempotency-key'] === undefined ? null : createHash('sha256');
    this.bytes = this.hashStream(received);
  }

  /**
   * Writes the body to a temporary file, for handlers that read it several times or wait for their turn before they read
   * it. The file is closed with the response, even after a 504 or when the client has disconnected.
   *
   * @param bytes other bytes to write, such as a part of the body
   */
  async spool(bytes: AsyncIterable<Buffer> | Iterable<Buffer> = this.bytes): Promise<SpooledFile> {
    const file = await this.createFile();
    for await (const chunk of bytes) await file.append(chunk);
    file.finish();
    return file;
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
