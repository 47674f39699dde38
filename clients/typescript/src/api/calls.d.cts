/** Settings of one call. They take precedence over the client's. */
export interface RequestOptions {
  /** Cancels the call, its retries included. The call then rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Time limit of each attempt, in milliseconds. 0 means none. */
  timeoutMs?: number;
  /** Retries for at most this long, in milliseconds, instead of `maxRetries` times. */
  retryForMs?: number;
  /** Called before each retry, with the error and the number of retries before it. */
  onRetry?: (error: unknown, retries: number) => void;
  /** How often the call is retried. */
  maxRetries?: number;
  /** Replaces the key that the client makes. A repeat with the same key and body within 24 hours is done only once. */
  idempotencyKey?: string;
  /** Changes the resource only if it still has this ETag. Otherwise the call fails with status 412. */
  ifMatch?: string;
  /** Reads the resource only if it has another ETag. Otherwise the call fails with status 304, code `not_modified`. */
  ifNoneMatch?: string;
  /** Media type of a body that is not JSON. */
  contentType?: string;
  /** Headers to add. */
  headers?: Record<string, string>;
  /** Another workspace than the client's. */
  workspaceId?: string;
}

/** A body that is sent as it is. A stream can be read only once, so a call with one is not retried. */
export type RawBody =
  | string
  | Uint8Array
  | ArrayBuffer
  | Blob
  | FormData
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>;

/** The parsed body of a response, with what surrounds it. */
export interface Answer<T> {
  data: T;
  response: Response;
  headers: Headers;
  /** Names the request in the service's logs. */
  requestId: string | null;
}

/** A call that is being made. `await` gives the parsed body. */
export interface ApiPromise<T> extends Promise<T> {
  /** Gives the parsed body together with the response's headers and request id. */
  withResponse(): Promise<Answer<T>>;
  /** Gives the response itself, with its body unread. For streams and other media types. */
  asResponse(): Promise<Response>;
}

/** Which page of a list. */
export interface Paging {
  /** Maximum number of items on a page: 0 to 500. A page may have fewer if its items are large (several MiB in total). */
  limit?: number;
  /** Number of items to skip. Cannot be combined with `cursor`. */
  offset?: number;
  /** `false` skips counting: `total` is null. */
  total?: boolean;
  /** `next_cursor` of the previous page of this list with these filters. Costs the same at any depth. */
  cursor?: string;
}

/** Where a page stands in its list. */
export interface PageInfo {
  limit: number;
  offset: number;
  /** Exact up to 100,000, and null beyond. */
  total: number | null;
  /** Null on the last page. */
  next_cursor: string | null;
}

/** One page of a list. */
export interface Page<T> {
  items: T[];
  page: PageInfo;
}

/**
 * A list. `await` gives its first page, `for await` every item. No page is requested before it is needed. Without a `limit`,
 * iterating requests pages of 200 items that are not counted (`total` is null).
 */
export interface Pages<T, P = Page<T>> extends ApiPromise<P>, AsyncIterable<T> {
  /** Gives the first `count` items, from as many pages as it takes. */
  take(count: number): Promise<T[]>;
  /** Iterates over the pages instead of their items. */
  pages(): AsyncIterable<P>;
}
