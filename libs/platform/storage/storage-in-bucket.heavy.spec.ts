import { describeWithS3 } from '#testing';
import { testStorage } from './storage-tests.fixture';
import { inBucket } from './storages.fixture';

describeWithS3('a storage, in a bucket', (createBucket) =>
  testStorage(async () => inBucket(await createBucket())),
);
