import { Redis } from 'ioredis';
import { describeWithRedis, findRedis } from './redis';

describeWithRedis('Redis of the test run', (url) => {
  it('responds', async () => {
    const client = new Redis(url);
    await expect(client.ping()).resolves.toBe('PONG');
    client.disconnect();
  });

  it('is independent of the server that a test stops', async () => {
    const own = await findRedis();
    await own?.stop();
    const client = new Redis(own?.url ?? '', {
      lazyConnect: true,
      retryStrategy: () => null,
      disconnectTimeout: 100,
    });
    client.on('error', () => undefined);
    if (own && own.url !== process.env.TEST_REDIS_URL) await expect(client.connect()).rejects.toThrow();
    client.disconnect();
  });
});

describe('TEST_REDIS_URL', () => {
  const url = process.env.TEST_REDIS_URL;
  afterEach(() => {
    if (url === undefined) delete process.env.TEST_REDIS_URL;
    else process.env.TEST_REDIS_URL = url;
  });

  it('is ignored if no server responds there', async () => {
    process.env.TEST_REDIS_URL = 'redis://127.0.0.1:1';
    const redis = await findRedis();
    expect(redis?.url).not.toBe('redis://127.0.0.1:1');
    await redis?.stop();
  });
});
