import type { ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import { Problem } from '#platform/problem';
import { PROXY_NAME, responseHeaders, trailersOf, valueOf } from './proxy-headers';
import { lateProblem, proxyReceived, upstreamProblem } from './upstream-failure';

/** An upstream that sends nothing of a started body for this long is given up. */
const IDLE_MS = 600_000;

/** Bytes of the request that an upstream must take within its deadline, again and again, until the body has been sent. */
const PROGRESS_BYTES = 64 * 1024;

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

/** Headers of the service's own responses. */
const NOT_OF_THE_UPSTREAM = ['Cache-Control', 'X-Content-Type-Options'];

/**
 * Sends a request, and streams its response to the client, in constant memory: each side waits until the other has taken what
 * was sent. The request ends as soon as the client has gone. A response that breaks off ends the connection of the client, so
 * that it is not taken for a complete one.
 *
 * Resolves when the response has been sent, or the client has gone. Throws a `Problem` if there is no response.
 */
export async function exchange(
  dispatcher: Dispatcher,
  request: UpstreamRequest,
  response: ServerResponse,
): Promise<void> {
  try {
    await new Exchange(dispatcher, request, response).run();
  } catch (error) {
    const isRepeatable = request.body === null && IDEMPOTENT.has(request.method);
    if (!isRepeatable || !BROKEN.test(codeOf(error)) || response.headersSent || response.destroyed) {
      throw upstreamProblem(error);
    }
    await new Exchange(dispatcher, request, response).run().catch((again: unknown) => {
      throw upstreamProblem(again);
    });
  }
}

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code);

/** One attempt. The handler of undici, whose methods are called in the order of a response. */
class Exchange implements Dispatcher.DispatchHandler {
  private timer: NodeJS.Timeout | undefined;
  private abort: ((error: Error) => void) | undefined;
  private ended = false;
  private unacknowledged = 0;
  private resolve!: () => void;
  private reject!: (error: unknown) => void;
  private readonly onClose = (): void => this.end(undefined, CLIENT_GONE);

  constructor(
    private readonly dispatcher: Dispatcher,
    private readonly request: UpstreamRequest,
    private readonly response: ServerResponse,
  ) {}

  run(): Promise<void> {
    const { origin, path, method, headers, body } = this.request;
    return new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
      if (this.response.destroyed) return resolve();
      this.response.once('close', this.onClose);
      this.startTimer(this.request.timeoutMs, () => lateProblem(this.request.timeoutMs));
      this.dispatcher.dispatch({ origin, path, method, headers, body: body as never }, this);
    });
  }

  onConnect(abort: (error?: Error) => void): void {
    if (this.ended) abort(CLIENT_GONE);
    else this.abort = abort;
  }

  onBodySent(bytes: Buffer | number): void {
    this.unacknowledged += typeof bytes === 'number' ? bytes : bytes.length;
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
    const { response } = this;
    const given = raw.map((part) => part.toString('latin1'));
    const headers = responseHeaders(given);
    headers.push(
      'Via',
      `1.1 ${PROXY_NAME}`,
      'Proxy-Status',
      proxyReceived(status, valueOf(given, 'proxy-status')),
    );
    try {
      this.setHeaders(headers);
      response.writeHead(status, statusText);
    } catch (error) {
      // a status or a header that Node does not send
      this.end(Object.assign(new Error('invalid response', { cause: error }), { code: 'HPE_INVALID' }));
      return false;
    }
    // at once, because the first byte of a stream may take long, but together with a body that has arrived
    response.socket?.cork();
    response.flushHeaders();
    process.nextTick(() => response.socket?.uncork());
    this.startTimer(IDLE_MS, () => lateProblem(IDLE_MS));
    response.on('drain', () => {
      this.timer?.refresh();
      resume();
    });
    return true;
  }

  onData(chunk: Buffer): boolean {
    this.timer?.refresh();
    return this.response.write(chunk);
  }

  onComplete(trailers: string[] | Buffer[] | null): void {
    if (this.ended) return;
    const pairs = trailersOf((trailers ?? []).map(String));
    if (pairs.length > 0) this.response.addTrailers(pairs);
    this.response.end();
    this.end();
  }

  onError(error: Error): void {
    this.end(error);
  }

  /** Replaces headers of the service by those of the upstream. Only the operator decides which origins may read responses. */
  private setHeaders(headers: readonly string[]): void {
    const { response } = this;
    const isCors = response.hasHeader('Access-Control-Allow-Origin');
    for (const name of NOT_OF_THE_UPSTREAM) response.removeHeader(name);
    const replaced = new Set<string>(isCors ? ['vary'] : []);
    for (let at = 0; at < headers.length; at += 2) {
      const name = headers[at]!.toLowerCase();
      if (isCors && name.startsWith('access-control-')) continue;
      if (!replaced.has(name)) response.removeHeader(name);
      replaced.add(name);
      response.appendHeader(headers[at]!, headers[at + 1]!);
    }
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
    if (error) this.reject(error);
    else this.resolve();
    if (reason) this.abort?.(reason);
  }
}

const CLIENT_GONE = new Problem('request_timeout', 'The client closed the connection before the answer.', {
  status: 408,
});
