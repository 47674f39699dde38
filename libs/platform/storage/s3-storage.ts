import { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  type MultipartUpload,
  NoSuchKey,
  NoSuchUpload,
  NotFound,
  PutObjectCommand,
  S3Client,
  type S3ClientConfig,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { FairLimiter, WaitTimeout, withDeadline } from '#platform/concurrency';
import { problem } from '#platform/problem';
import {
  type ByteRange,
  MARKER,
  MARKER_BYTES_MAX,
  ObjectStorage,
  READ_BYTES,
  type StoredObject,
  storageUnavailable,
  translateErrors,
  bytesLost,
} from './object-storage';
import type { S3Location } from './s3-location';

/** Minimum size of a part of a multipart upload, in bytes. */
const PART_BYTES_MIN = 5 * 1024 ** 2;
/** Bytes of an upload that are copied at once. */
const BLOCK_BYTES = 64 * 1024;
/** Maximum number of parts of an upload. */
const PARTS_MAX = 10_000;

/** The keys in a listing. Everything else is skipped, such as the marker. */
const LISTED_KEY = /^[\w-]+\/[\w-]+$/;

/** Concurrent writes. Each takes the memory of two parts, because the SDK joins the chunks of a part. */
const WRITES = 24;
/** Concurrent writes of one organization. */
const WRITES_SHARE = 6;
const WAITING_WRITES_MAX = 256;
/** Longest wait of a write for its turn, in milliseconds. */
const WRITE_WAIT_MS = 30_000;

const CONNECT_MS = 5_000;
/** Milliseconds without a byte after which a request has failed. */
const STALL_MS = 30_000;
/** Connections to the bucket. Requests are limited before they get here. */
const SOCKETS_MAX = 1_024;

export interface S3StorageOptions {
  /** Largest object, in bytes. */
  limitBytes: number;
  /** Milliseconds without a byte after which a request has failed. Default: 30 seconds. */
  stallMs?: number;
}

/** The parameters that an upload and an object have in common. */
interface Target {
  Bucket: string;
  Key: string;
}

/**
 * Stores objects in a bucket of S3 or a compatible service. The credentials come from the SDK's default chain.
 *
 * A write uploads its parts one after the other. Small objects take one request. The signature covers the SHA-256 of each
 * part. On AWS, parts also have a CRC-32. Other services get none, because many reject it, unless `STORAGE_URL` demands it.
 */
export class S3Storage extends ObjectStorage {
  readonly name: string;
  readonly isMounted = false;
  private readonly partBytes: number;
  private readonly stallMs: number;
  private readonly writing: S3Client;
  private readonly reading: S3Client;
  private readonly writes = new FairLimiter({
    concurrency: WRITES,
    share: WRITES_SHARE,
    maxWaiting: WAITING_WRITES_MAX,
    maxWaitMs: WRITE_WAIT_MS,
  });

  constructor(
    private readonly location: S3Location,
    { limitBytes, stallMs = STALL_MS }: S3StorageOptions,
  ) {
    super();
    this.name = `bucket ${location.bucket}${location.prefix && ` with the prefix ${location.prefix}`}`;
    this.partBytes = Math.max(PART_BYTES_MIN, Math.ceil(limitBytes / PARTS_MAX));
    this.stallMs = stallMs;
    const { region, endpoint, isPathStyle, hasChecksums } = location;
    const checksums = hasChecksums ? 'WHEN_SUPPORTED' : 'WHEN_REQUIRED';
    const base = {
      forcePathStyle: isPathStyle,
      ...(region !== undefined && { region }),
      ...(endpoint !== undefined && { endpoint }),
      ...(hasChecksums !== undefined && {
        requestChecksumCalculation: checksums,
        responseChecksumValidation: checksums,
      }),
    } satisfies S3ClientConfig;
    const connections = {
      connectionTimeout: Math.min(CONNECT_MS, stallMs),
      httpAgent: { maxSockets: SOCKETS_MAX },
      httpsAgent: { maxSockets: SOCKETS_MAX },
    };
    this.writing = new S3Client({ ...base, requestHandler: { ...connections, socketTimeout: stallMs } });
    // A response is read only as fast as the client of the service reads it, so an idle socket does not mean a failure.
    this.reading = new S3Client({
      ...base,
      requestHandler: { ...connections, requestTimeout: stallMs, throwOnRequestTimeout: true },
    });
  }

  async write(key: string, bytes: AsyncIterable<Buffer>): Promise<void> {
    const [org] = key.split('/');
    try {
      await this.writes.run(org!, undefined, () => this.upload(this.targetOf(key), bytes));
    } catch (error) {
      if (!(error instanceof WaitTimeout)) throw error;
      throw problem.overloaded('Too many uploads are running. Try again later.');
    }
  }

  async *read(key: string, size: number, range: ByteRange = { start: 0, end: size - 1 }) {
    const { start, end } = range;
    const isWhole = start === 0 && end === size - 1;
    const command = new GetObjectCommand({
      ...this.targetOf(key),
      ...(!isWhole && { Range: `bytes=${start}-${end}` }),
    });
    const { Body, ContentLength } = await this.reading.send(command).catch((error: unknown) => {
      throw error instanceof NoSuchKey
        ? bytesLost(`The object ${key} is missing.`)
        : storageUnavailable(error);
    });
    const body = Body as Readable;
    try {
      let left = end + 1 - start;
      if (ContentLength !== left) throw bytesLost(`The object ${key} has another size.`);
      for (const chunks = body[Symbol.asyncIterator]() as AsyncIterator<Buffer>; ;) {
        const next = await translateErrors(() =>
          withDeadline(chunks.next(), this.stallMs, 'The bucket stopped sending data.'),
        );
        if (next.done) break;
        left -= next.value.length;
        yield* slices(next.value);
      }
      if (left !== 0) throw storageUnavailable(new Error(`The object ${key} ends too early.`));
    } finally {
      body.destroy();
    }
  }

  async delete(key: string): Promise<void> {
    const target = this.targetOf(key);
    await translateErrors(async () => {
      // first the uploads, so that none of them completes after its object was deleted
      for await (const { UploadId } of this.uploadsOf(target)) await this.abort({ ...target, UploadId });
      await this.writing.send(new DeleteObjectCommand(target));
    });
  }

  sizeOf(key: string): Promise<number | null> {
    return translateErrors(async () => {
      try {
        const { ContentLength } = await this.reading.send(new HeadObjectCommand(this.targetOf(key)));
        return ContentLength ?? null;
      } catch (error) {
        if (error instanceof NotFound) return null;
        throw error;
      }
    });
  }

  async *list(): AsyncGenerator<StoredObject[], void, undefined> {
    const { bucket: Bucket, prefix: Prefix } = this.location;
    let ContinuationToken: string | undefined;
    do {
      const command = new ListObjectsV2Command({ Bucket, Prefix, ContinuationToken });
      const page = await translateErrors(() => this.reading.send(command));
      yield (page.Contents ?? [])
        .map(({ Key, Size, LastModified }) => ({
          key: Key!.slice(Prefix.length),
          size: Size!,
          modifiedAt: LastModified!,
        }))
        .filter(({ key }) => LISTED_KEY.test(key));
      ContinuationToken = page.IsTruncated ? page.NextContinuationToken : undefined;
    } while (ContinuationToken !== undefined);
  }

  readMarker(): Promise<string | null> {
    return translateErrors(async () => {
      const command = new GetObjectCommand({
        ...this.targetOf(MARKER),
        Range: `bytes=0-${MARKER_BYTES_MAX - 1}`,
      });
      try {
        const { Body } = await this.reading.send(command);
        return await withDeadline(
          Body!.transformToString(),
          this.stallMs,
          'The bucket stopped sending its marker.',
        );
      } catch (error) {
        if (error instanceof NoSuchKey) return null;
        throw error;
      }
    });
  }

  async writeMarker(content: string): Promise<void> {
    const command = new PutObjectCommand({ ...this.targetOf(MARKER), Body: content });
    await translateErrors(() => this.writing.send(command));
  }

  override close(): void {
    this.writing.destroy();
    this.reading.destroy();
  }

  private targetOf(key: string): Target {
    return { Bucket: this.location.bucket, Key: this.location.prefix + key };
  }

  private async upload(target: Target, bytes: AsyncIterable<Buffer>): Promise<void> {
    let sourceFailure: { error: unknown } | undefined;
    const source = async function* (): AsyncGenerator<Buffer, void, undefined> {
      try {
        yield* bytes;
      } catch (error) {
        sourceFailure = { error };
        throw error;
      }
    };
    const Body = Readable.from(blocksOf(source()), { highWaterMark: 1 });
    const params = { ...target, Body };
    try {
      // aborts the upload if it fails; if that fails too, `delete` does
      await new Upload({ client: this.writing, params, queueSize: 1, partSize: this.partBytes }).done();
    } catch (error) {
      throw sourceFailure ? sourceFailure.error : storageUnavailable(error);
    }
  }

  private async *uploadsOf({ Bucket, Key }: Target): AsyncGenerator<MultipartUpload, void, undefined> {
    let after: { KeyMarker?: string | undefined; UploadIdMarker?: string | undefined } = {};
    for (;;) {
      const page = await this.writing.send(
        new ListMultipartUploadsCommand({ Bucket, Prefix: Key, ...after }),
      );
      yield* (page.Uploads ?? []).filter((upload) => upload.Key === Key);
      if (!page.IsTruncated) return;
      after = { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker };
    }
  }

  private async abort(upload: Target & { UploadId: string | undefined }): Promise<void> {
    try {
      await this.writing.send(new AbortMultipartUploadCommand(upload));
    } catch (error) {
      if (!(error instanceof NoSuchUpload)) throw error;
    }
  }
}

/** Copies chunks into blocks, because a source may use its buffer again, or yield single bytes. */
async function* blocksOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  let block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  let filled = 0;
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length;) {
      const copied = chunk.copy(block, filled, at);
      at += copied;
      filled += copied;
      if (filled < block.length) continue;
      yield block;
      block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
      filled = 0;
    }
  }
  yield block.subarray(0, filled);
}

function* slices(chunk: Buffer): Generator<Buffer, void, undefined> {
  for (let at = 0; at < chunk.length; at += READ_BYTES) yield chunk.subarray(at, at + READ_BYTES);
}
