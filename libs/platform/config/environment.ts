import { plainToInstance } from 'class-transformer';
import { getMetadataStorage, IsOptional, IsString, Matches, MinLength, validateSync } from 'class-validator';
import { StartError } from '#platform/process';
import { Days, HttpUrl, Integer, Json, OneOf, Origins } from './environment.decorators';
import { OutboundEnvironment } from './outbound.environment';

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/**
 * The configuration from environment variables, read once at boot. An invalid value stops the start and names its
 * variable. `.env.example` lists every variable with its meaning, which a test checks.
 */
export class Environment extends OutboundEnvironment {
  /** Port that the API listens on. 0 chooses a free one. */
  @Integer(0, 65535)
  PORT = 8080;

  /** Address that the API listens on. */
  @IsString()
  HOST = '0.0.0.0';

  /** Port for metrics, without authentication. 0 chooses a free one. Default: metrics are not served. */
  @IsOptional()
  @Integer(0, 65535)
  METRICS_PORT?: number;

  /** Address that metrics are served at. */
  @IsString()
  @MinLength(1)
  METRICS_HOST = '127.0.0.1';

  /** URL at which clients reach the service: the server in OpenAPI, and the issuer of its own tokens. */
  @IsOptional()
  @HttpUrl()
  PUBLIC_URL?: string;

  /** Origins of web pages that may call the API from a browser, separated by commas. Default: none. */
  @Origins()
  CORS_ORIGINS: readonly string[] = [];

  /** PostgreSQL 15 or newer. Default under `npm start`: the embedded server. */
  @IsOptional()
  @Matches(/^postgres(ql)?:\/\//, { message: 'must begin with postgres:// or postgresql://' })
  DATABASE_URL?: string;

  /** Database connections of each process. */
  @Integer(2, 200)
  DATABASE_POOL_SIZE = 10;

  /** Milliseconds that a request waits each time it needs a connection of the pool; then 503. */
  @Integer(100, 60_000)
  DATABASE_CONNECTION_TIMEOUT_MS = 5_000;

  /** Milliseconds that a statement waits for a lock; then 503. */
  @Integer(100, 600_000)
  LOCK_TIMEOUT_MS = 10_000;

  /** Moves the queues and the counters of rate limits to Redis. Default: they are in PostgreSQL. */
  @IsOptional()
  @Matches(/^rediss?:\/\//, { message: 'must begin with redis:// or rediss://' })
  REDIS_URL?: string;

  /** Prefix of every key in Redis. The braces keep all keys on one node of a cluster, which BullMQ requires. */
  @Matches(/^[\x21-\x7e]{1,64}$/, { message: 'must be 1 to 64 visible ASCII characters' })
  REDIS_PREFIX = '{registry}';

  /** Directory where `npm start` stores its database and secrets. Also stores files if `STORAGE_URL` is not set. */
  @IsString()
  @MinLength(1)
  DATA_DIR = '.data';

  /**
   * Where files and packages are stored: `s3://<bucket>/<prefix>?region=…&endpoint=…&path_style=true`, or `file:///<directory>`.
   * Default: the directory `storage` in `DATA_DIR`.
   */
  @IsOptional()
  @Matches(/^(s3|file):\/\/./, { message: 'must begin with s3:// or file://' })
  STORAGE_URL?: string;

  /** Seconds without a heartbeat after which an interrupted upload is deleted from the storage. */
  @Integer(60, 604_800)
  STORAGE_ORPHAN_SECONDS = 3_600;

  /** Largest file, and largest package of the store, in bytes. */
  @Integer(1024, 1024 ** 4)
  FILE_LIMIT_BYTES = 1024 ** 3;

  /** 32 bytes in base64: the key for hashing API keys and encrypting stored secrets. `npm start` creates one in DATA_DIR. */
  @IsOptional()
  @Matches(/^[A-Za-z0-9+/_-]{43}=?$/, { message: 'must be 32 bytes in base64' })
  SECRETS_KEY?: string;

  /** JSON array of trusted token issuers; see docs/reference/authentication.md. */
  @Json()
  AUTH_ISSUERS: unknown = [];

  /** `aud` of the service's own tokens. */
  @IsString()
  @MinLength(1)
  AUTH_AUDIENCE = 'public-api';

  /** Seconds that a verified token or key is cached, which is the longest delay of a suspension. */
  @Integer(0, 60)
  AUTH_CACHE_SECONDS = 30;

  /** Days after which a new key signs the service's own tokens. */
  @Integer(1, 365)
  SIGNING_KEY_DAYS = 30;

  /** Seconds between two scheduled reconciles of an app. */
  @Integer(1, 86_400)
  RECONCILE_INTERVAL_SECONDS = 300;

  /**
   * Milliseconds for one operation on a registered MCP server: connecting, and listing its tools or running one. Keep it
   * below `REQUEST_TIMEOUT_MS`, so that a request learns why the server failed.
   */
  @Integer(100, 600_000)
  MCP_TIMEOUT_MS = 20_000;

  /** Seconds between two scheduled checks of a registered MCP server. 0 turns them off. */
  @Integer(0, 86_400)
  MCP_CHECK_INTERVAL_SECONDS = 300;

  /** Days that the checks of MCP servers are kept. */
  @Integer(1, 3_650)
  MCP_CHECK_RETENTION_DAYS = 7;

  @OneOf(LOG_LEVELS)
  LOG_LEVEL: (typeof LOG_LEVELS)[number] = 'info';

  /** Milliseconds from the end of a request's body to its response; then 504. */
  @Integer(100, 600_000)
  REQUEST_TIMEOUT_MS = 30_000;

  /** Milliseconds for `test` scoring, which runs the scorer while the client waits. */
  @Integer(100, 600_000)
  TEST_SCORING_TIMEOUT_MS = 120_000;

  /** Milliseconds for an import of records, from the end of its body. */
  @Integer(100, 3_600_000)
  IMPORT_TIMEOUT_MS = 300_000;

  /** Largest JSON body, in bytes. */
  @Integer(1024, 1_073_741_824)
  BODY_LIMIT_BYTES = 4 * 1024 * 1024;

  /** Time for a client to send a body that is read into memory, in milliseconds; then 408. */
  @Integer(1000, 3_600_000)
  BODY_TIMEOUT_MS = 60_000;

  /** Milliseconds after which a client that reads nothing of its response is disconnected. */
  @Integer(100, 3_600_000)
  ANSWER_STALL_MS = 30_000;

  /** Requests that a process handles at once; then 503. One organization may have half of them. */
  @Integer(10, 100_000)
  MAX_REQUESTS_IN_FLIGHT = 1_000;

  /** If the mean event-loop delay exceeds this, in milliseconds, callers with many requests in flight get 503. */
  @Integer(10, 60_000)
  EVENT_LOOP_DELAY_LIMIT_MS = 500;

  /** Memory for bodies and unread responses, in bytes; then 503. Default: a quarter of the heap limit. */
  @IsOptional()
  @Integer(1024 * 1024, 1024 ** 4)
  MEMORY_BUDGET_BYTES?: number;

  /** Disk space for bodies in temporary files, in bytes; then 503. */
  @Integer(1024 * 1024, 1024 ** 4)
  SPOOL_LIMIT_BYTES = 1024 ** 3;

  /** Largest telemetry body after decoding, in bytes. */
  @Integer(1024, 1_073_741_824)
  TELEMETRY_LIMIT_BYTES = 16 * 1024 * 1024;

  /** Memory for telemetry that is being read or waits to be stored, in bytes; then 503. */
  @Integer(1024 * 1024, 1024 ** 4)
  TELEMETRY_QUEUE_BYTES = 64 * 1024 * 1024;

  /** Maximum attributes of a span, event, link, resource, scope, log record or data point; further ones are dropped. */
  @Integer(1, 65_536)
  SPAN_ATTRIBUTE_LIMIT = 4_096;

  /** Maximum events of a span; further ones are dropped. */
  @Integer(1, 65_536)
  SPAN_EVENT_LIMIT = 1_024;

  /** Maximum links of a span; further ones are dropped. */
  @Integer(1, 65_536)
  SPAN_LINK_LIMIT = 1_024;

  /** Days that traces are kept after the day they arrived. Default: forever. */
  @Days()
  TRACE_RETENTION_DAYS?: number;

  /** Days that logs are kept. Default: TRACE_RETENTION_DAYS. */
  @Days()
  LOG_RETENTION_DAYS?: number;

  /** Days that metrics are kept. Default: TRACE_RETENTION_DAYS. */
  @Days()
  METRIC_RETENTION_DAYS?: number;

  /** Largest body of a scoring request after decoding, in bytes. */
  @Integer(1024, 1_073_741_824)
  SCORING_LIMIT_BYTES = 8 * 1024 * 1024;

  /**
   * Targets of one organization that a worker process scores at once over all its runs: this many with code, and as many
   * with judges. One more of each may belong to another organization.
   */
  @Integer(1, 1024)
  WORKER_CONCURRENCY = 32;

  /** Scoring runs that a worker process handles at once. */
  @Integer(1, 256)
  WORKER_RUNS = 8;

  /** Seconds from the first start of a scoring run to its end. Targets without a score by then fail. */
  @Integer(1, 604_800)
  SCORE_RUN_SECONDS = 3_600;

  /**
   * Threads in each process that run the JavaScript of one organization's scorers. One more thread is reserved for other
   * organizations.
   */
  @Integer(1, 64)
  SCORER_THREADS = 2;

  /**
   * Prices by model that take precedence over the built-in ones, as JSON: `{"gpt-4o": {"input_usd_per_million": 2.5,
   * "output_usd_per_million": 10}}`, optionally with `cached_input_usd_per_million` and `cache_write_usd_per_million`.
   */
  @Json()
  MODEL_PRICES: unknown = {};

  /** Seconds that a stopping process has to finish running work. */
  @Integer(0, 600)
  SHUTDOWN_SECONDS = 30;
}

/** The names of all variables. */
export const ENVIRONMENT_VARIABLES: readonly string[] = [
  ...new Set(
    getMetadataStorage()
      .getTargetValidationMetadatas(Environment, '', false, false)
      .map((one) => one.propertyName),
  ),
  // validated by their readers
  'AUTH_ISSUERS',
  'MODEL_PRICES',
];

/** Reads the environment. An empty variable counts as unset. Throws a StartError that names every invalid variable. */
export function readEnvironment(source: NodeJS.ProcessEnv = process.env): Environment {
  const values: Record<string, string> = {};
  for (const name of ENVIRONMENT_VARIABLES) {
    const value = source[name];
    if (value !== undefined && value !== '') values[name] = value;
  }
  const environment = plainToInstance(Environment, values, { exposeDefaultValues: true });
  const faults = validateSync(environment, { forbidUnknownValues: true }).map(
    // the rules of a variable may have the same message
    ({ property, constraints = {} }) =>
      `${property}: ${[...new Set(Object.values(constraints))].join(', ')}.`,
  );
  if (faults.length === 0 && environment.JUDGE_MAX_TOKENS * 2 > environment.JUDGE_CONTEXT_TOKENS) {
    faults.push('JUDGE_MAX_TOKENS: must be at most half of JUDGE_CONTEXT_TOKENS.');
  }
  if (faults.length > 0) throw new StartError(faults.join(' '));
  return environment;
}
