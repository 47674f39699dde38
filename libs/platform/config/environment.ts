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
import { Days, Integer, Json } from './environment.decorators';
import { EmbeddingsEnvironment } from './embeddings.environment';

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/**
 * Everything the environment decides, read once at boot. A value that does not hold stops the start and names its
 * variable. `.env.example` lists every member with its meaning; a test holds the two together.
 */
export class Environment extends EmbeddingsEnvironment {
  /** Port the API listens on; 0 takes a free one. */
  @IsInt()
  @Min(0)
  @Max(65535)
  @Integer()
  PORT = 8080;

  /** Address the API listens on. */
  @IsString()
  HOST = '0.0.0.0';

  /** Port that metrics are served on, without authentication; 0 takes a free one. Absent: none. */
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(65535)
  @Integer()
  METRICS_PORT?: number;

  /** The address clients reach the service at: in OpenAPI, and the issuer of its own tokens. */
  @IsOptional()
  @IsUrl({ require_tld: false, protocols: ['http', 'https'], require_protocol: true })
  PUBLIC_URL?: string;

  /** PostgreSQL 15 or newer. Absent under `npm start`: the embedded server. */
  @IsOptional()
  @Matches(/^postgres(ql)?:\/\//, { message: 'must begin with postgres:// or postgresql://' })
  DATABASE_URL?: string;

  /** Connections each process may hold to the database. */
  @IsInt()
  @Min(2)
  @Max(200)
  @Integer()
  DATABASE_POOL_SIZE = 10;

  /** Milliseconds that a request waits, each time it needs one, for a connection of the pool; then 503. */
  @IsInt()
  @Min(100)
  @Max(60_000)
  @Integer()
  DATABASE_CONNECTION_TIMEOUT_MS = 5_000;

  /** Moves the queues to Redis. Absent: they live in PostgreSQL. */
  @IsOptional()
  @Matches(/^rediss?:\/\//, { message: 'must begin with redis:// or rediss://' })
  REDIS_URL?: string;

  /** Begins the name of every key in Redis. The braces keep all keys of a cluster on one node, as BullMQ needs. */
  @Matches(/^[\x21-\x7e]{1,64}$/, { message: 'must be 1 to 64 visible ASCII characters' })
  REDIS_PREFIX = '{registry}';

  /** Where `npm start` keeps its database and secrets. */
  @IsString()
  @MinLength(1)
  DATA_DIR = '.data';

  /** 32 bytes in base64: keys API-key hashes and encrypts stored secrets. `npm start` makes one in DATA_DIR. */
  @IsOptional()
  @Matches(/^[A-Za-z0-9+/_-]{43}=?$/, { message: 'must be 32 bytes in base64' })
  SECRETS_KEY?: string;

  /** JSON array of the token issuers that are trusted; see docs/security.md. */
  @Json()
  AUTH_ISSUERS: unknown = [];

  /** `aud` of the tokens this service issues and accepts from itself. */
  @IsString()
  @MinLength(1)
  AUTH_AUDIENCE = 'public-api';

  /** Seconds a verified token or key is remembered: the longest that a suspension takes to be seen. */
  @IsInt()
  @Min(0)
  @Max(60)
  @Integer()
  AUTH_CACHE_SECONDS = 30;

  /** Days after which a new key signs this service's tokens. */
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

  @IsIn(LOG_LEVELS)
  LOG_LEVEL: (typeof LOG_LEVELS)[number] = 'info';

  /** Milliseconds from the end of a request's body to its answer; then 504. */
  @IsInt()
  @Min(100)
  @Max(600_000)
  @Integer()
  REQUEST_TIMEOUT_MS = 30_000;

  /** Milliseconds for `test` scoring, which calls the scorer while the client waits. */
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

  /** Memory for the bodies of all requests, in bytes; then 503. Absent: a quarter of the heap limit. */
  @IsOptional()
  @IsInt()
  @Min(1024 * 1024)
  @Max(1024 ** 4)
  @Integer()
  MEMORY_BUDGET_BYTES?: number;

  /** What bodies that are kept in temporary files while they are read may take of the disk together, in bytes. */
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

  /** What telemetry that is being read or waits to be stored may take of the memory, in bytes; then 503. */
  @IsInt()
  @Min(1024 * 1024)
  @Max(1024 ** 4)
  @Integer()
  TELEMETRY_QUEUE_BYTES = 64 * 1024 * 1024;

  /** Days that traces are kept after the one on which they arrived. Absent: for ever. */
  @Days()
  TRACE_RETENTION_DAYS?: number;

  /** The same of logs. Absent: as traces. */
  @Days()
  LOG_RETENTION_DAYS?: number;

  /** The same of metrics. Absent: as traces. */
  @Days()
  METRIC_RETENTION_DAYS?: number;

  /** Largest body of a request to score after decoding, in bytes. */
  @IsInt()
  @Min(1024)
  @Max(1_073_741_824)
  @Integer()
  SCORING_LIMIT_BYTES = 8 * 1024 * 1024;

  /** Targets one worker process scores at once, over all its runs: so many by code, and so many by judges. */
  @IsInt()
  @Min(1)
  @Max(1024)
  @Integer()
  WORKER_CONCURRENCY = 32;

  /** Scoring runs one worker process handles at once. */
  @IsInt()
  @Min(1)
  @Max(256)
  @Integer()
  WORKER_RUNS = 8;

  /** Seconds from the first start of a scoring run to its end; what is not scored by then fails. */
  @IsInt()
  @Min(1)
  @Max(604_800)
  @Integer()
  SCORE_RUN_SECONDS = 3_600;

  /** Threads that run the JavaScript of scorers in each process. */
  @IsInt()
  @Min(1)
  @Max(64)
  @Integer()
  SCORER_THREADS = 2;

  /**
   * JSON: price by model, `{"gpt-4o": {"input_usd_per_million": 2.5, "output_usd_per_million": 10}}`, and optionally
   * `cached_input_usd_per_million` and `cache_write_usd_per_million`.
   */
  @Json()
  MODEL_PRICES: unknown = {};

  /** Seconds a stopping process gives to what is under way. */
  @IsInt()
  @Min(0)
  @Max(600)
  @Integer()
  SHUTDOWN_SECONDS = 30;
}

/** The name of every variable that is read. */
export const ENVIRONMENT_VARIABLES: readonly string[] = [
  ...new Set(
    getMetadataStorage()
      .getTargetValidationMetadatas(Environment, '', false, false)
      .map((one) => one.propertyName),
  ),
  // taken as they are; their readers validate them
  'AUTH_ISSUERS',
  'MODEL_PRICES',
];

/** Reads the environment; an empty variable counts as absent. Throws an error that names every bad variable. */
export function readEnvironment(source: NodeJS.ProcessEnv = process.env): Environment {
  const given: Record<string, string> = {};
  for (const name of ENVIRONMENT_VARIABLES) {
    const value = source[name];
    if (value !== undefined && value !== '') given[name] = value;
  }
  const environment = plainToInstance(Environment, given, { exposeDefaultValues: true });
  const faults = validateSync(environment, { forbidUnknownValues: true }).map(
    (fault) => `${fault.property}: ${Object.values(fault.constraints ?? {}).join(', ')}`,
  );
  if (faults.length === 0 && environment.JUDGE_MAX_TOKENS * 2 > environment.JUDGE_CONTEXT_TOKENS) {
    faults.push('JUDGE_MAX_TOKENS: must be at most half of JUDGE_CONTEXT_TOKENS');
  }
  if (faults.length > 0) throw new Error(`The environment is not valid.\n  ${faults.join('\n  ')}`);
  return environment;
}
