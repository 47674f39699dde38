import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ObjectStorage, type StoredObject } from './object-storage';
import { type BlobUse, type KeptRow, StorageVerificationRepository } from './storage-verification.repository';

/** Differences that are examined together. */
const BATCH = 500;
/** Objects that are read at the same time. */
const CONCURRENCY = 8;
/** Default of `orphanMs`. */
const ORPHAN_MS = 3_600_000;

/** Bytes that a row refers to, and that the storage cannot return. */
export interface LostBytes {
  finding: 'missing' | 'wrong_size' | 'wrong_hash' | 'unreadable';
  storage_key: string;
  sha256: string;
  size_bytes: number;
  /** The size of the object in the storage, for `wrong_size`. */
  found_bytes?: number;
  used_by: BlobUse[];
}

/** An object that no row refers to. */
export interface Orphan {
  finding: 'orphan';
  storage_key: string;
  size_bytes: number;
  modified_at: string;
}

export interface VerifyOptions {
  /** Whether to read every object and compare its SHA-256. */
  hash?: boolean;
  /** Whether workers are to delete the orphans. */
  deleteOrphans?: boolean;
  /** Age below which objects without a row are not reported, in milliseconds. Default: 1 hour. */
  orphanMs?: number;
  /** Throws if the storage is another one now. Called before findings, because everything is missing once a mount has vanished. */
  checkStorage?: () => Promise<void>;
}

/** What was compared, and how many findings of each kind there were. */
export class Verification {
  rows = 0;
  objects = 0;
  missing = 0;
  wrong_size = 0;
  wrong_hash = 0;
  unreadable = 0;
  orphan = 0;

  /** The number of objects whose bytes are not available. */
  get lost(): number {
    return this.missing + this.wrong_size + this.wrong_hash + this.unreadable;
  }
}

/** A row and the object with its key. One of them may be absent. */
interface Pair {
  row?: KeptRow;
  object?: StoredObject;
}

type Fault = Pick<LostBytes, 'finding' | 'found_bytes'>;

/**
 * Compares the rows about stored bytes with the objects in the storage, both ways, in constant memory. Merges two listings in the
 * same order. The service may run meanwhile: each difference is checked again before it is reported.
 */
@Injectable()
export class StorageVerifier {
  constructor(
    private readonly storage: ObjectStorage,
    private readonly repository: StorageVerificationRepository,
  ) {}

  /** @param report called with each finding */
  async verify(
    report: (finding: LostBytes | Orphan) => void,
    { checkStorage, hash = false, deleteOrphans = false, orphanMs = ORPHAN_MS }: VerifyOptions = {},
  ): Promise<Verification> {
    const result = new Verification();
    let [rows, orphans]: [Pair[], Pair[]] = [[], []];
    const flush = async (): Promise<void> => {
      const allLost = await this.examineRows(rows, hash);
      const found = await this.examineObjects(orphans, orphanMs);
      await checkStorage?.();
      for (const lost of allLost) {
        result[lost.finding]++;
        report(lost);
      }
      if (deleteOrphans) await this.repository.deleteLater(found.map(({ storage_key }) => storage_key));
      for (const orphan of found) {
        result.orphan++;
        report(orphan);
      }
      [rows, orphans] = [[], []];
    };
    for await (const pair of merge(this.repository.rows(), this.objects())) {
      const { row, object } = pair;
      if (row) result.rows++;
      if (object) result.objects++;
      if (!row) orphans.push(pair);
      else if (hash || object?.size !== row.size_bytes) rows.push(pair);
      if (rows.length + orphans.length >= BATCH) await flush();
    }
    await flush();
    return result;
  }

  private async *objects(): AsyncGenerator<StoredObject, void, undefined> {
    for await (const batch of this.storage.list()) yield* batch;
  }

  /** Returns the rows whose bytes the storage does not have. */
  private async examineRows(pairs: readonly Pair[], hash: boolean): Promise<LostBytes[]> {
    const faults = new Map<KeptRow, Fault>();
    for (let at = 0; at < pairs.length; at += CONCURRENCY) {
      await Promise.all(
        pairs.slice(at, at + CONCURRENCY).map(async ({ row }) => {
          const fault = await this.faultOf(row!, hash);
          if (fault) faults.set(row!, fault);
        }),
      );
    }
    // after the objects, because a row is deleted before its object
    const keys = [...faults.keys()].map(({ storage_key }) => storage_key);
    const uses = await this.repository.uses(keys);
    return [...faults].flatMap(([row, fault]) => {
      const used_by = uses.get(row.storage_key);
      return used_by ? [{ ...fault, ...row, used_by }] : [];
    });
  }

  private async faultOf(row: KeptRow, hash: boolean): Promise<Fault | null> {
    const { storage_key: key, size_bytes: size } = row;
    const found = await this.storage.sizeOf(key);
    if (found === null) return { finding: 'missing' };
    if (found !== size) return { finding: 'wrong_size', found_bytes: found };
    if (!hash) return null;
    const digest = createHash('sha256');
    try {
      for await (const chunk of this.storage.read(key, size, undefined, true)) digest.update(chunk);
    } catch {
      return { finding: 'unreadable' };
    }
    return digest.digest('hex') === row.sha256 ? null : { finding: 'wrong_hash' };
  }

  /** Returns the objects that no row refers to, and that are neither young nor known as unfinished. */
  private async examineObjects(pairs: readonly Pair[], orphanMs: number): Promise<Orphan[]> {
    const youngest = Date.now() - orphanMs;
    const old = pairs
      .map(({ object }) => object!)
      .filter(({ modifiedAt }) => modifiedAt.getTime() < youngest);
    if (old.length === 0) return [];
    const known = await this.repository.known(old.map(({ key }) => key));
    return old
      .filter(({ key }) => !known.has(key))
      .map(({ key, size, modifiedAt }) => ({
        finding: 'orphan',
        storage_key: key,
        size_bytes: size,
        modified_at: modifiedAt.toISOString(),
      }));
  }
}

/** Merges two listings in the order of their keys. */
async function* merge(
  rows: AsyncGenerator<KeptRow, void, undefined>,
  objects: AsyncGenerator<StoredObject, void, undefined>,
): AsyncGenerator<Pair, void, undefined> {
  const nextOf = async <Item>(items: AsyncGenerator<Item, void, undefined>): Promise<Item | undefined> => {
    const next = await items.next();
    return next.done ? undefined : next.value;
  };
  let [row, object] = [await nextOf(rows), await nextOf(objects)];
  while (row || object) {
    const isRow = row !== undefined && (!object || row.storage_key <= object.key);
    const isObject = object !== undefined && (!row || object.key <= row.storage_key);
    yield { ...(isRow && { row: row! }), ...(isObject && { object: object! }) };
    if (isRow) row = await nextOf(rows);
    if (isObject) object = await nextOf(objects);
  }
}
