import type { ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import { Problem } from '#platform/problem';
import { triggerGarbageCollection } from './buffer-memory';
import { responseHeaders, trailersOf, valueOf } from './proxy-headers';
import { lateProblem, upstreamProblem } from './upstream-failure';

/** An exchange ends when the upstream pauses for this long within a response body. */
const IDLE_MS = 600_000;

/** Bytes of the request body that an upstream must accept per deadline, until the body has been sent. */
const PROGRESS_BYTES = 64 * 1024;

/** Characters that a reason phrase may contain (RFC 9112, section 4). */
const REASON = /^[\t\x20-\x7e\x80-\xff]*$/;

/** A request to an upstream. */
export interface UpstreamRequest {
  origin: string;
  /** Includes the query. */
  path: string;
  method: string;
  /** Alternating names and values. */
  headers: string[];
  /** Null without a body. A body can be sent once. */
  body: AsyncIterable<Buffer> | null;
  /** Milliseconds within which the upstream must respond: from the start, or from the last part of the body that it accepted. */
  timeoutMs: number;
}

/** Methods that can be retried if the connection breaks before a response (RFC 9110, section 9.2.2). */
const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);

/** Error codes of broken connections. A server may close a keep-alive connection at the moment that it is reused. */
const BROKEN = /^(?:UND_ERR_SOCKET|ECONNRESET|EPIPE)$/;

/**
 * Sends a request, and streams its response to the client with backpressure in both directions, in constant memory. The
 * request is aborted as soon as the client disconnects. If the response breaks off, the client's connection is closed, so that
 * the client does not take the response for complete.
 *
 * Resolves when the response has been sent or the client has disconnected. Throws a `Problem` if there is no response.
 */
export const exchange = (
  dispatcher: Dispatcher,
  request: UpstreamRequest,
  response: ServerResponse,
  requestId: string,
): Promise<void> => new Exchange(dispatcher, request, response, requestId).run();

/** Decodes headers as latin1, because their encoding is unknown and latin1 keeps every byte. */
const textsOf = (raw: readonly (string | Buffer)[]): string[] =>
  raw.map((part) => (typeof part === 'string' ? part : part.toString('latin1')));

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code);

/** One exchange, as an undici handler. Its `on…` methods are listed in the order that undici calls them. */
class Exchange implements Dispatcher.DispatchHandler {
  private timer: NodeJS.Timeout | undefined;
  private abort: ((error: Error) => void) | undefined;
  private ended = false;
  private hasData = false;
  private isRetried = false;
  private unconfirmedBytes = 0;
  private resolve!: () => void;
  private reject!: (error: unknown) => void;
  private readonly onClose = (): void => this.end(undefined, CLIENT_GONE);

  constructor(
    private readonly dispatcher: Dispatcher,
    private readonly request: UpstreamRequest,
    private readonly response: ServerResponse,
    private readonly requestId: string,
  ) {}

  run(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
      if (this.response.destroyed) return resolve();
      this.response.once('close', this.onClose);
      this.startTimer(this.request.timeoutMs, () => lateProblem(this.request.timeoutMs));
      this.dispatch();
    });
  }

  onConnect(abort: (error?: Error) => void): void {
    if (this.ended) abort(CLIENT_GONE);
    else this.abort = abort;
  }

  onBodySent(bytes: Buffer | number): void {
    const length = typeof bytes === 'number' ? bytes : bytes.length;
    triggerGarbageCollection(length);
    this.unconfirmedBytes += length;
    if (this.unconfirmedBytes < PROGRESS_BYTES) return;
    this.unconfirmedBytes = 0;
    this.timer?.refresh();
  }

  /** Restarts the deadline, because it counts from the end of the body. */
  onRequestSent(): void {
    if (this.request.body !== null) this.timer?.refresh();
  }

  onHeaders(status: number, raw: Buffer[], resume: () => void, statusText: string): boolean {
    if (this.ended) return false;
    // 100 Continue and early hints
    if (status < 200) return true;
    const upstreamHeaders = textsOf(raw);
    const headers = responseHeaders(upstreamHeaders, status, this.canHaveTrailers(status, upstreamHeaders));
    // Node refuses to send any other reason phrase, and clients ignore it
    const reason = REASON.test(statusText) ? statusText : undefined;
    const own = this.response.getHeaders();
    try {
      this.writeHead(status, reason, headers);
    } catch (error) {
      // Node refuses this status or a header, so the problem is sent instead, without anything from the upstream
      this.response.statusMessage = '';
      for (const name of this.response.getHeaderNames()) this.response.removeHeader(name);
      this.response.setHeaders(new Map(Object.entries(own) as [string, string][]));
      this.end(Object.assign(new Error('invalid response', { cause: error }), { code: 'HPE_INVALID' }));
      return false;
    }
    // flush the headers of a stream whose first byte may take long, but send a body that is already here along with them
    process.nextTick(() => {
      if (!this.ended && !this.hasData) this.response.flushHeaders();
    });
    this.startTimer(IDLE_MS, () => lateProblem(IDLE_MS));
    this.response.on('drain', () => {
      this.timer?.refresh();
      resume();
    });
    return true;
  }

  onData(chunk: Buffer): boolean {
    this.hasData = true;
    this.timer?.refresh();
    triggerGarbageCollection(chunk.length);
    return this.response.write(chunk);
  }

  onComplete(trailers: string[] | Buffer[] | null): void {
    if (this.ended) return;
    const pairs = trailersOf(textsOf(trailers ?? []));
    if (pairs.length > 0) this.response.addTrailers(pairs);
    this.response.end();
    this.end();
  }

  onError(error: Error): void {
    if (this.ended || !this.isRetryable(error)) return this.end(error);
    this.isRetried = true;
    this.dispatch();
  }

  private dispatch(): void {
    const { origin, path, method, headers, body } = this.request;
    this.dispatcher.dispatch({ origin, path, method, headers, body: body as never }, this);
  }

  private isRetryable(error: Error): boolean {
    const { body, method } = this.request;
    if (this.isRetried || body !== null || this.response.headersSent) return false;
    return IDEMPOTENT.has(method) && BROKEN.test(codeOf(error));
  }

  /** Trailers need chunked encoding, which HTTP/1.0 clients cannot read. */
  private canHaveTrailers(status: number, headers: readonly string[]): boolean {
    if (this.request.method === 'HEAD' || status === 204 || status === 304) return false;
    return this.response.useChunkedEncodingByDefault && valueOf(headers, 'content-length') === undefined;
  }

  /** Sends the upstream's headers. They replace the service's own headers, except the CORS headers. */
  private writeHead(status: number, reason: string | undefined, headers: string[]): void {
    const { response, requestId } = this;
    // otherwise, the rest of the body would be read only to reach the next request
    if (!response.req.complete) response.shouldKeepAlive = false;
    if (valueOf(headers, 'x-request-id') === undefined) headers.push('X-Request-Id', requestId);
    const own = response.getHeaderNames();
    if (own.length === 0) {
      // one list costs half as much as setting each header
      response.writeHead(status, reason, headers);
      return;
    }
    // `Vary` is set if CORS_ORIGINS is: then the service, not the upstream, decides which origins may read responses
    const isCors = own.includes('vary');
    const replaced = new Set(['vary']);
    for (let at = 0; at < headers.length; at += 2) {
      const name = headers[at]!.toLowerCase();
      if (isCors && name.startsWith('access-control-')) continue;
      if (!replaced.has(name)) response.removeHeader(name);
      replaced.add(name);
      response.appendHeader(headers[at]!, headers[at + 1]!);
    }
    response.writeHead(status, reason);
  }

  private startTimer(ms: number, late: () => Problem): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const problem = late();
      this.end(problem, problem);
    }, ms);
  }

  /** Settles the exchange, once. @param reason aborts the rest of the upstream request */
  private end(error?: Error, reason: Error | undefined = error): void {
    if (this.ended) return;
    this.ended = true;
    clearTimeout(this.timer);
    this.response.off('close', this.onClose);
    if (error) this.reject(upstreamProblem(error));
    else this.resolve();
    if (reason) this.abort?.(reason);
  }
}

const CLIENT_GONE = new Problem('request_timeout', 'The client closed the connection before the response.', {
  status: 408,
});
