export { readCapped } from './read-capped';
export { retryAfterMs } from './retry-after';
