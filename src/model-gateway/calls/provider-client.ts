import { Injectable } from '@nestjs/common';
import type { Dispatcher } from 'undici';
import { type ByteLease, linkedSignal } from '#platform/concurrency';
import { Blocks } from '#platform/http';
import { OutboundHttp, readCapped, retryAfterMs, undici } from '#platform/outbound';
import { Problem } from '#platform/problem';
import { tracing } from '#platform/tracing';
import { StreamFailure } from '../formats/stream-failure';
import type { CalledProvider } from '../models/model-directory';
import {
  answerTooLarge,
  CallFailure,
  connectionFailure,
  type FailedProvider,
  timeoutFailure,
} from './call-failure';
import { errorResponse, firstEventFailure } from './reported-failure';

/** Maximum size of an error response that is read, in bytes. */
const ERROR_MAX = 64 * 1024;

/** The version of Anthropic's API to request if the client does not name one. */
const ANTHROPIC_VERSION = '2023-06-01';

/** One request to a provider. */
export interface ProviderRequest {
  provider: CalledProvider;
  /** Below the base URL of the provider. */
  path: string;
  body: string | Uint8Array;
  /** The headers of the format, by lower-case name. */
  headers: Readonly<Record<string, string>>;
  traceparent: string | undefined;
  /** Maximum time for a whole response, or for each part of a stream, in milliseconds. */
  timeoutMs: number;
  /** Aborted once nobody waits for the answer. */
  signal: AbortSignal;
  /** Whether the request is on its way to the provider, which may charge for it. Set by the client. */
  isSent?: boolean;
}

/** A response whose body arrives while it is read. The body must be read or destroyed. */
export interface ProviderResponse {
  /** The provider, for failures while the body is read. */
  sender: FailedProvider;
  contentType: string;
  body: Dispatcher.ResponseData['body'];
  /** Restarts the timeout of the first part. Call it for everything that arrives before, such as keep-alive comments. */
  onActivity: () => void;
  /** Aborted once nobody waits for the response, because the call or this attempt is over. */
  signal: AbortSignal;
  /** Detaches the response from the signal of the call. Call it once the body has been read. */
  release: () => void;
}

/** Sends requests to providers. No other code speaks HTTP with them. */
@Injectable()
export class ProviderClient {
  constructor(private readonly outbound: OutboundHttp) {}

  /**
   * Sends a request, and returns the body of a successful response. Throws `CallFailure`, the error of `lease`, or the reason of
   * the signal.
   */
  whole(request: ProviderRequest, maxBytes: number, lease?: ByteLease): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const { provider, signal } = request;
      signal.throwIfAborted();
      const sender = senderOf(provider);
      const dispatcher = this.dispatcherFor(provider);
      const exchange = new Exchange(request, sender, { maxBytes, lease }, resolve, reject);
      dispatcher.dispatch(optionsOf(request, sender, 'application/json'), exchange);
    });
  }

  /**
   * Sends a request, and returns what `begin` makes of a successful response. The timeout covers both, and restarts with each part
   * of the response. Errors: as for `whole`, and those of `begin`.
   */
  async stream<Begun>(
    request: ProviderRequest,
    begin: (response: ProviderResponse) => Promise<Begun>,
  ): Promise<Begun> {
    const { provider, signal, timeoutMs } = request;
    signal.throwIfAborted();
    const sender = senderOf(provider);
    const dispatcher = this.dispatcherFor(provider);
    const late = new AbortController();
    const stop = linkedSignal(signal, late.signal);
    const timer = setTimeout(() => late.abort(timeoutFailure(provider.name, timeoutMs)), timeoutMs);
    let hasBegun = false;
    // a timer that was cleared would start again
    const onActivity = (): void => void (hasBegun || timer.refresh());
    const respond = async (): Promise<Begun> => {
      const options = { ...optionsOf(request, sender, 'text/event-stream'), signal: stop.signal };
      const { statusCode, headers, body } = await noting(request, dispatcher).request(options);
      const contentType = String(headers['content-type'] ?? '');
      if (statusCode === 200) {
        const release = (): void => stop.unlink();
        return begin({ sender, contentType, body, onActivity, signal: stop.signal, release });
      }
      const text = await readCapped(body, ERROR_MAX).catch(() => undefined);
      throw errorResponse(sender, statusCode, text ?? '', retryAfterMs(headers));
    };
    try {
      return await new Promise<Begun>((resolve, reject) => {
        // rejects even while the request waits for a connection, which cannot be aborted
        stop.signal.addEventListener('abort', () => reject(stop.signal.reason as Error));
        respond().then(resolve, reject);
      });
    } catch (error) {
      stop.unlink();
      signal.throwIfAborted();
      throw failureOf(error, sender);
    } finally {
      hasBegun = true;
      clearTimeout(timer);
    }
  }

  /** Tenants' providers are called only at allowed addresses. */
  private dispatcherFor({ name, base, isTrusted }: CalledProvider): Dispatcher {
    if (isTrusted) return this.outbound.trusted;
    try {
      this.outbound.checkUrl(base);
      return this.outbound.dispatcher;
    } catch (error) {
      throw connectionFailure(name, error);
    }
  }
}

/** A request whose response is read into memory: an undici handler, which costs half as much as the stream of `request`. */
class Exchange implements Dispatcher.DispatchHandler {
  private readonly blocks = new Blocks();
  private readonly timer: NodeJS.Timeout;
  private readonly onAbort = (): void => this.fail(this.request.signal.reason);
  private status = 0;
  private headers: Buffer[] = [];
  private abort: ((reason?: Error) => void) | undefined;
  private reason: unknown;

  constructor(
    private readonly request: ProviderRequest,
    private readonly sender: FailedProvider,
    private readonly limits: { maxBytes: number; lease: ByteLease | undefined },
    private readonly resolve: (body: Buffer) => void,
    private readonly reject: (error: unknown) => void,
  ) {
    const { signal, timeoutMs } = request;
    this.timer = setTimeout(() => this.fail(timeoutFailure(sender.name, timeoutMs)), timeoutMs);
    signal.addEventListener('abort', this.onAbort);
  }

  onConnect(abort: (reason?: Error) => void): void {
    this.abort = abort;
    if (this.reason === undefined) this.request.isSent = true;
    else abort(this.reason as Error);
  }

  onHeaders(status: number, headers: Buffer[]): boolean {
    // later headers replace those of 100 Continue and early hints
    this.status = status;
    this.headers = headers;
    return true;
  }

  onData(chunk: Buffer): boolean {
    this.blocks.append(chunk);
    try {
      const maxBytes = this.isSuccess ? this.limits.maxBytes : ERROR_MAX;
      if (this.blocks.size > maxBytes) throw this.tooLarge(maxBytes);
      this.limits.lease?.grow(chunk.length);
      return true;
    } catch (error) {
      this.fail(error);
      return false;
    }
  }

  onComplete(): void {
    this.end();
    const [only = NOTHING, ...others] = this.blocks.all();
    const body = others.length === 0 ? only : Buffer.concat([only, ...others]);
    if (this.isSuccess) this.resolve(body);
    else this.reject(this.errorOf(body.toString()));
  }

  onError(error: Error): void {
    if (this.reason === undefined) this.fail(error);
  }

  private get isSuccess(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  /** Ends the request, even while it waits for a connection, which cannot be aborted. */
  private fail(reason: unknown): void {
    this.end();
    this.reason = reason;
    this.abort?.(reason as Error);
    const { signal } = this.request;
    try {
      this.reject(signal.aborted ? signal.reason : failureOf(reason, this.sender));
    } catch (error) {
      this.reject(error);
    }
  }

  private end(): void {
    clearTimeout(this.timer);
    this.request.signal.removeEventListener('abort', this.onAbort);
  }

  private tooLarge(maxBytes: number): CallFailure {
    // an error response is reported by its status
    return this.isSuccess ? answerTooLarge(this.sender.name, maxBytes) : this.errorOf('');
  }

  private errorOf(text: string): CallFailure {
    return errorResponse(
      this.sender,
      this.status,
      text,
      retryAfterMs(undici().util.parseHeaders(this.headers)),
    );
  }
}

const NOTHING = Buffer.alloc(0);

/** The handler that undici creates for a request, which it calls when it begins to write the request. */
interface SendingHandler {
  onConnect: (abort: (reason?: Error) => void, context: object) => void;
}

/** Returns a dispatcher that sets `isSent` of a request. */
function noting(request: ProviderRequest, dispatcher: Dispatcher): Dispatcher {
  const noted = Object.create(dispatcher) as Dispatcher;
  noted.dispatch = (options, handler) => {
    const sending = handler as SendingHandler;
    const onConnect = sending.onConnect.bind(sending);
    sending.onConnect = (...connection) => {
      request.isSent = true;
      onConnect(...connection);
    };
    return dispatcher.dispatch(options, handler);
  };
  return noted;
}

/** Returns the failure for an error of a request. Throws errors that are no failure of the provider. */
function failureOf(error: unknown, sender: FailedProvider): unknown {
  if (error instanceof CallFailure || error instanceof Problem) return error;
  if (error instanceof StreamFailure) return firstEventFailure(sender, error);
  return connectionFailure(sender.name, error);
}

const senderOf = ({ name, apiKey }: CalledProvider): FailedProvider => ({ name, apiKey: apiKey() });

function optionsOf(request: ProviderRequest, { apiKey }: FailedProvider, accept: string) {
  const { provider, path, body, headers, traceparent, timeoutMs } = request;
  const isAnthropic = provider.kind === 'anthropic';
  const all: Record<string, string> = {
    ...(isAnthropic && { 'anthropic-version': ANTHROPIC_VERSION }),
    ...headers,
    ...provider.headers,
    'content-type': 'application/json',
    accept,
  };
  if (apiKey !== null) {
    if (isAnthropic) all['x-api-key'] = apiKey;
    else all.authorization = `Bearer ${apiKey}`;
  }
  // tracing adds its own traceparent
  if (traceparent !== undefined && tracing().traceparent() === undefined) all.traceparent = traceparent;
  return {
    origin: provider.origin,
    path: provider.path + path + provider.query,
    method: 'POST' as const,
    headers: all,
    body,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  };
}
