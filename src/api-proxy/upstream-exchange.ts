import type { ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import { codeOfError } from '#platform/outbound';
import { Problem } from '#platform/problem';
import { triggerGarbageCollection } from './buffer-memory';
import { responseHeaders, trailersOf } from './proxy-headers';
import { lateProblem, upstreamProblem } from './upstream-failure';

/** An exchange ends when the upstream pauses for this long within a response body. */
const IDLE_MS = 600_000;

/** Bytes of the request body that an upstream must accept per deadline, until the body has been sent. */
const PROGRESS_BYTES = 64 * 1024;

/** Characters that a reason phrase may contain (RFC 9112, section 4). */
const REASON = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * A body that arrives at once, up to this size, is sent together with the headers in one write. Two parts, which Node sends
 * with `writev`, take 5% more time of the whole exchange.
 */
const JOINED_BYTES = 4 * 1024;

/** The response begins when this much of its body has arrived, also if more follows at once. */
const EARLY_BYTES = 64 * 1024;

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

/** One exchange, as an undici handler. Its `on…` methods are listed in the order that undici calls them. */
class Exchange implements Dispatcher.DispatchHandler {
  private timer: NodeJS.Timeout | undefined;
  private abort: ((error: Error) => void) | undefined;
  private resume: (() => void) | undefined;
  private ended = false;
  private isFlushed = false;
  /** The start of the response, until it is sent. */
  private head: { status: number; statusText: string; raw: Buffer[] } | undefined;
  /** The parts of the body that arrived together with the headers, until the headers are sent. */
  private early: Buffer[] = [];
  private earlyBytes = 0;
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
    // The service requests no upgrade (101).
    if (status < 100 || status > 599 || status === 101) {
      this.end(invalidResponse());
      return false;
    }
    // 100 Continue and early hints
    if (status < 200) return true;
    this.head = { status, statusText, raw };
    this.resume = resume;
    // Flushes the headers of a stream whose first byte may take long.
    if (!isChunked(raw)) process.nextTick(() => this.flush());
    // undici reports an invalid chunk when the connection has closed, after one turn of the event loop. Until then, the invalid
    // chunk becomes a problem.
    else setImmediate(() => void (this.ended || setImmediate(() => this.flush())));
    return true;
  }

  onData(chunk: Buffer): boolean {
    triggerGarbageCollection(chunk.length);
    if (!this.isFlushed) {
      this.early.push(chunk);
      this.earlyBytes += chunk.length;
      if (this.earlyBytes <= EARLY_BYTES) return true;
      this.flush();
      return !this.ended && this.waitForDrain();
    }
    this.timer?.refresh();
    return this.write(chunk);
  }

  onComplete(trailers: (Buffer | string)[] | null): void {
    if (this.ended || !this.sendHead()) return;
    if (trailers && trailers.length > 0) this.response.addTrailers(trailersOf(trailers));
    const [first, ...rest] = this.early;
    if (first && rest.length === 0 && first.length <= JOINED_BYTES) {
      this.response.end(first.toString('latin1'), 'latin1');
    } else {
      for (const chunk of this.early) this.response.write(chunk);
      this.response.end();
    }
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
    if (this.isRetried || body !== null || this.resume) return false;
    return IDEMPOTENT.has(method) && BROKEN.test(codeOfError(error));
  }

  /** Sends the headers, with the parts of the body that have arrived. */
  private flush(): void {
    if (this.ended || this.isFlushed || !this.sendHead()) return;
    this.isFlushed = true;
    this.startTimer(IDLE_MS, () => lateProblem(IDLE_MS));
    if (this.early.length === 0) this.response.flushHeaders();
    for (const chunk of this.early) this.response.write(chunk);
    this.early = [];
  }

  /** Writes the headers, once. Returns false if Node refuses the status or a header, so that a problem is sent instead. */
  private sendHead(): boolean {
    const { head } = this;
    if (!head) return true;
    this.head = undefined;
    try {
      this.writeHead(head.status, head.statusText, head.raw);
      return true;
    } catch (error) {
      this.response.statusMessage = '';
      this.end(invalidResponse(error));
      return false;
    }
  }

  /** Returns false if the upstream has to wait until the client has read. */
  private write(chunk: Buffer): boolean {
    this.response.write(chunk);
    return this.waitForDrain();
  }

  private waitForDrain(): boolean {
    if (!this.response.writableNeedDrain) return true;
    this.response.once('drain', () => {
      this.timer?.refresh();
      this.resume?.();
    });
    return false;
  }

  /** Writes the upstream's headers. They replace the service's own headers, except the CORS headers. */
  private writeHead(status: number, statusText: string, raw: readonly Buffer[]): void {
    const { response, requestId } = this;
    // otherwise, the rest of the body would be read only to reach the next request
    if (!response.req.complete) response.shouldKeepAlive = false;
    // trailers need chunked encoding, which HTTP/1.0 clients cannot read
    const hasBody = this.request.method !== 'HEAD' && status !== 204 && status !== 304;
    const headers = responseHeaders(raw, status, requestId, hasBody && response.useChunkedEncodingByDefault);
    // Node refuses to send any other reason phrase, and clients ignore it
    const reason = REASON.test(statusText) ? statusText : undefined;
    // without own headers, one list costs half as much as setting each header
    if (response.getHeaderNames().length === 0) return void response.writeHead(status, reason, headers);
    const own = response.getHeaders();
    try {
      replaceHeaders(response, headers);
      response.writeHead(status, reason);
    } catch (error) {
      for (const name of response.getHeaderNames()) response.removeHeader(name);
      response.setHeaders(new Map(Object.entries(own) as [string, string][]));
      throw error;
    }
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

/** Sets the upstream's headers. With CORS_ORIGINS, which sets `Vary`, the service decides which origins may read responses. */
function replaceHeaders(response: ServerResponse, headers: readonly string[]): void {
  const isCors = response.hasHeader('vary');
  const replaced = new Set(['vary']);
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at]!.toLowerCase();
    if (isCors && name.startsWith('access-control-')) continue;
    if (!replaced.has(name)) response.removeHeader(name);
    replaced.add(name);
    response.appendHeader(headers[at]!, headers[at + 1]!);
  }
}

const isChunked = (raw: readonly Buffer[]): boolean =>
  raw.some(
    (name, at) => at % 2 === 0 && name.length === 17 && /^transfer-encoding$/i.test(name.toString('latin1')),
  );

const invalidResponse = (cause?: unknown): Error =>
  Object.assign(new Error('invalid response', { cause }), { code: 'HPE_INVALID' });

const CLIENT_GONE = new Problem('request_timeout', 'The client closed the connection before the response.', {
  status: 408,
});
