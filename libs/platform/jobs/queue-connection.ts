import {
  type BackendFactory,
  createPostgresBackend,
  createRedisBackend,
  type QueueOptions,
  setDefaultBackendFactory,
} from 'bullmq';
import { Client, type ClientConfig } from 'pg';
import type { Environment } from '#platform/config';
import { rootLogger } from '#platform/logging';

/** The schema of BullMQ's tables. */
export const QUEUE_SCHEMA = 'bullmq';

/** Connections that a queue or a worker may hold besides the one it listens on. */
const POOL_SIZE = 2;

/**
 * A connection of BullMQ's. It holds some without listening for their errors, and a connection that is lost while
 * nobody listens would end the process; whoever waits for an answer on it is told besides.
 */
class QueueClient extends Client {
  constructor(config?: string | ClientConfig) {
    super(config);
    this.on('error', (error) => rootLogger.warn({ err: error }, 'a connection of the queue was lost'));
  }
}

/** Told apart by what BullMQ is given to connect to, so that one process could serve both. */
const backendOf: BackendFactory = (name, options, factoryOptions) =>
  'connectionString' in options.connection
    ? (createPostgresBackend as unknown as BackendFactory)(name, options, factoryOptions)
    : createRedisBackend(name, options, factoryOptions);

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
  const connection = {
    connectionString: environment.DATABASE_URL,
    schema: QUEUE_SCHEMA,
    migrate: true,
    max: POOL_SIZE,
    Client: QueueClient,
    keepAlive: true,
    connectionTimeoutMillis: 5_000,
    application_name: 'agent-registry-service jobs',
  };
  return { connection: connection as unknown as QueueOptions['connection'] };
}
