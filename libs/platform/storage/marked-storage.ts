import { LoadingCache, withDeadline } from '#platform/concurrency';
import { rootLogger } from '#platform/logging';
import { Problem } from '#platform/problem';
import { StartError } from '#platform/process';
import { type ByteRange, ObjectStorage, storageUnavailable } from './object-storage';
import type { StorageErrors } from './storage-errors';
import type { StorageMark } from './storage-mark';

/** Longest check at the start of a process, in milliseconds. */
const START_MS = 5_000;
/** Milliseconds for which a check of a bucket is valid. */
const BUCKET_CHECK_MS = 10_000;

/**
 * Writes to and deletes from a storage only while it has the marker of this installation. Otherwise throws 503, so that no upload
 * is acknowledged whose bytes are on the wrong disk, and no object is forgotten that is still on the right one.
 *
 * A directory is checked before and after each write and deletion, because a mount can vanish or return at any time.
 */
export class MarkedStorage extends ObjectStorage {
  readonly name: string;
  readonly isMounted: boolean;
  private readonly checks = new LoadingCache<true>({ lifetimeMs: BUCKET_CHECK_MS });

  constructor(
    private readonly storage: ObjectStorage,
    private readonly mark: StorageMark,
    private readonly errors: StorageErrors,
  ) {
    super();
    this.name = storage.name;
    this.isMounted = storage.isMounted;
  }

  /**
   * Checks the marker when a process starts. If the storage cannot be reached, only logs that, because everything else works
   * without it, and the first write checks again.
   *
   * @throws StartError if the marker is missing, or belongs to another installation
   */
  async start(): Promise<void> {
    try {
      const fault = await this.errors.count('check', () =>
        withDeadline(this.mark.findFault(this.storage), START_MS, () =>
          storageUnavailable(new Error('The storage did not respond in time.')),
        ),
      );
      if (fault) throw new StartError(fault.message);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      rootLogger.error({ err: error }, 'cannot reach the file storage of STORAGE_URL');
    }
  }

  write(key: string, bytes: AsyncIterable<Buffer>): Promise<void> {
    return this.errors.count('write', async () => {
      await this.check();
      await this.storage.write(key, bytes);
      await this.check();
      // The mount may have been away during the write, and may be back now.
      if (this.isMounted && (await this.storage.sizeOf(key)) === null) {
        throw storageUnavailable(new Error(`The object ${key} was written to another disk.`));
      }
    });
  }

  read(key: string, size: number, range?: ByteRange, reuse?: boolean): AsyncIterable<Buffer> {
    return this.storage.read(key, size, range, reuse);
  }

  delete(key: string): Promise<void> {
    return this.errors.count('delete', async () => {
      await this.check();
      await this.storage.delete(key);
      await this.check();
    });
  }

  sizeOf(key: string) {
    return this.errors.count('read', () => this.storage.sizeOf(key));
  }

  list() {
    return this.storage.list();
  }

  readMarker() {
    return this.storage.readMarker();
  }

  writeMarker(content: string) {
    return this.storage.writeMarker(content);
  }

  override diskBytes() {
    return this.storage.diskBytes();
  }

  override close(): void {
    this.storage.close();
  }

  private async check(): Promise<void> {
    // A shared check of a directory might have begun before this write has ended.
    if (this.isMounted) await this.require();
    else await this.checks.find('marker', () => this.require());
  }

  private async require(): Promise<true> {
    const fault = await this.mark.findFault(this.storage);
    if (fault) throw storageUnavailable(new Error(fault.message));
    return true;
  }
}
