import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { Problem } from '#platform/problem';
import type { SpoolRoom } from './spool-space';

/** Of a spooled file is read at once at most this much. */
const READ_BYTES = 256 * 1024;

/** As much as the disk has. */
const WHOLE_DISK: SpoolRoom = { take: () => true, give: () => undefined };

/**
 * Bytes on their way in, kept in a temporary file of `os.tmpdir()` and hashed as they arrive. The file has no name
 * from the moment it is open, so it is gone with its handle, and with the process, however that ends. Errors: 503
 * `storage_unavailable` where the file cannot be written or read, or there is no room for it.
 */
export class SpooledFile {
  private readonly hash = createHash('sha256');
  private readonly parts: SpooledFile[] = [];
  private digest: string | undefined;
  private length = 0;
  private roomTaken = 0;
  private closing: Promise<void> | undefined;

  private constructor(
    private readonly handle: FileHandle,
    private readonly room: SpoolRoom,
  ) {}

  /** @param room that it takes with all its parts, and gives back when it is closed */
  static async create(room = WHOLE_DISK): Promise<SpooledFile> {
    const file = path.join(os.tmpdir(), `spool-${randomUUID()}`);
    return stored(async () => {
      const handle = await open(file, 'wx+', 0o600);
      try {
        await unlink(file);
      } catch (error) {
        await handle.close();
        throw error;
      }
      return new SpooledFile(handle, room);
    });
  }

  /** Of the bytes so far. */
  get size(): number {
    return this.length;
  }

  /** SHA-256 of the content, in hexadecimal; once it is finished. */
  get sha256(): string {
    if (this.digest === undefined) throw new Error('The file is not finished.');
    return this.digest;
  }

  /** Another file, of what this one contains, which is closed with it. */
  async createPart(): Promise<SpooledFile> {
    const part = await SpooledFile.create(this.room);
    this.parts.push(part);
    if (this.closing) await part.close();
    return part;
  }

  /** Adds bytes at the end. One call at a time. */
  async append(chunk: Buffer): Promise<void> {
    if (this.closing) throw unstored(new Error('The file is closed.'));
    if (!this.room.take(chunk.length)) throw unstored(new Error('There is no room for more of it.'));
    this.roomTaken += chunk.length;
    this.hash.update(chunk);
    await stored(async () => {
      for (let done = 0; done < chunk.length;) {
        done += (await this.handle.write(chunk, done, chunk.length - done, this.length + done)).bytesWritten;
      }
    });
    this.length += chunk.length;
  }

  /** Nothing is appended any more. */
  finish(): void {
    this.digest ??= this.hash.digest('hex');
  }

  /** The content from its beginning, any number of times. It fails where the file is closed meanwhile. */
  stream(): Readable {
    return Readable.from(this.chunks(), { objectMode: false, highWaterMark: READ_BYTES });
  }

  /** The content whole: for what is known to be small. */
  async read(): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of this.chunks()) chunks.push(chunk);
    return Buffer.concat(chunks, this.length);
  }

  /**
   * Throws where the bytes were given up: nobody waits any more for what becomes of them. For what is to be left undone
   * then, before it is done for good.
   */
  checkOpen(): void {
    if (this.closing) throw unstored(new Error('The request was answered, or its client is gone.'));
  }

  /** Gives the bytes up. Whoever still reads them gets an error. */
  close(): Promise<void> {
    this.closing ??= this.giveUp();
    return this.closing;
  }

  /**
   * The content in pieces of this many bytes; the last is what is left.
   *
   * @param into takes every piece in turn, so that reading leaves nothing behind; a piece is there until the next one
   */
  async *chunks(bytes = READ_BYTES, into?: Buffer): AsyncGenerator<Buffer, void, undefined> {
    for (let at = 0; at < this.length; at += bytes) {
      const length = Math.min(bytes, this.length - at);
      const buffer = into ? into.subarray(0, length) : Buffer.allocUnsafeSlow(length);
      await stored(() => this.readInto(buffer, at));
      yield buffer;
    }
  }

  private async giveUp(): Promise<void> {
    // where this fails there is nothing left of it either way
    await Promise.all([this.handle.close(), ...this.parts.map((part) => part.close())]).catch(
      () => undefined,
    );
    this.room.give(this.roomTaken);
  }

  private async readInto(buffer: Buffer, at: number): Promise<void> {
    for (let done = 0; done < buffer.length;) {
      const { bytesRead } = await this.handle.read(buffer, done, buffer.length - done, at + done);
      if (bytesRead === 0) throw new Error('The spooled file is shorter than what was written.');
      done += bytesRead;
    }
  }
}

const unstored = (cause: unknown): Problem =>
  new Problem('storage_unavailable', 'The body cannot be kept while it is read. Try again.', {
    cause,
    headers: { 'Retry-After': '1' },
  });

async function stored<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw unstored(error);
  }
}
