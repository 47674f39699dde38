import { sharedApp, describeWithS3, WorkerProcess } from '#testing';

// each test starts a new process
jest.setTimeout(120_000);

describe('a worker', () => {
  const app = sharedApp();

  it('does not start with an invalid STORAGE_URL, and names the variable', async () => {
    const start = WorkerProcess.start(app, { STORAGE_URL: 's3://a?acl=public' });
    await expect(start).rejects.toThrow(/ended with 1: .*STORAGE_URL: must name a bucket/s);
  });

  it('starts without its storage, because everything else works', async () => {
    const worker = await WorkerProcess.start(app, { STORAGE_URL: 'file:///dev/null/files' });
    expect(await worker.stop()).toBe(0);
  });

  describeWithS3('with a bucket', (createBucket) => {
    it('starts, and stops without waiting for connections', async () => {
      const bucket = await createBucket();
      const worker = await WorkerProcess.start(app, { STORAGE_URL: bucket.url() });
      expect(await worker.stop()).toBe(0);
      bucket.client.destroy();
    });
  });
});
