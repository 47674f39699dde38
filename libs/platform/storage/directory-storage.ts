import { access, constants, type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { type ByteRange, ObjectStorage, READ_BYTES, storageUnavailable } from './object-storage';

/**
 * Keeps objects as files in a directory. A write goes to a temporary file, which is flushed to the disk and then renamed, so
 * that a file is complete or absent even after a power failure.
 */
export class DirectoryStorage extends ObjectStorage {
  private readonly directory: string;

  constructor(directory: string) {
    super();
    this.directory = path.resolve(directory);
  }

  async write(key: string, bytes: AsyncIterable<Buffer>): Promise<void> {
    const [target, temporary] = [this.fileOf(key), this.temporaryOf(key)];
    const handle = await stored(async () => {
      await mkdir(path.dirname(temporary), { recursive: true, mode: 0o700 });
      return open(temporary, 'wx', 0o600);
    });
    try {
      for await (const chunk of bytes) await stored(() => handle.writeFile(chunk));
      await stored(() => handle.sync());
    } finally {
      await stored(() => handle.close());
    }
    await stored(async () => {
      const made = await mkdir(path.dirname(target), { recursive: true, mode: 0o700 });
      if (made !== undefined) await syncParents(path.dirname(target), made);
      await rename(temporary, target);
      await syncDirectory(path.dirname(target));
    });
  }

  /** Reads a chunk ahead, so that the disk and the reader work at the same time. */
  async *read(key: string, size: number, range: ByteRange = { start: 0, end: size - 1 }) {
    const handle = await stored(() => open(this.fileOf(key), 'r'));
    const chunkAt = (at: number): Promise<Buffer> => readFully(handle, at, range.end + 1);
    let next: Promise<Buffer> | undefined;
    try {
      for (let at = range.start; at <= range.end; at += READ_BYTES) {
        const chunk = await stored(() => next ?? chunkAt(at));
        next = at + READ_BYTES <= range.end ? chunkAt(at + READ_BYTES) : undefined;
        // it fails when it is awaited
        next?.catch(() => undefined);
        yield chunk;
      }
    } finally {
      await next?.catch(() => undefined);
      await handle.close();
    }
  }

  async delete(key: string): Promise<void> {
    await stored(async () => {
      await rm(this.temporaryOf(key), { force: true });
      await rm(this.fileOf(key), { force: true });
    });
  }

  async check(): Promise<void> {
    await stored(async () => {
      await mkdir(this.directory, { recursive: true, mode: 0o700 });
      await access(this.directory, constants.R_OK | constants.W_OK);
    });
  }

  private fileOf(key: string): string {
    return path.join(this.directory, 'objects', key);
  }

  private temporaryOf(key: string): string {
    return path.join(this.directory, 'incomplete', key.replaceAll('/', '.'));
  }
}

/** Reads a chunk of at most `READ_BYTES` that ends before `end`. Throws for a file that is shorter. */
async function readFully(handle: FileHandle, at: number, end: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(Math.min(READ_BYTES, end - at));
  for (let done = 0; done < buffer.length;) {
    const { bytesRead } = await handle.read(buffer, done, buffer.length - done, at + done);
    if (bytesRead === 0) throw new Error('The object ends too early.');
    done += bytesRead;
  }
  return buffer;
}

/** Makes new directories durable, from a directory up to the first one that is new. */
async function syncParents(directory: string, first: string): Promise<void> {
  const parent = path.dirname(directory);
  await syncDirectory(parent);
  if (directory !== first) await syncParents(parent, first);
}

/** Makes a rename durable. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function stored<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw storageUnavailable(error);
  }
}
