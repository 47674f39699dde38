import {
  type BackendFactory,
  createPostgresBackend,
  createRedisBackend,
  type QueueOptions,
  setDefaultBackendFactory,
} from 'bullmq';
import { type Client, type ClientConfig, Pool, type PoolConfig } from 'pg';
import type { Environment } from '#platform/config';
import { WatchedClient } from '#platform/db';
import { rootLogger } from '#platform/logging';

/** The schema of BullMQ's tables: the one that it takes by itself. */
export const QUEUE_SCHEMA = 'bullmq';

/** Connections that a queue or a worker may hold besides the one it listens on. */
const POOL_SIZE = 2;

/** How long a worker waits before it asks again for a queue that cannot be reached, in milliseconds. */
export const RECONNECT_MS = 2_000;

/** By this message, which is ioredis's, BullMQ knows that a queue cannot be reached; on all else it goes on at once. */
const UNREACHABLE = 'Connection is closed.';

type Connected = (error: Error | null, client: QueueClient) => void;

/** A connection of BullMQ's, which is told in its own way that none can be made. */
class QueueClient extends WatchedClient {
  constructor(config?: string | ClientConfig) {
    super(config);
    this.on('error', (error) => rootLogger.warn({ err: error }, 'a connection of the queue was lost'));
  }

  override connect(): Promise<Client>;
  override connect(callback: Connected): void;
  override connect(callback?: Connected): Promise<Client> | void {
    const connecting = this.reach();
    if (!callback) return connecting;
    connecting.then(
      () => callback(null, this),
      (error: unknown) => callback(error as Error, this),
    );
  }

  private async reach(): Promise<this> {
    try {
      await super.connect();
      return this;
    } catch (error) {
      rootLogger.warn({ err: error }, 'the queue cannot be reached');
      throw new Error(UNREACHABLE, { cause: error });
    }
  }
}

/**
 * BullMQ on PostgreSQL, with a pool of its own: the connection it listens on comes out of that too. What it would
 * make itself is a plain `pg.Client`, whose loss at the wrong moment ends the process or is never heard.
 */
const postgresBackend: BackendFactory = (name, options, factoryOptions) => {
  const listening = factoryOptions?.withBlockingConnection ? 1 : 0;
  const pool = new Pool({ ...(options.connection as PoolConfig), max: POOL_SIZE + listening });
  const backend = (createPostgresBackend as unknown as BackendFactory)(
    name,
    { ...options, connection: pool as unknown as QueueOptions['connection'] },
    factoryOptions,
  );
  const close = backend.close.bind(backend);
  backend.close = async (force) => {
    await close(force);
    if (!pool.ending) await pool.end();
  };
  return backend;
};

/** Told apart by what BullMQ is given to connect to, so that one process could serve both. */
const backendOf: BackendFactory = (name, options, factoryOptions) =>
  ('connectionString' in options.connection ? postgresBackend : createRedisBackend)(
    name,
    options,
    factoryOptions,
  );

// BullMQ keeps this one setting for the whole process, and @nestjs/bullmq has no other way to it
setDefaultBackendFactory(backendOf);

export const usesRedis = (environment: Environment): boolean => environment.REDIS_URL !== undefined;

/** How BullMQ reaches its queues: Redis where `REDIS_URL` is set, else the service's own PostgreSQL. */
export function queueConnection(environment: Environment): Pick<QueueOptions, 'connection' | 'prefix'> {
  if (environment.REDIS_URL !== undefined) {
    const connection = { url: environment.REDIS_URL, maxRetriesPerRequest: null };
    return { connection, prefix: environment.REDIS_PREFIX };
  }
  if (!environment.DATABASE_URL) throw new Error('DATABASE_URL is required.');
  const connection: PoolConfig = {
    connectionString: environment.DATABASE_URL,
    options: `-c search_path=${QUEUE_SCHEMA}`,
    Client: QueueClient,
    keepAlive: true,
    connectionTimeoutMillis: 5_000,
    application_name: 'agent-registry-service jobs',
  };
  return { connection: connection as unknown as QueueOptions['connection'] };
}
