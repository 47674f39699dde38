import { Problem } from '#platform/problem';

/** A part of an object, in bytes. Both ends are included, as in a `Range` header. */
export interface ByteRange {
  start: number;
  end: number;
}

/** An object in a listing. */
export interface StoredObject {
  key: string;
  size: number;
  modifiedAt: Date;
}

/** Chunk size for reading objects, in bytes. */
export const READ_BYTES = 64 * 1024;

/** The name of the marker. No object has this name, because a key has no dots. */
export const MARKER = '.agent-registry.json';
/** Largest marker that is read, in bytes. */
export const MARKER_BYTES_MAX = 1024;

/**
 * Stores bytes under keys. Each key is written once. A key is one or more names of `[A-Za-z0-9_-]` between slashes.
 *
 * Failures of the storage itself throw 503 `storage_unavailable`. Failures of the source of a write are thrown unchanged.
 */
export abstract class ObjectStorage {
  /** What an operator calls the storage, such as `directory /srv/registry`. */
  abstract readonly name: string;

  /** Whether the storage is part of a file system, where other bytes may appear under the same path at any time. */
  abstract readonly isMounted: boolean;

  /**
   * Writes an object, in constant memory. The object appears once it is complete and durable. An interrupted write leaves no
   * object; `delete` removes its temporary files and the parts of its upload. A chunk need not stay valid once the next one
   * is requested.
   */
  abstract write(key: string, bytes: AsyncIterable<Buffer>): Promise<void>;

  /**
   * Reads an object in chunks, in constant memory. Errors, including the error for a missing object, are thrown by the first
   * or any later chunk. Throws for an object that is shorter than the range, so that no reader mistakes incomplete bytes for
   * complete ones.
   *
   * @param size the size of the complete object
   * @param reuse whether a chunk may be overwritten once the next one is requested. Chunks that wait for slow readers
   *   become garbage that is collected late, which takes more memory than the chunks themselves
   */
  abstract read(key: string, size: number, range?: ByteRange, reuse?: boolean): AsyncIterable<Buffer>;

  /** Deletes an object and the remains of an interrupted write. Succeeds if there is nothing to delete. */
  abstract delete(key: string): Promise<void>;

  /** Returns the size of an object in bytes. Null if there is none. */
  abstract sizeOf(key: string): Promise<number | null>;

  /** Lists the objects with keys of two names, in the binary order of their keys, in constant memory. Skips other files. */
  abstract list(): AsyncIterable<readonly StoredObject[]>;

  /** Returns the content of the marker, at most its first `MARKER_BYTES_MAX` bytes. Null if there is none. */
  abstract readMarker(): Promise<string | null>;

  /** Writes the marker, durably. Replaces an existing one. */
  abstract writeMarker(content: string): Promise<void>;

  /** Returns the size of the disk that holds the objects, in bytes. Null if there is none, or if it is unknown. */
  diskBytes(): Promise<number | null> {
    return Promise.resolve(null);
  }

  /** Frees connections when the process stops. */
  close(): void {}
}

/** Returns the problem of a storage that cannot be read or written. */
export const storageUnavailable = (cause: unknown): Problem =>
  new Problem('storage_unavailable', 'The file storage cannot be reached at the moment. Try again later.', {
    cause,
    headers: { 'Retry-After': '5' },
  });

/** Returns the problem of bytes that the storage does not have, or not as they were stored. */
export const bytesLost = (reason: string): Problem =>
  new Problem(
    'storage_unavailable',
    'The stored bytes are missing or damaged. If this lasts, the operator has to run verify-storage.',
    { cause: new Error(reason), headers: { 'Retry-After': '5' } },
  );

/** Runs work of a storage. Throws the problem of a storage that cannot be read or written for each of its errors. */
export async function translateErrors<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw storageUnavailable(error);
  }
}
