export { OutboundHttp, type OutboundLimits } from './outbound-http';
export { OutboundModule } from './outbound.module';
export { readCapped } from './read-capped';
export { retryAfterMs } from './retry-after';
