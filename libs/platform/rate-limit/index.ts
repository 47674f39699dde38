export { limitDocuments } from './address-limits';
export { ClientAddresses } from './client-addresses';
export { type RateLimitClass, RateLimited } from './rate-limit.class';
export { RateLimitGuard, rateLimitKeyOf } from './rate-limit.guard';
export { RateLimitModule } from './rate-limit.module';
export { RateLimits } from './rate-limits';
export { RateLimitRepository } from './rate-limit.repository';
