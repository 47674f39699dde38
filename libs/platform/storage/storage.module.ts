import { fileURLToPath } from 'node:url';
import path from 'node:path';
import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { Environment } from '#platform/config';
import { BlobRepository } from './blob.repository';
import { BlobStore } from './blob-store';
import { DirectoryStorage } from './directory-storage';
import { ObjectStorage } from './object-storage';

/** Returns the storage that the environment names. Throws for an invalid URL. */
export function storageOf({ STORAGE_URL: url, DATA_DIR }: Environment): ObjectStorage {
  if (url === undefined) return new DirectoryStorage(path.resolve(DATA_DIR, 'storage'));
  if (url.startsWith('file:')) return new DirectoryStorage(fileURLToPath(url));
  throw new Error('STORAGE_URL: s3:// is not supported.');
}

/** The storage of files and packages. */
@Module({
  providers: [
    { provide: ObjectStorage, inject: [Environment], useFactory: storageOf },
    BlobRepository,
    BlobStore,
  ],
  exports: [BlobStore, ObjectStorage],
})
export class StorageModule implements OnApplicationShutdown {
  constructor(private readonly storage: ObjectStorage) {}

  onApplicationShutdown(): void {
    this.storage.close();
  }
}
