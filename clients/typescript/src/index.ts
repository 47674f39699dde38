export { Client, type ClientOptions } from './client.js';
export {
  ConfigurationError,
  ConnectionError,
  ServiceError,
  TimeoutError,
  type FieldError,
} from './core/errors.js';
export { isTransient, withRetries, type RetryPolicy } from './core/retry.js';
export { events, lines, textLines, type ServerSentEvent } from './core/streams.js';
export type { Answer, ApiPromise, PageInfo, Pages, RawBody, RequestOptions } from './api/calls.cjs';
/** The types of all operations and schemas: `api.Dataset`, for example. */
export type * as api from './api/types.cjs';
