export { type BlobContent, BlobStore, type WrittenBlob } from './blob-store';
export { type ByteRange, ObjectStorage, READ_BYTES, storageUnavailable } from './object-storage';
export { StorageMark } from './storage-mark';
export { StorageMarkRepository } from './storage-mark.repository';
export { StorageModule, storageOf } from './storage.module';
export { StorageQuota } from './storage-quota';
export { StorageVerificationRepository } from './storage-verification.repository';
export { StorageVerifier, type VerifyOptions } from './storage-verifier';
