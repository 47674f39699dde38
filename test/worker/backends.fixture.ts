import { randomBytes } from 'node:crypto';
import { describeWithRedis } from '#testing';

/**
 * Runs a suite with the queue in PostgreSQL and in Redis.
 *
 * @param isRedisHeavy runs it with Redis only in `npm run test:heavy`; for suites that depend little on the queue
 */
export function describeOnBothQueues(
  name: string,
  suite: (env: Record<string, string>) => void,
  { isRedisHeavy = false } = {},
): void {
  describe(`${name}, with the queue in PostgreSQL`, () => suite({}));
  if (isRedisHeavy && process.env.TEST_HEAVY !== '1') return;
  describeWithRedis(`${name}, with the queue in Redis`, (url) =>
    suite({ REDIS_URL: url, REDIS_PREFIX: `{test-${randomBytes(6).toString('hex')}}` }),
  );
}
