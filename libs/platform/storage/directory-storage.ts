import { access, constants, mkdir, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { type ByteRange, ObjectStorage, READ_BYTES, storageUnavailable } from './object-storage';

/**
 * Keeps objects as files in a directory. A write goes to a temporary file, which is flushed to the disk and then renamed, so
 * that a file is complete or absent even after a power failure.
 */
export class DirectoryStorage extends ObjectStorage {
  constructor(private readonly directory: string) {
    super();
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
      await handle.close();
    }
    await stored(async () => {
      const made = await mkdir(path.dirname(target), { recursive: true, mode: 0o700 });
      if (made !== undefined) await syncDirectory(path.dirname(made));
      await rename(temporary, target);
      await syncDirectory(path.dirname(target));
    });
  }

  async *read(key: string, size: number, range: ByteRange = { start: 0, end: size - 1 }, reuse = false) {
    const handle = await stored(() => open(this.fileOf(key), 'r'));
    try {
      let [buffer, spare] = [EMPTY, EMPTY];
      for (let at = range.start; at <= range.end;) {
        const length = Math.min(READ_BYTES, range.end + 1 - at);
        [buffer, spare] = [spare, buffer];
        if (!reuse || buffer.length < length) buffer = Buffer.allocUnsafeSlow(length);
        const into = buffer;
        const { bytesRead } = await stored(() => handle.read(into, 0, length, at));
        if (bytesRead === 0) throw storageUnavailable(new Error(`The object ${key} ends too early.`));
        at += bytesRead;
        yield into.subarray(0, bytesRead);
      }
    } finally {
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

const EMPTY = Buffer.alloc(0);

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
