import { createHash, randomUUID } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { Injectable } from '@nestjs/common';
import { Environment } from '#platform/config';
import type { SqlExecutor, Tx } from '#platform/db';
import { rootLogger } from '#platform/logging';
import type { OrgScope } from '#platform/scope';
import { type BlobRow, BlobRepository } from './blob.repository';
import { type ByteRange, bytesLost, ObjectStorage, storageUnavailable } from './object-storage';
import { StorageErrors } from './storage-errors';
import { StorageQuota } from './storage-quota';

/** Interval of the heartbeat of a write, in milliseconds. A third of the shortest `STORAGE_ORPHAN_SECONDS`. */
const RENEWAL_MS = 20_000;

/** Maximum number of objects that the clean-up deletes before it looks for more. */
const DELETED_MAX = 100;

/** Failures after which a run of the clean-up gives up. */
const FAILURES_MAX = 10;

type Tenant = Pick<OrgScope, 'orgId'>;

/** Bytes in the storage that no row refers to yet. */
export interface WrittenBlob {
  /** In hexadecimal. */
  readonly sha256: string;
  readonly size: number;
  /** @internal */
  readonly orgId: string;
  /** @internal */
  readonly row: BlobRow;
  /** The key of an object with the same bytes that the storage has lost, and that this one replaces. @internal */
  readonly lostKey: string | null;
  /** Stops the heartbeat. @internal */
  readonly stop: () => void;
  /** Ends the reservation of the bytes. @internal */
  readonly release: () => void;
  /** Whether the last transaction that kept the bytes refers to this object. @internal */
  isKept: boolean;
}

/** Stored bytes that a row refers to. */
export interface BlobContent {
  readonly sha256: string;
  readonly size: number;
  /**
   * Streams the bytes, or a range of them. Throws 503 `storage_unavailable` if the storage fails.
   *
   * @param reuse whether a chunk may be overwritten once the next one is requested
   */
  read(range?: ByteRange, reuse?: boolean): AsyncIterable<Buffer>;
}

/**
 * Stores bytes by their SHA-256, once per organization. Bytes are written before the transaction that keeps them, because
 * they may take minutes to arrive:
 *
 *     const blob = await blobs.write(scope, bytes);
 *     await blobs.keepOrDiscard([blob], () => database.transaction(async (tx) => {
 *       await blobs.keep(tx, scope, blob);
 *       …
 *     }));
 *
 * Each write is recorded in the database before its first byte, and has a heartbeat. So `deleteOrphans` finds
 * everything that a crash leaves behind, and never touches a write in progress.
 */
@Injectable()
export class BlobStore {
  constructor(
    private readonly storage: ObjectStorage,
    private readonly blobs: BlobRepository,
    private readonly environment: Environment,
    private readonly quota: StorageQuota,
    private readonly errors: StorageErrors,
  ) {}

  /**
   * Streams bytes into the storage, and hashes them. Pass the result to `keepOrDiscard`. If this method throws, the bytes are
   * deleted.
   *
   * @param expected the number of bytes, if it is known, so that bytes that exceed the quota are not read
   * @throws the errors of the source; 413 beyond the quota; 503 `storage_unavailable`
   */
  async write(scope: Tenant, bytes: AsyncIterable<Buffer>, expected?: number): Promise<WrittenBlob> {
    const { grow, release } = await this.quota.reserve(scope, expected);
    const key = `${scope.orgId}/${randomUUID()}`;
    let renewal: NodeJS.Timeout | undefined;
    const stop = (): void => clearInterval(renewal);
    try {
      await this.blobs.begin(scope, key);
      renewal = setInterval(() => void this.blobs.renew(key).catch(logMissedHeartbeat), RENEWAL_MS);
      const hashed = new Hashed(bytes, grow);
      await this.storage.write(key, hashed);
      const { size, sha256, crc } = hashed;
      const row = { sha256, size_bytes: size, crc32: crc, storage_key: key };
      const renewed = await this.blobs.renewWritten(scope, row);
      // A process that was suspended for too long may have completed an object after its deletion.
      if (!renewed) throw deletedMeanwhile();
      const lostKey = await this.lostKeyOf(renewed.earlier_key, size);
      return { sha256, size, orgId: scope.orgId, row, lostKey, stop, release, isKept: false };
    } catch (error) {
      stop();
      await this.deleteUnkept(key);
      release();
      throw error;
    }
  }

  /** Runs work that keeps written bytes. Afterwards deletes the bytes that it did not keep. */
  async keepOrDiscard<Result>(written: readonly WrittenBlob[], work: () => Promise<Result>): Promise<Result> {
    try {
      const result = await work();
      for (const one of written) {
        if (!one.isKept) await this.discard(one);
        one.stop();
        one.release();
      }
      return result;
    } catch (error) {
      for (const one of written) await this.discard(one);
      throw error;
    }
  }

  /** Deletes written bytes that no row refers to. If this fails, `deleteOrphans` does it later. */
  async discard(written: WrittenBlob): Promise<void> {
    written.stop();
    await this.deleteUnkept(written.row.storage_key, written);
    written.release();
  }

  /** Keeps written bytes. If the organization already has them, its earlier object is used, unless the storage has lost it. */
  async keep(tx: Tx, scope: Tenant, written: WrittenBlob): Promise<void> {
    const { row, lostKey } = written;
    const key = await this.blobs.keep(tx, scope, row);
    const isLost = key === lostKey;
    written.isKept = key === row.storage_key || isLost;
    if (!written.isKept) return void (await this.blobs.abandon(row.storage_key, tx));
    if (!(await this.blobs.end(tx, row.storage_key))) throw deletedMeanwhile();
    if (isLost) await this.blobs.replaceLost(tx, scope, row, lostKey);
    else this.quota.add(tx, scope, row.size_bytes);
  }

  /**
   * Writes and keeps bytes that need not be awaited, in the transaction that refers to them. If it is rolled back,
   * `deleteOrphans` deletes them.
   */
  async writeWithin(tx: Tx, scope: Tenant, bytes: AsyncIterable<Buffer>): Promise<WrittenBlob> {
    const written = await this.write(scope, bytes);
    written.stop();
    try {
      await this.keep(tx, scope, written);
    } finally {
      // the transaction counts the bytes now
      written.release();
    }
    return written;
  }

  /** Records bytes without writing them, in a transaction that is always rolled back. */
  async pretendWithin(tx: Tx, scope: Tenant, sha256: string, size: number): Promise<void> {
    const storage_key = `${scope.orgId}/${randomUUID()}`;
    await this.blobs.keep(tx, scope, { sha256, size_bytes: size, crc32: 0, storage_key });
  }

  /**
   * Removes bytes that no row refers to any more, at the end of the transaction that has deleted such rows. The clean-up deletes
   * their objects after the commit.
   */
  release(tx: Tx, scope: Tenant, sha256s: readonly string[]): void {
    if (sha256s.length === 0) return;
    tx.beforeCommit(async () => {
      await this.releaseNow(tx, scope, sha256s);
    });
  }

  /**
   * Removes the bytes of an organization that no row refers to, a batch at a time.
   *
   * @param after `next` of the batch before
   * @returns the number of removed objects, and where the next batch begins; null after the last
   */
  async releaseUnreferenced(
    tx: Tx,
    scope: Tenant,
    after: string | null,
    limit: number,
  ): Promise<{ count: number; next: string | null }> {
    const sha256s = await this.blobs.list(scope, tx, after ?? '', limit);
    const count = sha256s.length === 0 ? 0 : await this.releaseNow(tx, scope, sha256s);
    return { count, next: sha256s.length < limit ? null : sha256s.at(-1)! };
  }

  /** Deletes objects of an organization that were removed. Returns how many there were, at most `limit`. */
  async deleteReleased(tx: Tx, scope: Tenant, limit: number): Promise<number> {
    const keys = await this.blobs.findReleased(scope, tx, limit);
    await Promise.all(keys.map((key) => this.storage.delete(key)));
    await this.blobs.forgetAll(tx, keys);
    return keys.length;
  }

  /** Opens stored bytes. Throws 503 if they are missing. */
  async open(scope: Tenant, sha256: string, on?: SqlExecutor): Promise<BlobContent> {
    const row = await this.blobs.find(scope, sha256, on);
    if (!row) throw bytesLost(`The bytes ${sha256} are missing.`);
    const { size_bytes: size, storage_key: key } = row;
    const read = (range?: ByteRange, reuse?: boolean) =>
      range ? this.storage.read(key, size, range, reuse) : this.whole(row, reuse);
    return { sha256, size, read: (range, reuse) => this.errors.countAll('read', read(range, reuse)) };
  }

  /**
   * Holds stored bytes until the transaction ends, so that it can refer to them: a concurrent `release` waits. Returns false if
   * the organization does not have them.
   */
  hold(tx: Tx, scope: Tenant, sha256: string): Promise<boolean> {
    return this.blobs.hold(tx, scope, sha256);
  }

  /** Deletes the remains of interrupted writes, and removed objects. Safe to run in several processes. */
  async deleteOrphans(): Promise<void> {
    let failures = 0;
    for (let count = DELETED_MAX; count === DELETED_MAX && failures === 0;) {
      const keys = await this.blobs.findAbandoned(this.environment.STORAGE_ORPHAN_SECONDS, DELETED_MAX);
      count = keys.length;
      for (const key of keys) {
        try {
          await this.storage.delete(key);
          await this.blobs.forget(key);
        } catch (error) {
          // One failing object must not prevent the deletion of others. If the storage is down, the next run tries again.
          if (++failures === FAILURES_MAX) throw error;
          logFailure(error);
        }
      }
    }
  }

  /** Returns the key of an earlier object with the same bytes if the storage no longer has it. */
  private async lostKeyOf(earlierKey: string | null, size: number): Promise<string | null> {
    return earlierKey === null || (await this.storage.sizeOf(earlierKey)) === size ? null : earlierKey;
  }

  private async releaseNow(tx: Tx, scope: Tenant, sha256s: readonly string[]): Promise<number> {
    const { count, bytes } = await this.blobs.release(tx, scope, sha256s);
    this.quota.add(tx, scope, -bytes);
    return count;
  }

  /** Reads all bytes. Verifies their checksum before the last chunk, so that damaged bytes never arrive completely. */
  private async *whole({ storage_key, size_bytes, crc32: expected }: BlobRow, reuse?: boolean) {
    let [size, crc] = [0, 0];
    for await (const chunk of this.storage.read(storage_key, size_bytes, undefined, reuse)) {
      size += chunk.length;
      crc = crc32(chunk, crc);
      if (size >= size_bytes && (size > size_bytes || crc !== expected)) {
        throw bytesLost(`The object ${storage_key} is damaged.`);
      }
      yield chunk;
    }
  }

  /**
   * Deletes an object unless it is kept. If this fails, `deleteOrphans` does it later.
   *
   * @param written the bytes that may have been kept under the key
   */
  private async deleteUnkept(key: string, written?: WrittenBlob): Promise<void> {
    try {
      // `abandon` comes first, because it waits for a transaction whose outcome this process does not know.
      if (!(await this.blobs.abandon(key)) && written && (await this.blobs.isKept(written, written.row)))
        return;
      await this.storage.delete(key);
      await this.blobs.forget(key);
    } catch (error) {
      logFailure(error);
    }
  }
}

/** Bytes that are hashed as they pass. */
class Hashed implements AsyncIterable<Buffer> {
  size = 0;
  crc = 0;
  sha256 = '';

  /** @param check called with the number of bytes so far; its error ends the bytes */
  constructor(
    private readonly bytes: AsyncIterable<Buffer>,
    private readonly check: (size: number) => void,
  ) {}

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, undefined> {
    const hash = createHash('sha256');
    for await (const chunk of this.bytes) {
      hash.update(chunk);
      this.crc = crc32(chunk, this.crc);
      this.size += chunk.length;
      this.check(this.size);
      yield chunk;
    }
    this.sha256 = hash.digest('hex');
  }
}

const deletedMeanwhile = (): Error =>
  storageUnavailable(new Error('The object was deleted with interrupted uploads before it was referenced.'));

const logMissedHeartbeat = (error: unknown): void =>
  rootLogger.warn({ err: error }, 'the heartbeat of a storage write failed');

const logFailure = (error: unknown): void =>
  rootLogger.warn({ err: error }, 'cannot delete an object; the clean-up will try again');
