import { plainToInstance } from 'class-transformer';
import {
  getMetadataStorage,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  IsUrl,
  Matches,
  Max,
  Min,
  MinLength,
  validateSync,
} from 'class-validator';
import { Days, Integer, Json, Origins } from './environment.decorators';
import { OutboundEnvironment } from './outbound.environment';

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/**
 * The configuration from environment variables, read once at boot. An invalid value stops the start and names its
 * variable. `.env.example` lists every variable with its meaning, which a test checks.
 */
export class Environment extends OutboundEnvironment {
  /** Port that the API listens on. 0 chooses a free one. */
  @IsInt()
  @Min(0)
  @Max(65535)
  @Integer()
  PORT = 8080;

  /** Address that the API listens on. */
  @IsString()
  HOST = '0.0.0.0';

  /** Port for metrics, without authentication. 0 chooses a free one. Default: metrics are not served. */
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(65535)
  @Integer()
  METRICS_PORT?: number;

  /** Address that metrics are served at. */
  @IsString()
  @MinLength(1)
  METRICS_HOST = '127.0.0.1';

  /** URL at which clients reach the service: the server in OpenAPI, and the issuer of its own tokens. */
  @IsOptional()
  @IsUrl({ require_tld: false, protocols: ['http', 'https'], require_protocol: true })
  PUBLIC_URL?: string;

  /** Origins of web pages that may call the API from a browser, separated by commas. Default: none. */
  @Origins()
  CORS_ORIGINS: readonly string[] = [];

  /** PostgreSQL 15 or newer. Default under `npm start`: the embedded server. */
  @IsOptional()
  @Matches(/^postgres(ql)?:\/\//, { message: 'must begin with postgres:// or postgresql://' })
  DATABASE_URL?: string;

  /** Database connections of each process. */
  @IsInt()
  @Min(2)
  @Max(200)
  @Integer()
  DATABASE_POOL_SIZE = 10;

  /** Milliseconds that a request waits each time it needs a connection of the pool; then 503. */
  @IsInt()
  @Min(100)
  @Max(60_000)
  @Integer()
  DATABASE_CONNECTION_TIMEOUT_MS = 5_000;

  /** Milliseconds that a statement waits for a lock; then 503. */
  @IsInt()
  @Min(100)
  @Max(600_000)
  @Integer()
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
  @IsInt()
  @Min(60)
  @Max(604_800)
  @Integer()
  STORAGE_ORPHAN_SECONDS = 3_600;

  /** Largest file, and largest package of the store, in bytes. */
  @IsInt()
  @Min(1024)
  @Max(1024 ** 4)
  @Integer()
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
  @IsInt()
  @Min(0)
  @Max(60)
  @Integer()
  AUTH_CACHE_SECONDS = 30;

  /** Days after which a new key signs the service's own tokens. */
  @IsInt()
  @Min(1)
  @Max(365)
  @Integer()
  SIGNING_KEY_DAYS = 30;

  /** Seconds between two scheduled reconciles of an app. */
  @IsInt()
  @Min(1)
  @Max(86_400)
  @Integer()
  RECONCILE_INTERVAL_SECONDS = 300;

  /**
   * Milliseconds for one operation on a registered MCP server: connecting, and listing its tools or running one. Keep it
   * below `REQUEST_TIMEOUT_MS`, so that a request learns why the server failed.
   */
  @IsInt()
  @Min(100)
  @Max(600_000)
  @Integer()
  MCP_TIMEOUT_MS = 20_000;

  /** Seconds between two scheduled checks of a registered MCP server. 0 turns them off. */
  @IsInt()
  @Min(0)
  @Max(86_400)
  @Integer()
  MCP_CHECK_INTERVAL_SECONDS = 300;

  /** Days that the checks of MCP servers are kept. */
  @IsInt()
  @Min(1)
  @Max(3_650)
  @Integer()
  MCP_CHECK_RETENTION_DAYS = 7;

  @IsIn(LOG_LEVELS)
  LOG_LEVEL: (typeof LOG_LEVELS)[number] = 'info';

  /** Milliseconds from the end of a request's body to its response; then 504. */
  @IsInt()
  @Min(100)
  @Max(600_000)
  @Integer()
  REQUEST_TIMEOUT_MS = 30_000;

  /** Milliseconds for `test` scoring, which runs the scorer while the client waits. */
  @IsInt()
  @Min(100)
  @Max(600_000)
  @Integer()
  TEST_SCORING_TIMEOUT_MS = 120_000;

  /** Milliseconds for an import of records, from the end of its body. */
  @IsInt()
  @Min(100)
  @Max(3_600_000)
  @Integer()
  IMPORT_TIMEOUT_MS = 300_000;

  /** Largest JSON body, in bytes. */
  @IsInt()
  @Min(1024)
  @Max(1_073_741_824)
  @Integer()
  BODY_LIMIT_BYTES = 10 * 1024 * 1024;

  /** Time for a client to send a body that is read into memory, in milliseconds; then 408. */
  @IsInt()
  @Min(1000)
  @Max(3_600_000)
  @Integer()
  BODY_TIMEOUT_MS = 60_000;

  /** Milliseconds after which a client that reads nothing of its response is disconnected. */
  @IsInt()
  @Min(100)
  @Max(3_600_000)
  @Integer()
  ANSWER_STALL_MS = 30_000;

  /** Requests that a process handles at once; then 503. One organization may have half of them. */
  @IsInt()
  @Min(10)
  @Max(100_000)
  @Integer()
  MAX_REQUESTS_IN_FLIGHT = 1_000;

  /** Mean event-loop delay, in milliseconds, from which callers with many requests in flight get 503. */
  @IsInt()
  @Min(10)
  @Max(60_000)
  @Integer()
  EVENT_LOOP_DELAY_LIMIT_MS = 500;

  /** Memory for bodies and unread responses, in bytes; then 503. Default: a quarter of the heap limit. */
  @IsOptional()
  @IsInt()
  @Min(1024 * 1024)
  @Max(1024 ** 4)
  @Integer()
  MEMORY_BUDGET_BYTES?: number;

  /** Disk space for bodies in temporary files, in bytes; then 503. */
  @IsInt()
  @Min(1024 * 1024)
  @Max(1024 ** 4)
  @Integer()
  SPOOL_LIMIT_BYTES = 1024 ** 3;

  /** Largest telemetry body after decoding, in bytes. */
  @IsInt()
  @Min(1024)
  @Max(1_073_741_824)
  @Integer()
  TELEMETRY_LIMIT_BYTES = 16 * 1024 * 1024;

  /** Memory for telemetry that is being read or waits to be stored, in bytes; then 503. */
  @IsInt()
  @Min(1024 * 1024)
  @Max(1024 ** 4)
  @Integer()
  TELEMETRY_QUEUE_BYTES = 64 * 1024 * 1024;

  /** Maximum attributes of a span, event, link, resource, scope, log record or data point; further ones are dropped. */
  @IsInt()
  @Min(1)
  @Max(65_536)
  @Integer()
  SPAN_ATTRIBUTE_LIMIT = 4_096;

  /** Maximum events of a span; further ones are dropped. */
  @IsInt()
  @Min(1)
  @Max(65_536)
  @Integer()
  SPAN_EVENT_LIMIT = 1_024;

  /** Maximum links of a span; further ones are dropped. */
  @IsInt()
  @Min(1)
  @Max(65_536)
  @Integer()
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
  @IsInt()
  @Min(1024)
  @Max(1_073_741_824)
  @Integer()
  SCORING_LIMIT_BYTES = 8 * 1024 * 1024;

  /**
   * Targets of one organization that a worker process scores at once over all its runs: this many with code, and as many
   * with judges. One more of each may belong to another organization.
   */
  @IsInt()
  @Min(1)
  @Max(1024)
  @Integer()
  WORKER_CONCURRENCY = 32;

  /** Scoring runs that a worker process handles at once. */
  @IsInt()
  @Min(1)
  @Max(256)
  @Integer()
  WORKER_RUNS = 8;

  /** Seconds from the first start of a scoring run to its end. Targets without a score by then fail. */
  @IsInt()
  @Min(1)
  @Max(604_800)
  @Integer()
  SCORE_RUN_SECONDS = 3_600;

  /**
   * Threads in each process that run the JavaScript of one organization's scorers. One more thread is reserved for other
   * organizations.
   */
  @IsInt()
  @Min(1)
  @Max(64)
  @Integer()
  SCORER_THREADS = 2;

  /**
   * Prices by model that take precedence over the built-in ones, as JSON: `{"gpt-4o": {"input_usd_per_million": 2.5,
   * "output_usd_per_million": 10}}`, optionally with `cached_input_usd_per_million` and `cache_write_usd_per_million`.
   */
  @Json()
  MODEL_PRICES: unknown = {};

  /** Seconds that a stopping process has to finish running work. */
  @IsInt()
  @Min(0)
  @Max(600)
  @Integer()
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

/** Reads the environment. An empty variable counts as unset. Throws an Error that names every invalid variable. */
export function readEnvironment(source: NodeJS.ProcessEnv = process.env): Environment {
  const values: Record<string, string> = {};
  for (const name of ENVIRONMENT_VARIABLES) {
    const value = source[name];
    if (value !== undefined && value !== '') values[name] = value;
  }
  const environment = plainToInstance(Environment, values, { exposeDefaultValues: true });
  const faults = validateSync(environment, { forbidUnknownValues: true }).map(
    (fault) => `${fault.property}: ${Object.values(fault.constraints ?? {}).join(', ')}`,
  );
  if (faults.length === 0 && environment.JUDGE_MAX_TOKENS * 2 > environment.JUDGE_CONTEXT_TOKENS) {
    faults.push('JUDGE_MAX_TOKENS: must be at most half of JUDGE_CONTEXT_TOKENS');
  }
  if (faults.length > 0) throw new Error(`The environment is not valid.\n  ${faults.join('\n  ')}`);
  return environment;
}
