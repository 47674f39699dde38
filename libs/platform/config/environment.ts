import { StartError } from '#platform/process';
import {
  apiKey,
  httpUrl,
  integer,
  ipRanges,
  json,
  matching,
  modelName,
  number,
  oneOf,
  origins,
  secretKey,
  secretKeys,
  text,
  type Variable,
} from './variable';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

const bytes = (min = 1024, max = GIB) => integer(min, max);
const days = () => integer(1, 36_500);
const perMinute = () => integer(1, 10_000_000);
const protocol = () => oneOf('http/protobuf', 'http/json');

const VARIABLES = {
  /** Port that the API listens on. 0 chooses a free one. */
  PORT: integer(0, 65_535).or(8080),
  /** Address that the API listens on. */
  HOST: text().or('0.0.0.0'),
  /** Port for metrics, without authentication. 0 chooses a free one. Default: metrics are not served. */
  METRICS_PORT: integer(0, 65_535),
  /** Address that metrics are served at. */
  METRICS_HOST: text().or('127.0.0.1'),
  /** URL at which clients reach the service: the server in OpenAPI, and the issuer of its own tokens. */
  PUBLIC_URL: httpUrl(),
  /** Origins of web pages that may call the API from a browser, separated by commas. Default: none. */
  CORS_ORIGINS: origins().or([]),

  /** PostgreSQL 15 or newer. Default under `npm start`: the embedded server. */
  DATABASE_URL: matching('must begin with postgres:// or postgresql://', /^postgres(ql)?:\/\//),
  /** Database connections of each process. */
  DATABASE_POOL_SIZE: integer(2, 200).or(10),
  /**
   * Milliseconds that a request waits each time it needs a connection of the pool, and for each look-up of an account; then
   * 503.
   */
  DATABASE_CONNECTION_TIMEOUT_MS: integer(100, 60_000).or(5_000),
  /** Milliseconds that a statement waits for a lock; then 503. */
  LOCK_TIMEOUT_MS: integer(100, 600_000).or(10_000),
  /** Moves the queues and the counters of rate limits to Redis. Default: they are in PostgreSQL. */
  REDIS_URL: matching('must begin with redis:// or rediss://', /^rediss?:\/\//),
  /** Prefix of every key in Redis. The braces keep all keys on one node of a cluster, which BullMQ requires. */
  REDIS_PREFIX: matching('must be 1 to 64 visible ASCII characters', /^[\x21-\x7e]{1,64}$/).or('{registry}'),
  /** Directory where `npm start` stores its database and secrets. Also stores files if `STORAGE_URL` is not set. */
  DATA_DIR: text().or('.data'),
  /**
   * Where files and packages are stored: `s3://<bucket>/<prefix>?region=…&endpoint=…&path_style=true&checksums=true`, or `file:///<directory>`.
   * Default: the directory `storage` in `DATA_DIR`.
   */
  STORAGE_URL: matching(
    'must name a bucket of 3 to 63 characters, s3://<bucket>/<prefix>, or a directory, file:///<directory>',
    /^(?:file:\/\/.|s3:\/\/[^/?]{3,63}(?:[/?]|$))/,
  ),
  /** Seconds without a heartbeat after which an interrupted upload is deleted from the storage. */
  STORAGE_ORPHAN_SECONDS: integer(60, 604_800).or(3_600),
  /** Largest file, and largest package of the store, in bytes. */
  FILE_LIMIT_BYTES: bytes(1024, 1024 * GIB).or(GIB),
  /**
   * Bytes of files, packages and skills that one organization may store; then 413. Default: half of the disk that holds the
   * storage directory, and no quota for a bucket.
   */
  FILE_QUOTA_BYTES: bytes(1024, 1024 * 1024 * GIB),

  /**
   * The keys that encrypt stored secrets, 32 bytes in base64 each, separated by commas, newest first. `npm start` creates one in
   * DATA_DIR.
   */
  SECRETS_KEYS: secretKeys(),
  /** `SECRETS_KEYS` with a single key. */
  SECRETS_KEY: secretKey(),
  /** JSON array of trusted token issuers; see docs/reference/authentication.md. Its reader validates it. */
  AUTH_ISSUERS: json().or([]),
  /** `aud` of the service's own tokens. */
  AUTH_AUDIENCE: text().or('public-api'),
  /** Seconds that a verified token or key is cached, which is the longest delay of a suspension. */
  AUTH_CACHE_SECONDS: integer(0, 60).or(30),
  /** Days after which a new key signs the service's own tokens. */
  SIGNING_KEY_DAYS: integer(1, 365).or(30),

  /** Reads of one principal per minute. Default: no limit. */
  RATE_LIMIT_READS: perMinute(),
  /** Writes of one principal per minute. Default: no limit. */
  RATE_LIMIT_WRITES: perMinute(),
  /** Telemetry exports of one principal per minute. Default: no limit. */
  RATE_LIMIT_TELEMETRY: perMinute(),
  /** Requests of one principal to the API proxy, the model gateway and the MCP endpoint per minute. Default: no limit. */
  RATE_LIMIT_PROXY: perMinute(),
  /** Requests of one principal for the store listing per minute. */
  RATE_LIMIT_STORE_LISTING: perMinute().or(120),
  /** Requests of one address that end in 401 per minute. */
  RATE_LIMIT_UNAUTHORIZED: perMinute().or(600),
  /** Requests of one address for public documents per minute, in each process. */
  RATE_LIMIT_DOCUMENTS: perMinute().or(600),
  /** Milliseconds that a request waits for a shared counter; then its process counts it alone. */
  RATE_LIMIT_TIMEOUT_MS: integer(10, 60_000).or(500),
  /** Addresses of the proxies whose `X-Forwarded-For` names the client. Default: none. */
  TRUSTED_PROXIES: ipRanges().or([]),
  /** Addresses and ranges that tenants may have called although they are not public. Default: none. */
  OUTBOUND_ALLOW: ipRanges().or([]),

  /** Seconds between two scheduled reconciles of an app. */
  RECONCILE_INTERVAL_SECONDS: integer(1, 86_400).or(300),
  /**
   * Milliseconds for one operation on a registered MCP server: connecting, and listing its tools or running one. Keep it
   * below `REQUEST_TIMEOUT_MS`, so that a request learns why the server failed.
   */
  MCP_TIMEOUT_MS: integer(100, 600_000).or(20_000),
  /** Seconds between two scheduled checks of a registered MCP server. 0 turns them off. */
  MCP_CHECK_INTERVAL_SECONDS: integer(0, 86_400).or(300),
  /** Days that the checks of MCP servers are kept. */
  MCP_CHECK_RETENTION_DAYS: integer(1, 3_650).or(7),

  LOG_LEVEL: oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent').or('info'),

  /** Milliseconds from the end of a request's body to its response; then 504. */
  REQUEST_TIMEOUT_MS: integer(100, 600_000).or(30_000),
  /** Milliseconds for `test` scoring, which runs the scorer while the client waits. */
  TEST_SCORING_TIMEOUT_MS: integer(100, 600_000).or(120_000),
  /** Milliseconds for an import of records, from the end of its body. */
  IMPORT_TIMEOUT_MS: integer(100, 3_600_000).or(300_000),
  /** Largest JSON body, in bytes. */
  BODY_LIMIT_BYTES: bytes().or(4 * MIB),
  /** Time for a client to send a body that is read into memory, in milliseconds; then 408. */
  BODY_TIMEOUT_MS: integer(1000, 3_600_000).or(60_000),
  /** Milliseconds after which a client that reads nothing of its response is disconnected. */
  ANSWER_STALL_MS: integer(100, 3_600_000).or(30_000),
  /** Requests that a process handles at once; then 503. One organization may have half of them. */
  MAX_REQUESTS_IN_FLIGHT: integer(10, 100_000).or(1_000),
  /** If the mean event-loop delay exceeds this, in milliseconds, callers with many requests in flight get 503. */
  EVENT_LOOP_DELAY_LIMIT_MS: integer(10, 60_000).or(500),
  /** Memory for bodies and unread responses, in bytes; then 503. Default: a quarter of the heap limit. */
  MEMORY_BUDGET_BYTES: bytes(MIB, 1024 * GIB),
  /** Disk space for bodies in temporary files, in bytes; then 503. */
  SPOOL_LIMIT_BYTES: bytes(MIB, 1024 * GIB).or(GIB),

  /**
   * Largest event of a model's stream that the gateway translates, in bytes. Larger ones of the client's own format are passed on
   * unchanged.
   */
  GATEWAY_EVENT_LIMIT_BYTES: bytes().or(256 * 1024),

  /** Largest telemetry body after decoding, in bytes. */
  TELEMETRY_LIMIT_BYTES: bytes().or(16 * MIB),
  /** Memory for telemetry that is being read or waits to be stored, in bytes; then 503. */
  TELEMETRY_QUEUE_BYTES: bytes(MIB, 1024 * GIB).or(64 * MIB),
  /** Spans that one organization may send on one day (UTC); then 429. Default: no quota. */
  TELEMETRY_QUOTA_SPANS_PER_DAY: integer(1, 1_000_000_000_000),
  /** Maximum attributes of a span, event, link, resource, scope, log record or data point; further ones are dropped. */
  SPAN_ATTRIBUTE_LIMIT: integer(1, 65_536).or(4_096),
  /** Maximum events of a span; further ones are dropped. */
  SPAN_EVENT_LIMIT: integer(1, 65_536).or(1_024),
  /** Maximum links of a span; further ones are dropped. */
  SPAN_LINK_LIMIT: integer(1, 65_536).or(1_024),
  /** Days that traces are kept after the day they arrived. Default: forever. */
  TRACE_RETENTION_DAYS: days(),
  /** Days that logs are kept. Default: TRACE_RETENTION_DAYS. */
  LOG_RETENTION_DAYS: days(),
  /** Days that metrics are kept. Default: TRACE_RETENTION_DAYS. */
  METRIC_RETENTION_DAYS: days(),
  /** Days that scores of traces and sessions are kept after their creation. Default: forever. */
  SCORE_RETENTION_DAYS: days(),
  /** Days that sessions with agents are kept after their last change. Default: forever. */
  SESSION_RETENTION_DAYS: days(),
  /** Days that entries of the audit log are kept. Default: forever. */
  AUDIT_RETENTION_DAYS: days(),
  /**
   * Seconds that the erasure of a workspace or an organization lasts at least, so that it also finds what requests in flight
   * have written.
   */
  ERASURE_SETTLE_SECONDS: integer(0, 3_600).or(120),

  /** Largest body of a scoring request after decoding, in bytes. */
  SCORING_LIMIT_BYTES: bytes().or(8 * MIB),
  /**
   * Targets of one organization that a worker process scores at once over all its runs: this many with code, and as many
   * with judges. One more of each may belong to another organization.
   */
  WORKER_CONCURRENCY: integer(1, 1024).or(32),
  /** Scoring runs of one organization that a worker process handles at once. One more may be of another organization. */
  WORKER_RUNS: integer(1, 256).or(8),
  /** Open scoring runs of one organization, with those of its batches and rules; then requests for runs get 429. */
  MAX_OPEN_SCORE_RUNS: integer(1, 100_000).or(1_000),
  /** Open scoring batches of one organization; then requests for batches get 429. */
  MAX_OPEN_SCORE_BATCHES: integer(1, 10_000).or(100),
  /** Seconds from the first start of a scoring run to its end. Targets without a score by then fail. */
  SCORE_RUN_SECONDS: integer(1, 604_800).or(3_600),
  /** Threads of each process that run the JavaScript of one organization's scorers. Other organizations have one more. */
  SCORER_THREADS: integer(1, 64).or(2),
  /**
   * Prices by model that take precedence over the built-in ones, as JSON: `{"gpt-4o": {"input_usd_per_million": 2.5,
   * "output_usd_per_million": 10}}`, optionally with `cached_input_usd_per_million` and `cache_write_usd_per_million`. Its
   * reader validates it.
   */
  MODEL_PRICES: json().or({}),

  /** Base URL of an OpenAI-compatible API for judges with the backend `llm`, such as `https://api.openai.com/v1`. */
  JUDGE_BASE_URL: httpUrl(),
  /** API key for JUDGE_BASE_URL, sent as a bearer token. */
  JUDGE_API_KEY: apiKey(),
  /**
   * The model for scorers that do not name one, required with JUDGE_BASE_URL. Without it: `gateway:` and the name of a
   * gateway model, which each workspace defines for itself.
   */
  JUDGE_MODEL: modelName(),
  /** Maximum tokens of a request to a judge and its response together. The judged content is truncated to fit. */
  JUDGE_CONTEXT_TOKENS: integer(2_048, 10_000_000).or(128_000),
  /** Maximum tokens of a judge's response, reasoning included. */
  JUDGE_MAX_TOKENS: integer(64, 1_000_000).or(4_096),
  /** Deadline of a request to a judge or a classifier, in milliseconds. A late request is retried. */
  JUDGE_TIMEOUT_MS: integer(100, 3_600_000).or(60_000),
  /** Seconds from the first request for a target to its score, including retries; then the target fails. */
  JUDGE_TARGET_SECONDS: integer(1, 86_400).or(300),
  /** Days that responses of judges are cached, so that the same request is not sent again. */
  JUDGE_CACHE_DAYS: integer(0, 3_650).or(30),
  /** URL for judges with the backend `classifier`: receives `{"inputs", "labels"}` and returns `[{"label", "score"}]`. */
  CLASSIFIER_BASE_URL: httpUrl(),
  /** API key for CLASSIFIER_BASE_URL, sent as a bearer token. */
  CLASSIFIER_API_KEY: apiKey(),
  /** Maximum tokens that a classifier reads. The judged content is truncated to fit. */
  CLASSIFIER_CONTEXT_TOKENS: integer(128, 10_000_000).or(8_192),

  /**
   * Base URL of an OpenAI-compatible API that embeds texts, such as `https://api.openai.com/v1`. Default: the built-in
   * embedder, which compares words and not their meaning.
   */
  EMBEDDINGS_BASE_URL: httpUrl(),
  /** API key for EMBEDDINGS_BASE_URL, sent as a bearer token. */
  EMBEDDINGS_API_KEY: apiKey(),
  /** The embedding model, required with EMBEDDINGS_BASE_URL. Without it: `gateway:` and the id of a gateway model. */
  EMBEDDINGS_MODEL: modelName(),
  /** Dimensions to request from models that support fewer. Default: all dimensions of the model. */
  EMBEDDINGS_DIMENSIONS: integer(1, 16_384),
  /** Deadline of a request for embeddings, in milliseconds. */
  EMBEDDINGS_TIMEOUT_MS: integer(100, 600_000).or(10_000),

  // OpenTelemetry's variables, which configure the service's own traces. Its SDK reads them itself. They are members here
  // so that an invalid value stops the start instead of losing traces.
  /** Base URL of an OTLP/HTTP endpoint for traces; `/v1/traces` is appended. Default: nothing is traced. */
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl(),
  /** The complete URL of the endpoint. Overrides OTEL_EXPORTER_OTLP_ENDPOINT. */
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: httpUrl(),
  OTEL_EXPORTER_OTLP_PROTOCOL: protocol(),
  /** Overrides OTEL_EXPORTER_OTLP_PROTOCOL for traces. */
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: protocol(),
  /** Headers of each request to the endpoint: `name=value,name=value`, with percent-encoded values. */
  OTEL_EXPORTER_OTLP_HEADERS: text(),
  OTEL_EXPORTER_OTLP_COMPRESSION: oneOf('gzip', 'none'),
  /** `service.name` of the traces. */
  OTEL_SERVICE_NAME: text(),
  /** More attributes of the resource: `key=value,key=value`, percent-encoded. */
  OTEL_RESOURCE_ATTRIBUTES: text(),
  OTEL_TRACES_SAMPLER: oneOf(
    'always_on',
    'always_off',
    'traceidratio',
    'parentbased_always_on',
    'parentbased_always_off',
    'parentbased_traceidratio',
  ),
  /** The share of traces that `traceidratio` keeps, from 0 to 1. */
  OTEL_TRACES_SAMPLER_ARG: number(),
  /** `none` turns traces off. */
  OTEL_TRACES_EXPORTER: oneOf('otlp', 'none'),
  /** `true` turns traces off. */
  OTEL_SDK_DISABLED: text(),

  /** Seconds that a stopping process has to finish running work. */
  SHUTDOWN_SECONDS: integer(0, 600).or(30),
};

type Values = {
  [Name in keyof typeof VARIABLES]: (typeof VARIABLES)[Name] extends Variable<infer Value, infer Default>
    ? Value | Default
    : never;
};

const NAMES = Object.keys(VARIABLES) as (keyof Values)[];
/** The names of all variables. */
export const ENVIRONMENT_VARIABLES: readonly string[] = NAMES;

const Defaults = class {
  constructor() {
    for (const name of NAMES) Object.assign(this, { [name]: VARIABLES[name].fallback });
  }
} as new () => Values;

/**
 * The configuration from environment variables, read once at boot. An invalid value stops the start and names its
 * variable. `.env.example` lists every variable with its meaning, which a test checks.
 */
export class Environment extends Defaults {}

/** Reads the environment. An empty variable counts as unset. Throws a StartError that names every invalid variable. */
export function readEnvironment(source: NodeJS.ProcessEnv = process.env): Environment {
  const environment = new Environment();
  const faults: string[] = [];
  for (const name of NAMES) {
    const given = source[name];
    if (given === undefined || given === '') continue;
    const value = VARIABLES[name].parse(given);
    if (value === undefined) faults.push(`${name}: ${VARIABLES[name].rule}.`);
    else Object.assign(environment, { [name]: value });
  }
  if (faults.length === 0) faults.push(...faultsBetween(environment));
  if (faults.length > 0) throw new StartError(faults.join(' '));
  return environment;
}

/** Returns the rules between variables that are broken. */
function faultsBetween(environment: Environment): string[] {
  const { JUDGE_MAX_TOKENS, JUDGE_CONTEXT_TOKENS } = environment;
  const faults: string[] = [];
  if (environment.SECRETS_KEY && environment.SECRETS_KEYS)
    faults.push('SECRETS_KEY: cannot be set together with SECRETS_KEYS. Move its key into SECRETS_KEYS.');
  for (const user of ['JUDGE', 'EMBEDDINGS'] as const) {
    const { [`${user}_BASE_URL` as const]: url, [`${user}_MODEL` as const]: model } = environment;
    const isOfGateway = model?.startsWith('gateway:');
    if (url && !model) faults.push(`${user}_MODEL: is required if ${user}_BASE_URL is set.`);
    if (url && isOfGateway)
      faults.push(`${user}_MODEL: cannot be of the gateway if ${user}_BASE_URL is set.`);
    if (!url && model && !isOfGateway)
      faults.push(`${user}_MODEL: must begin with gateway: if ${user}_BASE_URL is not set.`);
  }
  if (JUDGE_MAX_TOKENS * 2 > JUDGE_CONTEXT_TOKENS)
    faults.push('JUDGE_MAX_TOKENS: must be at most half of JUDGE_CONTEXT_TOKENS.');
  return faults;
}
