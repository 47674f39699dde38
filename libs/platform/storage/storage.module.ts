import { fileURLToPath } from 'node:url';
import path from 'node:path';
import { Inject, Module, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Environment } from '#platform/config';
import { MetricsModule } from '#platform/metrics';
import { StartError } from '#platform/process';
import { BlobRepository } from './blob.repository';
import { BlobStore } from './blob-store';
import { DirectoryStorage } from './directory-storage';
import { MarkedStorage } from './marked-storage';
import { ObjectStorage } from './object-storage';
import { parseS3Url } from './s3-location';
import { StorageErrors } from './storage-errors';
import { StorageMark } from './storage-mark';
import { StorageMarkRepository } from './storage-mark.repository';
import { StorageQuota, StorageUsageRepository } from './storage-quota';

/** Returns the storage that the environment configures. Throws a StartError that names `STORAGE_URL` if the URL is invalid. */
export async function storageOf(environment: Environment): Promise<ObjectStorage> {
  const { STORAGE_URL: url, DATA_DIR, FILE_LIMIT_BYTES: limitBytes } = environment;
  if (url === undefined) return new DirectoryStorage(path.resolve(DATA_DIR, 'storage'));
  if (url.startsWith('file:')) return new DirectoryStorage(read(url, fileURLToPath));
  const location = read(url, parseS3Url);
  // The SDK takes 20 MB and 55 ms, which a directory does not need.
  const { S3Storage } = await import('./s3-storage.js');
  return new S3Storage(location, { limitBytes });
}

function read<Location>(url: string, parse: (url: string) => Location): Location {
  try {
    return parse(url);
  } catch (error) {
    throw new StartError(`STORAGE_URL: ${(error as Error).message}.`, { cause: error });
  }
}

/** The share of the disk that one organization may use if `FILE_QUOTA_BYTES` is not set. */
const DISK_SHARE = 1 / 2;

/** Null for a bucket, which has no size. */
async function defaultQuota(storage: ObjectStorage): Promise<number | null> {
  const bytes = await storage.diskBytes();
  return bytes === null ? null : Math.floor(bytes * DISK_SHARE);
}

/** Provides the storage of files and packages. The process does not start with a storage of another installation. */
@Module({
  imports: [MetricsModule],
  providers: [
    StorageErrors,
    StorageMark,
    StorageMarkRepository,
    {
      provide: ObjectStorage,
      inject: [Environment, StorageMark, StorageErrors],
      useFactory: async (environment: Environment, mark: StorageMark, errors: StorageErrors) =>
        new MarkedStorage(await storageOf(environment), mark, errors),
    },
    BlobRepository,
    BlobStore,
    StorageUsageRepository,
    {
      provide: StorageQuota,
      inject: [StorageUsageRepository, ObjectStorage, Environment],
      useFactory: async (usage: StorageUsageRepository, storage: ObjectStorage, environment: Environment) =>
        new StorageQuota(usage, environment.FILE_QUOTA_BYTES ?? (await defaultQuota(storage))),
    },
  ],
  exports: [BlobStore, ObjectStorage, StorageQuota],
})
export class StorageModule implements OnModuleInit, OnApplicationShutdown {
  constructor(@Inject(ObjectStorage) private readonly storage: MarkedStorage) {}

  onModuleInit(): Promise<void> {
    return this.storage.start();
  }

  onApplicationShutdown(): void {
    this.storage.close();
  }
}
