import {
  type BackendFactory,
  createPostgresBackend,
  createRedisBackend,
  type QueueOptions,
  runMigrations,
  setDefaultBackendFactory,
} from 'bullmq';
import { type Client, type ClientConfig, Pool, type PoolConfig } from 'pg';
import type { Environment } from '#platform/config';
import { withDeadline } from '#platform/concurrency';
import { WatchedClient } from '#platform/db';
import { rootLogger } from '#platform/logging';

/** The schema of BullMQ's tables, which is BullMQ's default. */
export const QUEUE_SCHEMA = 'bullmq';

/** Connections of a queue or a worker, in addition to the one that listens. */
const POOL_SIZE = 2;

/** Milliseconds before a worker tries again to reach its queue. */
export const RECONNECT_MS = 2_000;

/** Milliseconds for Redis to confirm that a connection closes. */
const CLOSE_MS = 2_000;

/** BullMQ recognizes an unreachable queue by this message of ioredis. After any other error it retries at once. */
const UNREACHABLE = 'Connection is closed.';

type Connected = (error: Error | null, client: QueueClient) => void;

/** A connection for BullMQ. A failed connection attempt becomes the error that BullMQ recognizes. */
class QueueClient extends WatchedClient {
  constructor(config?: string | ClientConfig) {
    super(config);
    this.on('error', (error) => rootLogger.warn({ err: error }, 'lost a connection to the queue'));
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
      rootLogger.warn({ err: error }, 'cannot reach the queue');
      throw new Error(UNREACHABLE, { cause: error });
    }
  }
}

/**
 * Creates BullMQ's PostgreSQL backend with a separate pool, which also provides the connection that listens. BullMQ itself
 * would create a plain `pg.Client`, whose loss at the wrong time ends the process or goes unnoticed.
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

/**
 * Creates BullMQ's Redis backend. BullMQ closes a connection with QUIT, which waits until Redis can be reached again. After two
 * seconds, the connection is closed without it, so that the process can stop.
 */
const redisBackend: BackendFactory = (name, options, factoryOptions) => {
  const backend = createRedisBackend(name, options, factoryOptions) as ReturnType<BackendFactory> & {
    readonly client: Promise<{ disconnect(): void }>;
  };
  const close = backend.close.bind(backend);
  backend.close = (force) =>
    withDeadline(close(force), CLOSE_MS, 'Redis did not confirm the end of the connection in time.').catch(
      async (error: unknown) => {
        rootLogger.warn({ err: error }, 'closed a connection to an unreachable Redis');
        (await backend.client).disconnect();
      },
    );
  return backend;
};

/** Chooses the backend by the connection options, so that one process can use both. */
const backendOf: BackendFactory = (name, options, factoryOptions) =>
  ('connectionString' in options.connection ? postgresBackend : redisBackend)(name, options, factoryOptions);

// set for the whole process, because @nestjs/bullmq has no such option
setDefaultBackendFactory(backendOf);

/**
 * Migrates BullMQ's tables to the installed version.
 *
 * @param session a connection, which is left open
 */
export async function migrateQueues(session: Client): Promise<void> {
  await runMigrations(session, QUEUE_SCHEMA);
}

export const usesRedis = (environment: Environment): boolean => environment.REDIS_URL !== undefined;

/** Returns BullMQ's connection options: Redis if `REDIS_URL` is set, else the service's own PostgreSQL. */
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
