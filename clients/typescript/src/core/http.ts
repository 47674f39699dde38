import type { RawBody, RequestOptions } from '../api/calls.cjs';
import { VERSION } from '../api/operations.js';
import type { ApiKeySource } from './config.js';
import { ConnectionError, ServiceError, TimeoutError } from './errors.js';
import { isTransient, withRetries, withSignal } from './retry.js';

/** Settings of a client that hold for each of its calls. */
export interface TransportOptions {
  url: string;
  apiKey: ApiKeySource;
  fetch?: typeof fetch | undefined;
  timeoutMs?: number | undefined;
  retryForMs?: number | undefined;
  maxRetries?: number | undefined;
  headers?: Record<string, string> | undefined;
}

/** A request, ready to be sent. */
export interface HttpRequest {
  method: string;
  /** Path and query. */
  target: string;
  headers: Record<string, string>;
  body?: RawBody | undefined;
  /** Whether it can be sent again without doing its work twice. */
  isRepeatable: boolean;
  /** Whether the response is handed out unread, whatever its type. */
  isRaw: boolean;
  /** Whether the response can be a stream, which is read after the call. */
  mayStream: boolean;
  /** Time limit of an attempt in milliseconds, unless the call or the client sets one. 0 means none. */
  timeoutMs: number;
}

/** A response with status 2xx. */
export interface HttpResponse {
  response: Response;
  /** The body if it is JSON, or null if it is left unread in `response`. */
  text: string | null;
  isRaw: boolean;
}

type StreamingInit = RequestInit & { duplex?: 'half' };

/** Sends requests: with the key, time limits, retries and errors. */
export class Transport {
  private token: Promise<string> | null = null;

  constructor(private readonly options: TransportOptions) {}

  /** Sends a request until it succeeds or its retries are used up. */
  async send(given: HttpRequest, call: RequestOptions = {}): Promise<HttpResponse> {
    const request = await withEncodedForm(given);
    const isStream = isStreamBody(request.body);
    const isSafe = (error: unknown): boolean =>
      !isStream &&
      isTransient(error) &&
      (request.isRepeatable || (error instanceof ServiceError && error.status === 429));
    return withRetries(() => this.attempt(request, call), {
      signal: call.signal,
      maxRetries: call.maxRetries ?? this.options.maxRetries ?? 4,
      retryForMs: call.retryForMs ?? (call.maxRetries === undefined ? this.options.retryForMs : undefined),
      isRetryable: isSafe,
      onRetry: call.onRetry,
    });
  }

  private async attempt(request: HttpRequest, call: RequestOptions): Promise<HttpResponse> {
    const token = await withSignal(this.currentToken(), call.signal);
    try {
      return await this.sendOnce(request, call, token);
    } catch (error) {
      const isRefused = error instanceof ServiceError && error.status === 401;
      if (!isRefused || typeof this.options.apiKey === 'string') throw error;
      const next = await withSignal(this.nextToken(token), call.signal);
      if (next === token || isStreamBody(request.body)) throw error;
      return this.sendOnce(request, call, next);
    }
  }

  private async sendOnce(request: HttpRequest, call: RequestOptions, token: string): Promise<HttpResponse> {
    const { signal } = call;
    const timeoutMs = call.timeoutMs ?? this.options.timeoutMs ?? request.timeoutMs;
    const controller = new AbortController();
    const abort = (): void => controller.abort(signal?.reason);
    const timedOut = new TimeoutError(`${this.options.url} did not answer within ${timeoutMs} ms`);
    const timer = timeoutMs > 0 ? setTimeout(() => controller.abort(timedOut), timeoutMs) : undefined;
    signal?.addEventListener('abort', abort, { once: true });
    // a stream outlives this function, so the platform has to forget the signal
    const combined =
      request.mayStream && signal ? AbortSignal.any([signal, controller.signal]) : controller.signal;
    try {
      signal?.throwIfAborted();
      const send = this.options.fetch ?? fetch;
      const response = await send(
        this.options.url + request.target,
        this.init(request, call, token, combined),
      );
      if (!response.ok) throw new ServiceError(response, await response.text());
      const isJson = !request.isRaw && isJsonType(response.headers.get('content-type'));
      return { response, text: isJson ? await response.text() : null, isRaw: request.isRaw };
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      if (signal?.aborted) throw signal.reason as Error;
      if (controller.signal.aborted) throw timedOut;
      throw new ConnectionError(`No answer from ${this.options.url}: ${reasonOf(error)}`, { cause: error });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  }

  private init(
    request: HttpRequest,
    call: RequestOptions,
    token: string,
    signal: AbortSignal,
  ): StreamingInit {
    const { method, body } = request;
    const headers = {
      accept: 'application/json',
      ...(typeof process === 'undefined' ? {} : { 'user-agent': `agent-registry-typescript/${VERSION}` }),
      ...this.options.headers,
      ...request.headers,
      ...lowerCase(call.headers),
      authorization: `Bearer ${token}`,
    };
    // a redirect would repeat any other method as GET
    const redirect = method === 'GET' || method === 'HEAD' ? 'follow' : 'error';
    const init: StreamingInit = { method, headers, signal, redirect };
    if (body === undefined) return init;
    if (!isStreamBody(body)) return { ...init, body: body as BodyInit };
    return { ...init, body: toReadableStream(body), duplex: 'half' };
  }

  private currentToken(): Promise<string> {
    this.token ??= this.readToken();
    return this.token;
  }

  /** Asks for another token, once for all calls whose token was refused. */
  private async nextToken(refused: string): Promise<string> {
    if ((await this.currentToken()) === refused) this.token = this.readToken();
    return this.currentToken();
  }

  private readToken(): Promise<string> {
    const { apiKey } = this.options;
    const token = Promise.resolve(typeof apiKey === 'string' ? apiKey : apiKey());
    token.catch(() => {
      if (this.token === token) this.token = null; // so that the next call asks again
    });
    return token;
  }
}

const isJsonType = (type: string | null): boolean => /^application\/(?:[\w.-]+\+)?json\b/i.test(type ?? '');

function lowerCase(headers: Record<string, string> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** Returns the innermost reason why `fetch` failed, such as "connect ECONNREFUSED 127.0.0.1:8080". */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = (error as { code?: string }).code;
  return error.cause ? reasonOf(error.cause) : error.message || code || error.name;
}

/** Encodes a form once, because each encoding has another boundary, and a repeat has to have the same body. */
async function withEncodedForm(request: HttpRequest): Promise<HttpRequest> {
  if (!(request.body instanceof FormData)) return request;
  const encoded = new Response(request.body);
  const type = encoded.headers.get('content-type') ?? '';
  return {
    ...request,
    headers: { ...request.headers, 'content-type': type },
    body: await encoded.arrayBuffer(),
  };
}

type StreamBody = ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

function isStreamBody(body: RawBody | undefined): body is StreamBody {
  return typeof body === 'object' && (body instanceof ReadableStream || Symbol.asyncIterator in body);
}

function toReadableStream(body: StreamBody): ReadableStream<Uint8Array> {
  if (body instanceof ReadableStream) return body;
  const iterator = body[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const next = await iterator.next();
      if (next.done) controller.close();
      else controller.enqueue(next.value);
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}
