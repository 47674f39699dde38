import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { ApiProcess, describeWithS3, sharedApp, WorkerProcess } from '#testing';

// each test starts a new process
jest.setTimeout(120_000);

const NO_MARKER =
  /ended with 1: .*lacks the marker of this installation \(\.agent-registry\.json\); check that its volume is mounted and that STORAGE_URL is right, or run \\"agent-registry-service verify-storage --mark\\" if you moved the storage\./s;

describe('a process', () => {
  const app = sharedApp();

  /** Starts a process, and stops it again. Throws if it does not start. */
  const startAndStop = async (
    Process: typeof WorkerProcess | typeof ApiProcess,
    env: Record<string, string>,
  ) => (await Process.start(app, env)).stop();

  it('does not start with an invalid STORAGE_URL, and names the variable', async () => {
    await expect(startAndStop(WorkerProcess, { STORAGE_URL: 's3://a?acl=public' })).rejects.toThrow(
      /ended with 1: .*STORAGE_URL: must name a bucket/s,
    );
  });

  it('starts without its storage, because everything else works', async () => {
    expect(await startAndStop(WorkerProcess, { STORAGE_URL: 'file:///dev/null/files' })).toBe(0);
  });

  it.each([
    ['worker', WorkerProcess],
    ['API', ApiProcess],
  ])('does not start with an empty directory instead of its storage: %s', async (_, Process) => {
    const empty = await mkdtemp(path.join(os.tmpdir(), 'storage-empty-'));
    await expect(startAndStop(Process, { STORAGE_URL: pathToFileURL(empty).href })).rejects.toThrow(
      NO_MARKER,
    );
    await rm(empty, { recursive: true });
  });

  describeWithS3('with a bucket', (createBucket) => {
    it('starts once the bucket has its marker, and stops without waiting for connections', async () => {
      const bucket = await createBucket();
      const { AWS_ACCESS_KEY_ID = '', AWS_SECRET_ACCESS_KEY = '' } = process.env;
      const env = { STORAGE_URL: bucket.url(), AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY };
      await expect(startAndStop(WorkerProcess, env)).rejects.toThrow(NO_MARKER);
      const marker = await readFile(
        path.join(fileURLToPath(app.env.STORAGE_URL!), 'objects/.agent-registry.json'),
      );
      await bucket.client.send(
        new PutObjectCommand({ Bucket: bucket.name, Key: '.agent-registry.json', Body: marker }),
      );
      expect(await startAndStop(WorkerProcess, env)).toBe(0);
      bucket.client.destroy();
    });
  });
});
