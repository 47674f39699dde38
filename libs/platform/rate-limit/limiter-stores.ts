import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { Pool, type QueryConfig, type QueryResult } from 'pg';
import {
  type RateLimiterAbstract,
  RateLimiterMemory,
  RateLimiterPostgres,
  RateLimiterRedis,
} from 'rate-limiter-flexible';
import type { Environment } from '#platform/config';
import { WatchedClient } from '#platform/db';
import { rootLogger } from '#platform/logging';

/** Length of a window. */
export const WINDOW_SECONDS = 60;

/** Longest wait for the connection when a process starts. */
const CONNECT_TIMEOUT_MS = 2_000;

/** Maximum keys that one limit counts in process memory, about 30 MB. The least recently used keys are dropped. */
const MAX_KEYS = 50_000;

/** Connections to PostgreSQL. Few, so that requests without a credential cannot occupy the database. */
const CONNECTIONS = 2;

/**
 * Requests of one limit that wait for PostgreSQL at a time. Further ones are counted in process memory, so that a flood
 * of 401s from many addresses does not delay the counters of other limits.
 */
const MAX_IN_FLIGHT = 100;

/** Table of the counters in PostgreSQL. */
const TABLE = 'rate_limits';

/** Creates limiters that count in one place. */
@Injectable()
export abstract class LimiterStore {
  /** Creates a limiter that admits `perMinute` requests for each key in a window. */
  abstract createLimiter(name: string, perMinute: number): RateLimiterAbstract;
}

/** Counts in the memory of the process. */
export class MemoryStore extends LimiterStore {
  createLimiter(name: string, perMinute: number): RateLimiterAbstract {
    return new BoundedMemoryLimiter({ keyPrefix: name, points: perMinute, duration: WINDOW_SECONDS });
  }
}

/** Keeps at most `MAX_KEYS` keys, because the library has no limit. */
class BoundedMemoryLimiter extends RateLimiterMemory {
  /** Created with the first request, because it takes a megabyte, and a limiter that replaces a failed store may get no request. */
  private keys: LRUCache<string, true> | undefined;

  override consume(key: string, ...rest: [points?: number, options?: Record<string, unknown>]) {
    this.keys ??= new LRUCache({
      max: MAX_KEYS,
      dispose: (_, evicted, reason) => {
        if (reason === 'evict') void this.delete(evicted);
      },
    });
    this.keys.set(key, true);
    return super.consume(key, ...rest);
  }
}

/**
 * Options of every limiter with shared counters. Once a key is at its limit, its requests are rejected without asking the
 * store until the window ends. If the store does not respond, the process uses its own counters, so an outage rejects no request.
 */
const sharedOptions = (name: string, perMinute: number) => ({
  points: perMinute,
  duration: WINDOW_SECONDS,
  inMemoryBlockOnConsumed: perMinute,
  insuranceLimiter: new MemoryStore().createLimiter(name, perMinute),
});

/** Logs when a store fails for the first time, and when it responds again. */
class OutageLog {
  private isFailing = false;

  constructor(private readonly store: string) {}

  recordFailure(err: unknown): void {
    if (!this.isFailing) {
      rootLogger.warn({ err }, `${this.store} does not respond; counting rate limits in process memory`);
    }
    this.isFailing = true;
  }

  recordSuccess(): void {
    if (this.isFailing) rootLogger.info(`${this.store} responds again; rate limits are shared`);
    this.isFailing = false;
  }
}

/** Counts in Redis. */
export class RedisStore extends LimiterStore implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly log = new OutageLog('Redis');
  private readonly client: Redis;

  constructor(
    url: string,
    private readonly prefix: string,
    timeoutMs: number,
  ) {
    super();
    this.client = new Redis(url, {
      lazyConnect: true,
      connectTimeout: CONNECT_TIMEOUT_MS,
      commandTimeout: timeoutMs,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
    });
    this.client.on('error', (error) => this.log.recordFailure(error));
    this.client.on('ready', () => this.log.recordSuccess());
  }

  createLimiter(name: string, perMinute: number): RateLimiterAbstract {
    return new RateLimiterRedis({
      ...sharedOptions(name, perMinute),
      keyPrefix: `${this.prefix}:rate-limit:${name}`,
      storeClient: this.client,
      rejectIfRedisNotReady: true,
    });
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.client.connect().catch((error: unknown) => this.log.recordFailure(error));
  }

  onApplicationShutdown(): void {
    this.client.disconnect();
  }
}

/** Counts in an unlogged table of PostgreSQL, on separate connections. */
export class PostgresStore extends LimiterStore implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly log = new OutageLog('PostgreSQL');
  private readonly pool: Pool;

  constructor(url: string, timeoutMs: number) {
    super();
    this.pool = new Pool({
      connectionString: url,
      application_name: 'agent-registry-service rate limits',
      Client: WatchedClient,
      max: CONNECTIONS,
      connectionTimeoutMillis: timeoutMs,
      query_timeout: timeoutMs,
      statement_timeout: timeoutMs,
      idleTimeoutMillis: 0,
      keepAlive: true,
    });
    this.pool.on('error', (error) => this.log.recordFailure(error));
  }

  createLimiter(name: string, perMinute: number): RateLimiterAbstract {
    return new RateLimiterPostgres({
      ...sharedOptions(name, perMinute),
      keyPrefix: name,
      storeClient: { query: this.boundedQuery() },
      storeType: 'client',
      tableName: TABLE,
      tableCreated: true,
      clearExpiredByTimeout: false, // the worker deletes them
    });
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.pool.connect().then(
      (client) => client.release(),
      (error: unknown) => this.log.recordFailure(error),
    );
  }

  async onApplicationShutdown(): Promise<void> {
    await this.pool.end();
  }

  private boundedQuery(): (statement: QueryConfig) => Promise<QueryResult> {
    let inFlight = 0;
    return async (statement) => {
      if (inFlight >= MAX_IN_FLIGHT) throw new Error('Too many requests wait for their counters.');
      inFlight++;
      try {
        return await this.query(statement);
      } finally {
        inFlight--;
      }
    };
  }

  private async query(statement: QueryConfig): Promise<QueryResult> {
    try {
      const result = await this.pool.query(statement);
      this.log.recordSuccess();
      return result;
    } catch (error) {
      this.log.recordFailure(error);
      throw error;
    }
  }
}

/**
 * Returns the store of an environment: Redis if it is configured, else PostgreSQL if several processes may share it, else
 * memory.
 */
export function limiterStoreOf(environment: Environment, isShared: boolean): LimiterStore {
  const { REDIS_URL, REDIS_PREFIX, DATABASE_URL, RATE_LIMIT_TIMEOUT_MS: timeoutMs } = environment;
  if (REDIS_URL !== undefined) return new RedisStore(REDIS_URL, REDIS_PREFIX, timeoutMs);
  if (isShared && DATABASE_URL !== undefined) return new PostgresStore(DATABASE_URL, timeoutMs);
  return new MemoryStore();
}
