import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { S3Client } from '@aws-sdk/client-s3';
import { pause } from '#platform/concurrency';
import { holdProcess } from '#platform/embedded-postgres';

/** Variable with which the setup of the run passes the endpoint to the workers. */
const ENDPOINT_VARIABLE = 'TEST_RUN_S3_ENDPOINT';

/** Debian's Python, because the Python on the PATH may be another one that lacks Debian's packages. */
const PYTHON = '/usr/bin/python3';
const SCRIPT = path.resolve('libs/testing/test-bucket.py');
const START_MS = 30_000;

/** An S3 service for tests. */
export interface TestS3 {
  readonly endpoint: string;
  stop(): Promise<void>;
}

/** The bucket of one test file. */
export interface TestBucket {
  readonly name: string;
  /** A client, to look at the bucket from outside. */
  readonly client: S3Client;
  readonly endpoint: string;
  /** The `STORAGE_URL` of the bucket, or of a part of it. */
  url(endpoint?: string, prefix?: string): string;
}

/**
 * Starts an S3 service for the whole run (OpenStack Swift from Debian's `python3-swift`, with objects in memory), and passes
 * its endpoint and credentials to the workers. Returns null if it is not installed. Call it once, before the workers start.
 */
export async function provideS3(): Promise<TestS3 | null> {
  if (spawnSync(PYTHON, ['-I', '-c', 'import swift.obj']).status !== 0) {
    warn('OpenStack Swift is not installed: tests that need a bucket are SKIPPED in this run.');
    return null;
  }
  const [accessKey, secretKey] = ['test:tester', randomBytes(16).toString('hex')];
  const directory = mkdtempSync(path.join(os.tmpdir(), 'registry-test-s3-'));
  const data = path.join(directory, 'data');
  mkdirSync(data);
  const log = path.join(directory, 'output.log');
  const output = openSync(log, 'w');
  const server = holdProcess(PYTHON, ['-I', SCRIPT, data, accessKey, secretKey], {
    env: { PATH: process.env.PATH },
    output,
    removeAfterwards: directory,
  });
  closeSync(output);
  const deadline = Date.now() + START_MS;
  for (;;) {
    const port = /^(\d+)$/m.exec(readFileSync(log, 'utf8'))?.[1];
    if (port !== undefined) {
      const endpoint = `http://127.0.0.1:${port}`;
      process.env[ENDPOINT_VARIABLE] = endpoint;
      process.env.AWS_ACCESS_KEY_ID = accessKey;
      process.env.AWS_SECRET_ACCESS_KEY = secretKey;
      return { endpoint, stop: () => server.stop() };
    }
    if (server.hasEnded || Date.now() > deadline) {
      const text = readFileSync(log, 'utf8');
      await server.stop();
      throw new Error(`Swift is installed, but does not start. ${server.failure?.message ?? text}`);
    }
    await pause(20);
  }
}

/**
 * Like `describe`, for tests that need a bucket. All test files share the service, so each creates a bucket. Without the
 * service, a single test replaces them, and its title says that nothing was tested.
 */
export function describeWithS3(name: string, fn: (create: () => Promise<TestBucket>) => void): void {
  const endpoint = process.env[ENDPOINT_VARIABLE];
  describe(name, () => {
    if (endpoint !== undefined) {
      fn(() => createBucket(endpoint));
      return;
    }
    warn(`"${name}" was NOT tested.`);
    it('was NOT tested: there is no Swift (install python3-swift)', () => {
      expect(endpoint).toBeUndefined();
    });
  });
}

async function createBucket(endpoint: string): Promise<TestBucket> {
  const name = `test-${randomBytes(6).toString('hex')}`;
  // loaded here, because most test files do not need it
  const { CreateBucketCommand, S3Client } = await import('@aws-sdk/client-s3');
  const client = new S3Client({ region: 'us-east-1', endpoint, forcePathStyle: true });
  await client.send(new CreateBucketCommand({ Bucket: name }));
  return {
    name,
    client,
    endpoint,
    url: (through = endpoint, prefix = '') =>
      `s3://${name}/${prefix}?region=us-east-1&endpoint=${through}&path_style=true`,
  };
}

function warn(text: string): void {
  process.stderr.write(`\nWARNING (S3): ${text}\n`);
}
