import type { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  type CompletedPart,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  ListMultipartUploadsCommand,
  type MultipartUpload,
  NoSuchUpload,
  PutObjectCommand,
  S3Client,
  type S3ClientConfig,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { FairLimiter, withDeadline } from '#platform/concurrency';
import { type ByteRange, ObjectStorage, READ_BYTES, storageUnavailable } from './object-storage';
import type { S3Location } from './s3-location';

/** Minimum size of a part of a multipart upload, in bytes. */
const PART_BYTES_MIN = 5 * 1024 ** 2;
/** Maximum number of parts of an upload. */
const PARTS_MAX = 10_000;

/** Concurrent writes. Each takes the memory of one part. */
const WRITES = 32;
/** Concurrent writes of one organization. */
const WRITES_SHARE = 8;
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

/** The parameters that an upload, a part and an object have in common. */
interface Target {
  Bucket: string;
  Key: string;
}

/**
 * Stores objects in a bucket of S3 or a compatible service. The credentials come from the SDK's default chain.
 *
 * A write holds one part in memory and uploads parts one after the other. Small objects take one request. The service
 * checks each part by its checksum (CRC-32).
 */
export class S3Storage extends ObjectStorage {
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
    this.partBytes = Math.max(PART_BYTES_MIN, Math.ceil(limitBytes / PARTS_MAX));
    this.stallMs = stallMs;
    const { region, endpoint, isPathStyle } = location;
    const base = {
      forcePathStyle: isPathStyle,
      ...(region !== undefined && { region }),
      ...(endpoint !== undefined && { endpoint }),
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
    let hasStarted = false;
    try {
      await this.writes.run(key.split('/')[0]!, undefined, () => {
        hasStarted = true;
        return this.upload(this.targetOf(key), bytes);
      });
    } catch (error) {
      throw hasStarted ? error : storageUnavailable(error);
    }
  }

  async *read(key: string, size: number, range: ByteRange = { start: 0, end: size - 1 }) {
    const { start, end } = range;
    const isWhole = start === 0 && end === size - 1;
    const command = new GetObjectCommand({
      ...this.targetOf(key),
      ...(!isWhole && { Range: `bytes=${start}-${end}` }),
    });
    const { Body, ContentLength } = await translateErrors(() => this.reading.send(command));
    const body = Body as Readable;
    try {
      let left = end + 1 - start;
      if (ContentLength !== left) throw storageUnavailable(new Error(`The object ${key} has another size.`));
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

  async check(): Promise<void> {
    await translateErrors(() => this.reading.send(new HeadBucketCommand({ Bucket: this.location.bucket })));
  }

  override close(): void {
    this.writing.destroy();
    this.reading.destroy();
  }

  private targetOf(key: string): Target {
    return { Bucket: this.location.bucket, Key: this.location.prefix + key };
  }

  /** Copies the chunks, because a source may use its buffer again. */
  private async upload(target: Target, bytes: AsyncIterable<Buffer>): Promise<void> {
    const part = Buffer.allocUnsafeSlow(this.partBytes);
    let filled = 0;
    let upload: PartedUpload | undefined;
    try {
      for await (const chunk of bytes) {
        for (let at = 0; at < chunk.length;) {
          if (filled === part.length) {
            upload ??= await translateErrors(() => PartedUpload.begin(this.writing, target));
            await translateErrors(() => upload!.add(part));
            filled = 0;
          }
          const copied = chunk.copy(part, filled, at);
          at += copied;
          filled += copied;
        }
      }
      const last = part.subarray(0, filled);
      await translateErrors(async () => {
        if (!upload) return this.writing.send(new PutObjectCommand({ ...target, Body: last }));
        await upload.add(last);
        return upload.complete();
      });
    } catch (error) {
      // If this fails too, `delete` aborts the upload.
      if (upload) await this.abort(upload.target).catch(() => undefined);
      throw error;
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

/** A multipart upload. */
class PartedUpload {
  private readonly parts: CompletedPart[] = [];

  private constructor(
    private readonly client: S3Client,
    readonly target: Target & { UploadId: string | undefined },
  ) {}

  static async begin(client: S3Client, target: Target): Promise<PartedUpload> {
    // Operators can turn checksums off with AWS_REQUEST_CHECKSUM_CALCULATION, for services that reject them.
    const hasChecksums = (await client.config.requestChecksumCalculation()) === 'WHEN_SUPPORTED';
    const { UploadId } = await client.send(
      new CreateMultipartUploadCommand({ ...target, ...(hasChecksums && { ChecksumAlgorithm: 'CRC32' }) }),
    );
    return new PartedUpload(client, { ...target, UploadId });
  }

  async add(body: Buffer): Promise<void> {
    const PartNumber = this.parts.length + 1;
    const { ETag, ChecksumCRC32 } = await this.client.send(
      new UploadPartCommand({ ...this.target, PartNumber, Body: body }),
    );
    this.parts.push({ PartNumber, ETag, ...(ChecksumCRC32 !== undefined && { ChecksumCRC32 }) });
  }

  async complete(): Promise<void> {
    await this.client.send(
      new CompleteMultipartUploadCommand({ ...this.target, MultipartUpload: { Parts: this.parts } }),
    );
  }
}

function* slices(chunk: Buffer): Generator<Buffer, void, undefined> {
  for (let at = 0; at < chunk.length; at += READ_BYTES) yield chunk.subarray(at, at + READ_BYTES);
}

async function translateErrors<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw storageUnavailable(error);
  }
}
