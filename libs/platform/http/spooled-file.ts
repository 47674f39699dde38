import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { ByteBudget, type ByteLease } from '#platform/concurrency';
import { Problem } from '#platform/problem';

/** Chunk size for reading spooled files, in bytes. */
const READ_BYTES = 256 * 1024;

/** Budget of files without a limit. */
const UNLIMITED = new ByteBudget({ total: Infinity });

/**
 * Stores incoming bytes in a temporary file of `os.tmpdir()` and hashes them as they arrive. The file is unlinked as soon
 * as it is open, so it disappears with its handle or with the process. Throws 503 `storage_unavailable` when the file
 * cannot be written or read, or its lease cannot grow.
 */
export class SpooledFile {
  private readonly hash = createHash('sha256');
  private digest: string | undefined;
  private length = 0;
  private closing: Promise<void> | undefined;

  private constructor(
    private readonly handle: FileHandle,
    private readonly lease: ByteLease,
  ) {}

  /** @param lease grows with the file, and is released when the file is closed */
  static async create(lease = UNLIMITED.acquire('')): Promise<SpooledFile> {
    const file = path.join(os.tmpdir(), `spool-${randomUUID()}`);
    return translateErrors(async () => {
      const handle = await open(file, 'wx+', 0o600);
      try {
        await unlink(file);
      } catch (error) {
        await handle.close();
        throw error;
      }
      return new SpooledFile(handle, lease);
    });
  }

  /** Bytes written so far. */
  get size(): number {
    return this.length;
  }

  /** SHA-256 of the finished file, in hexadecimal. */
  get sha256(): string {
    if (this.digest === undefined) throw new Error('The file is not finished.');
    return this.digest;
  }

  /** Appends bytes. Calls must not overlap. */
  async append(chunk: Buffer): Promise<void> {
    if (this.closing) throw unstored(new Error('The file is closed.'));
    if (!this.lease.tryGrow(chunk.length)) throw unstored(new Error('The spool budget is exhausted.'));
    this.hash.update(chunk);
    await translateErrors(() => this.handle.appendFile(chunk));
    this.length += chunk.length;
  }

  /** Ends the file. Nothing can be appended afterwards. */
  finish(): void {
    this.digest ??= this.hash.digest('hex');
  }

  /** Reads the complete content. Only for files known to be small. */
  async read(): Promise<Buffer> {
    const buffer = Buffer.allocUnsafeSlow(this.length);
    await translateErrors(() => this.readInto(buffer, 0));
    return buffer;
  }

  /** Throws if the file is closed, which means that nobody waits for the result any more. Call it before long work. */
  checkOpen(): void {
    if (this.closing) throw unstored(new Error('The request has ended.'));
  }

  /** Closes the file. Readers get an error. */
  close(): Promise<void> {
    this.closing ??= this.closeHandle();
    return this.closing;
  }

  /**
   * Yields the content from its beginning, any number of times, in chunks of this many bytes. Fails when the file is closed
   * meanwhile.
   *
   * @param into buffer for every chunk in turn, so that reading leaves no garbage; a chunk is valid until the next one
   */
  async *chunks(bytes = READ_BYTES, into?: Buffer): AsyncGenerator<Buffer, void, undefined> {
    for (let at = 0; at < this.length; at += bytes) {
      const length = Math.min(bytes, this.length - at);
      const buffer = into ? into.subarray(0, length) : Buffer.allocUnsafeSlow(length);
      await translateErrors(() => this.readInto(buffer, at));
      yield buffer;
    }
  }

  private async closeHandle(): Promise<void> {
    // the file disappears even if this fails
    await this.handle.close().catch(() => undefined);
    this.lease.release();
  }

  private async readInto(buffer: Buffer, at: number): Promise<void> {
    for (let done = 0; done < buffer.length;) {
      const { bytesRead } = await this.handle.read(buffer, done, buffer.length - done, at + done);
      if (bytesRead === 0) throw new Error('The spooled file is shorter than the data written to it.');
      done += bytesRead;
    }
  }
}

const unstored = (cause: unknown): Problem =>
  new Problem(
    'storage_unavailable',
    'The service cannot store the body at the moment. Send it again later.',
    {
      cause,
      headers: { 'Retry-After': '1' },
    },
  );

async function translateErrors<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw unstored(error);
  }
}
