import { IsOptional } from 'class-validator';
import { EmbeddingsEnvironment } from './embeddings.environment';
import { Integer, type IpRange, IpRanges } from './environment.decorators';

/** Declares a number of requests per minute. */
const PerMinute = () => Integer(1, 10_000_000);

/** Configures the rate limits, in requests per minute. */
export abstract class RateLimitEnvironment extends EmbeddingsEnvironment {
  /** Reads of one principal. Default: no limit. */
  @IsOptional()
  @PerMinute()
  RATE_LIMIT_READS?: number;

  /** Writes of one principal. Default: no limit. */
  @IsOptional()
  @PerMinute()
  RATE_LIMIT_WRITES?: number;

  /** Telemetry exports of one principal. Default: no limit. */
  @IsOptional()
  @PerMinute()
  RATE_LIMIT_TELEMETRY?: number;

  /** Requests of one principal to the API proxy, the model gateway and the MCP endpoint. Default: no limit. */
  @IsOptional()
  @PerMinute()
  RATE_LIMIT_PROXY?: number;

  /** Requests of one principal for the store listing. */
  @PerMinute()
  RATE_LIMIT_STORE_LISTING = 120;

  /** Requests of one address that end in 401. */
  @PerMinute()
  RATE_LIMIT_UNAUTHORIZED = 600;

  /** Requests of one address for public documents, in each process. */
  @PerMinute()
  RATE_LIMIT_DOCUMENTS = 600;

  /** Milliseconds that a request waits for a shared counter; then its process counts it alone. */
  @Integer(10, 60_000)
  RATE_LIMIT_TIMEOUT_MS = 500;

  /** Addresses of the proxies whose `X-Forwarded-For` names the client. Default: none. */
  @IpRanges()
  TRUSTED_PROXIES: readonly IpRange[] = [];
}
