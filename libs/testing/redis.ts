import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import { pause } from '#platform/concurrency';
import { freePort, type HeldProcess, holdProcess } from '#platform/embedded-postgres';

/** Variable with which the setup of the run passes the URL to the workers. */
const URL_VARIABLE = 'TEST_RUN_REDIS_URL';

const ATTEMPTS = 5;

/** A Redis server for tests. */
export interface TestRedis {
  readonly url: string;
  /** Ends the server if it was started for the tests. */
  stop(): Promise<void>;
}

/**
 * Returns the Redis of `TEST_REDIS_URL` if it responds, else starts a `redis-server` from the PATH on a free port, without
 * persistence. That server ends with `stop()` or with this process. Returns null if there is neither.
 */
export async function findRedis(): Promise<TestRedis | null> {
  const url = process.env.TEST_REDIS_URL;
  if (url) {
    if (await isReachable(url)) return { url, stop: () => Promise.resolve() };
    process.stderr.write('TEST_REDIS_URL is set, but no Redis responds there.\n');
  }
  if (spawnSync('redis-server', ['--version']).status !== 0) return null;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const redis = await startRedis({ port: await freePort(), password: newPassword() });
    if (redis) return redis; // else another process has taken the port
  }
  throw new Error('redis-server is installed, but does not start.');
}

/** Finds a Redis for the whole run and passes it to the workers. Call it once, before they start. */
export async function provideRedis(): Promise<TestRedis | null> {
  const redis = await findRedis();
  if (redis) process.env[URL_VARIABLE] = redis.url;
  else
    warn('no redis-server on the PATH and no TEST_REDIS_URL: tests that need Redis are SKIPPED in this run.');
  return redis;
}

/**
 * Like `describe`, for tests that need Redis. `fn` receives its URL. All test files share that server, so keys need a
 * random prefix. Without Redis, a single test replaces them, and its title says that nothing was tested.
 */
export function describeWithRedis(name: string, fn: (url: string) => void): void {
  const url = process.env[URL_VARIABLE];
  describe(name, () => {
    if (url) {
      fn(url);
      return;
    }
    warn(`"${name}" was NOT tested.`);
    it('was NOT tested: there is no Redis (install redis-server, or set TEST_REDIS_URL)', () => {
      expect(url).toBeUndefined();
    });
  });
}

function warn(text: string): void {
  process.stderr.write(`\nWARNING (Redis): ${text}\n`);
}

/** A Redis server for one test. A restart loses its data. */
export interface OwnRedis extends TestRedis {
  /** Ends the server, and starts an empty one at the same address. */
  restart(): Promise<void>;
}

/** Starts a `redis-server` from the PATH for one test; undefined if it is not installed. */
export async function ownRedis(): Promise<OwnRedis | undefined> {
  if (spawnSync('redis-server', ['--version']).status !== 0) return undefined;
  const address = { port: await freePort(), password: newPassword() };
  let server = await startRedis(address);
  if (!server) throw new Error('redis-server is installed, but does not start.');
  return {
    url: server.url,
    stop: () => server!.stop(),
    restart: async () => {
      await server!.stop();
      const next = await startRedis(address);
      if (!next) throw new Error('redis-server does not start again.');
      server = next;
    },
  };
}

/** A password, so that another server on the port cannot be mistaken for this one. */
const newPassword = (): string => randomBytes(16).toString('hex');

async function startRedis({
  port,
  password,
}: {
  port: number;
  password: string;
}): Promise<TestRedis | undefined> {
  const directory = mkdtempSync(path.join(os.tmpdir(), 'registry-test-redis-'));
  const output = openSync(path.join(directory, 'redis.log'), 'w');
  const server = holdProcess(
    'redis-server',
    [
      ...['--bind', '127.0.0.1', '--port', String(port), '--requirepass', password],
      ...['--dir', directory, '--save', '', '--appendonly', 'no'],
    ],
    { env: { PATH: process.env.PATH }, output, removeAfterwards: directory },
  );
  closeSync(output);
  const url = `redis://:${password}@127.0.0.1:${port}`;
  if (await waitUntilReady(server, url)) return { url, stop: () => server.stop() };
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
  return undefined;
}

async function waitUntilReady(server: HeldProcess, url: string): Promise<boolean> {
  const deadline = Date.now() + 10_000;
  while (!server.hasEnded && Date.now() < deadline) {
    if (await isReachable(url)) return true;
    await pause(20);
  }
  return false;
}

async function isReachable(url: string): Promise<boolean> {
  const client = new Redis(url, {
    lazyConnect: true,
    retryStrategy: () => null,
    connectTimeout: 2_000,
    disconnectTimeout: 100, // ioredis keeps a timer of that length after a refused connection
  });
  client.on('error', () => undefined); // `connect` and `ping` reject too
  try {
    await client.connect();
    return (await client.ping()) === 'PONG';
  } catch {
    return false;
  } finally {
    client.disconnect();
  }
}
