import type { ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import { Problem } from '#platform/problem';
import { passedOn } from './buffer-collection';
import { responseHeaders, trailersOf, valueOf } from './proxy-headers';
import { lateProblem, upstreamProblem } from './upstream-failure';

/** An upstream that sends nothing of a started body for this long is given up. */
const IDLE_MS = 600_000;

/** Bytes of the request that an upstream must take within its deadline, again and again, until the body has been sent. */
const PROGRESS_BYTES = 64 * 1024;

/** Bytes that a reason phrase may have (RFC 9112, section 4). */
const REASON = /^[\t\x20-\x7e\x80-\xff]*$/;

/** A request to an upstream. */
export interface UpstreamRequest {
  origin: string;
  /** With the query. */
  path: string;
  method: string;
  /** Name and value by turns. */
  headers: string[];
  /** Null without a body. A body can be sent once. */
  body: AsyncIterable<Buffer> | null;
  /** Milliseconds until the upstream answers: from the start, or from the last part of the body that it took. */
  timeoutMs: number;
}

/** Methods that can be sent again if the connection breaks before an answer (RFC 9110, section 9.2.2). */
const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);

/** Broken connections. One that was kept open may be closed by its server just when it is used again. */
const BROKEN = /^(?:UND_ERR_SOCKET|ECONNRESET|EPIPE)$/;

/**
 * Sends a request, and streams its response to the client, in constant memory: each side waits until the other has taken what
 * was sent. The request ends as soon as the client has gone. A response that breaks off ends the connection of the client, so
 * that it is not taken for a complete one.
 *
 * Resolves when the response has been sent, or the client has gone. Throws a `Problem` if there is no response.
 */
export const exchange = (
  dispatcher: Dispatcher,
  request: UpstreamRequest,
  response: ServerResponse,
  requestId: string,
): Promise<void> => new Exchange(dispatcher, request, response, requestId).run();

/** The bytes of headers have no known encoding, so each becomes one character. */
const textsOf = (raw: readonly (string | Buffer)[]): string[] =>
  raw.map((part) => (typeof part === 'string' ? part : part.toString('latin1')));

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code);

/** The handler of undici, whose methods are called in the order of a response. */
class Exchange implements Dispatcher.DispatchHandler {
  private timer: NodeJS.Timeout | undefined;
  private abort: ((error: Error) => void) | undefined;
  private ended = false;
  private hasData = false;
  private isRepeated = false;
  private unacknowledged = 0;
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
    passedOn(length);
    this.unacknowledged += length;
    if (this.unacknowledged < PROGRESS_BYTES) return;
    this.unacknowledged = 0;
    this.timer?.refresh();
  }

  /** Starts the deadline again, because it counts from the end of the body. */
  onRequestSent(): void {
    if (this.request.body !== null) this.timer?.refresh();
  }

  onHeaders(status: number, raw: Buffer[], resume: () => void, statusText: string): boolean {
    if (this.ended) return false;
    // 100 Continue and early hints
    if (status < 200) return true;
    const given = textsOf(raw);
    const headers = responseHeaders(given, status, this.canHaveTrailers(status, given));
    // Node sends no other, and clients ignore it
    const reason = REASON.test(statusText) ? statusText : undefined;
    const own = this.response.getHeaders();
    try {
      this.writeHead(status, reason, headers);
    } catch (error) {
      // a status or a header that Node does not send, so the problem takes its place with nothing of the upstream
      this.response.statusMessage = '';
      for (const name of this.response.getHeaderNames()) this.response.removeHeader(name);
      this.response.setHeaders(new Map(Object.entries(own) as [string, string][]));
      this.end(Object.assign(new Error('invalid response', { cause: error }), { code: 'HPE_INVALID' }));
      return false;
    }
    // the first byte of a stream may take long, but a body that has arrived goes with its headers
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
    passedOn(chunk.length);
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
    if (this.ended || !this.isRepeatable(error)) return this.end(error);
    this.isRepeated = true;
    this.dispatch();
  }

  private dispatch(): void {
    const { origin, path, method, headers, body } = this.request;
    this.dispatcher.dispatch({ origin, path, method, headers, body: body as never }, this);
  }

  private isRepeatable(error: Error): boolean {
    const { body, method } = this.request;
    if (this.isRepeated || body !== null || this.response.headersSent) return false;
    return IDEMPOTENT.has(method) && BROKEN.test(codeOf(error));
  }

  /** Trailers follow only chunks, which an old client does not read. */
  private canHaveTrailers(status: number, given: readonly string[]): boolean {
    if (this.request.method === 'HEAD' || status === 204 || status === 304) return false;
    return this.response.useChunkedEncodingByDefault && valueOf(given, 'content-length') === undefined;
  }

  /** Sends the headers of the upstream. They replace those of the service, except for those of cross-origin access. */
  private writeHead(status: number, reason: string | undefined, headers: string[]): void {
    const { response, requestId } = this;
    // the rest of the body would be read only to reach the next request
    if (!response.req.complete) response.shouldKeepAlive = false;
    if (valueOf(headers, 'x-request-id') === undefined) headers.push('X-Request-Id', requestId);
    const own = response.getHeaderNames();
    if (own.length === 0) {
      // as one list, because that costs half of setting each
      response.writeHead(status, reason, headers);
      return;
    }
    // set if the operator has named origins: then the upstream does not decide which may read its responses
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

  /** Settles the attempt once. @param reason aborts what is left of it */
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

const CLIENT_GONE = new Problem('request_timeout', 'The client closed the connection before the answer.', {
  status: 408,
});
