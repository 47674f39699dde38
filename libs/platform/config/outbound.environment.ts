import { type IpRange, IpRanges } from './environment.decorators';
import { RateLimitEnvironment } from './rate-limit.environment';

/** Configures calls to addresses that tenants configure. */
export abstract class OutboundEnvironment extends RateLimitEnvironment {
  /** Addresses and ranges that may be called although they are not public. Default: none. */
  @IpRanges()
  OUTBOUND_ALLOW: readonly IpRange[] = [];
}
