export { type BlobContent, BlobStore, type WrittenBlob } from './blob-store';
export { type ByteRange, ObjectStorage, READ_BYTES, storageUnavailable } from './object-storage';
export { StorageModule, storageOf } from './storage.module';
export { StorageQuota } from './storage-quota';
