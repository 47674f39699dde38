import { randomBytes } from 'node:crypto';
import { describeWithRedis } from '#testing';

/** Runs a suite with the queue in PostgreSQL and in Redis. */
export function describeOnBothQueues(name: string, suite: (env: Record<string, string>) => void): void {
  describe(`${name}, with the queue in PostgreSQL`, () => suite({}));
  describeWithRedis(`${name}, with the queue in Redis`, (url) =>
    suite({ REDIS_URL: url, REDIS_PREFIX: `{test-${randomBytes(6).toString('hex')}}` }),
  );
}
