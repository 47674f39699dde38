import { type IpRange, IpRanges } from './environment.decorators';
import { RateLimitEnvironment } from './rate-limit.environment';

/** Configures the calls to addresses that tenants give. */
export abstract class OutboundEnvironment extends RateLimitEnvironment {
  /** Addresses and ranges that may be called although they are not public. Default: none. */
  @IpRanges()
  OUTBOUND_ALLOW: readonly IpRange[] = [];
}
