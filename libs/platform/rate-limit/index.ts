export { ClientAddresses } from './client-addresses';
export { RateLimitModule } from './rate-limit.module';
export { RATE_LIMIT_CLASS, type RateLimitClass, RateLimited, RateLimits } from './rate-limits';
export { RateLimitRepository } from './rate-limit.repository';
