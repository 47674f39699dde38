import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, rename, rm, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import { LoadingCache } from '#platform/concurrency';
import { filesIn } from './directory-listing';
import {
  type ByteRange,
  MARKER,
  MARKER_BYTES_MAX,
  ObjectStorage,
  READ_BYTES,
  translateErrors,
  bytesLost,
} from './object-storage';

const EMPTY = Buffer.alloc(0);

/**
 * A reader that has taken this many bytes, more than the buffers of a connection hold, and takes each chunk within
 * `QUICK_MS` gets larger chunks, which are read ahead. So fast downloads are not slowed down, and a hundred slow downloads
 * take little memory.
 */
const FAST_FROM_BYTES = 16 * 1024 * 1024;
const FAST_READ_BYTES = 256 * 1024;
const QUICK_MS = 50;

/**
 * Stores objects as files in a directory. A write goes to a temporary file, which is flushed to the disk and then renamed,
 * so that a file is complete or absent even after a power failure.
 */
export class DirectoryStorage extends ObjectStorage {
  readonly name: string;
  readonly isMounted = true;
  private readonly directory: string;
  private readonly objects: string;
  /** The directories whose own entries this process has made durable. Another process may have created them just now. */
  private readonly durable = new LoadingCache<true>({ lifetimeMs: Infinity, max: 10_000 });

  constructor(directory: string) {
    super();
    this.directory = path.resolve(directory);
    this.objects = path.join(this.directory, 'objects');
    this.name = `directory ${this.directory}`;
  }

  write(key: string, bytes: AsyncIterable<Buffer>): Promise<void> {
    return this.place(this.temporaryOf(key), this.fileOf(key), bytes);
  }

  async *read(key: string, size: number, range: ByteRange = { start: 0, end: size - 1 }, reuse = false) {
    const handle = await translateErrors(() => orNull(() => open(this.fileOf(key), 'r')));
    if (handle === null) throw bytesLost(`The object ${key} is missing.`);
    const buffers = [EMPTY, EMPTY];
    const chunkAt = (at: number, bytes: number): Promise<Buffer> => {
      const length = Math.min(bytes, range.end + 1 - at);
      buffers.reverse();
      if (!reuse || buffers[0]!.length < length) buffers[0] = Buffer.allocUnsafeSlow(length);
      return readFully(handle, at, buffers[0]!.subarray(0, length));
    };
    let next: Promise<Buffer> | undefined;
    try {
      let isQuick = true;
      for (let at = range.start; at <= range.end;) {
        const chunk = await translateErrors(() => next ?? chunkAt(at, READ_BYTES));
        at += chunk.length;
        const isFast = isQuick && at - range.start >= FAST_FROM_BYTES && at <= range.end;
        next = isFast ? chunkAt(at, FAST_READ_BYTES) : undefined;
        // its error is thrown when it is awaited
        next?.catch(() => undefined);
        const yieldedAt = performance.now();
        yield chunk;
        isQuick = performance.now() - yieldedAt < QUICK_MS;
      }
    } finally {
      await next?.catch(() => undefined);
      await handle.close();
    }
  }

  async delete(key: string): Promise<void> {
    await translateErrors(async () => {
      await rm(this.temporaryOf(key), { force: true });
      await rm(this.fileOf(key), { force: true });
    });
  }

  sizeOf(key: string): Promise<number | null> {
    return translateErrors(() => orNull(async () => (await stat(this.fileOf(key))).size));
  }

  list() {
    return filesIn(this.objects);
  }

  readMarker(): Promise<string | null> {
    return translateErrors(() =>
      orNull(async () => {
        const handle = await open(path.join(this.objects, MARKER), 'r');
        try {
          const { buffer, bytesRead } = await handle.read(Buffer.alloc(MARKER_BYTES_MAX));
          return buffer.toString('utf8', 0, bytesRead);
        } finally {
          await handle.close();
        }
      }),
    );
  }

  async writeMarker(content: string): Promise<void> {
    const temporary = this.temporaryOf(`marker-${randomUUID()}`);
    try {
      await this.place(temporary, path.join(this.objects, MARKER), [Buffer.from(content)]);
    } finally {
      await rm(temporary, { force: true }).catch(() => undefined);
    }
  }

  override async diskBytes(): Promise<number | null> {
    // The directory may not exist yet.
    for (let directory = this.directory; ; directory = path.dirname(directory)) {
      try {
        const { blocks, bsize } = await statfs(directory);
        return blocks * bsize;
      } catch {
        if (directory === path.dirname(directory)) return null;
      }
    }
  }

  /** Writes a temporary file, and gives it its name once it is durable. */
  private async place(
    temporary: string,
    target: string,
    bytes: AsyncIterable<Buffer> | Iterable<Buffer>,
  ): Promise<void> {
    const handle = await translateErrors(async () => {
      await mkdir(path.dirname(temporary), { recursive: true, mode: 0o700 });
      return open(temporary, 'wx', 0o600);
    });
    try {
      for await (const chunk of bytes) await translateErrors(() => handle.writeFile(chunk));
      await translateErrors(() => handle.sync());
    } finally {
      await translateErrors(() => handle.close());
    }
    await translateErrors(async () => {
      await this.createDurably(path.dirname(target));
      await rename(temporary, target);
      await syncDirectory(path.dirname(target));
    });
  }

  private async createDurably(directory: string): Promise<void> {
    const created = await mkdir(directory, { recursive: true, mode: 0o700 });
    if (created !== undefined) this.durable.invalidate(directory);
    await this.durable.find(directory, async () => {
      await syncParents(directory, created ?? this.objects);
      return true;
    });
  }

  private fileOf(key: string): string {
    return path.join(this.objects, key);
  }

  private temporaryOf(key: string): string {
    return path.join(this.directory, 'incomplete', key.replaceAll('/', '.'));
  }
}

/** Fills a buffer. Throws if the file is shorter. */
async function readFully(handle: FileHandle, at: number, buffer: Buffer): Promise<Buffer> {
  for (let done = 0; done < buffer.length;) {
    const { bytesRead } = await handle.read(buffer, done, buffer.length - done, at + done);
    if (bytesRead === 0) throw new Error('The object ends too early.');
    done += bytesRead;
  }
  return buffer;
}

/** Returns null if the file does not exist. */
async function orNull<Result>(work: () => Promise<Result>): Promise<Result | null> {
  try {
    return await work();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Makes the entries of directories durable, from a directory up to the topmost one. */
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
