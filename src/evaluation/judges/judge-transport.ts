import type { Environment } from '#platform/config';
import { isJsonObject } from '#platform/json';
import { readCapped, retryAfterMs, undici } from '#platform/outbound';
import { Problem } from '#platform/problem';
import type { InternalCalls } from '../../model-gateway';
import type { JudgeServer } from './judge-backend';

/** Largest response that is read, in bytes. */
const ANSWER_MAX = 1024 * 1024;
const CONNECT_MS = 10_000;
/** The error code of OpenAI's API, with status 429, for an account without credit. */
const NO_QUOTA = 'insufficient_quota';
/** The principal under which the usage of judges is recorded. */
const PRINCIPAL = 'judges';

/** The outcome of sending a request once. */
export type AttemptOutcome =
  /** The JSON of the answer. */
  | { value: unknown; server: JudgeServer }
  /** The judge refused the request, and would refuse it again. */
  | { status: number; text: string }
  /** The answer is too large to read. A retry would cost the same and be as large. */
  | { tooLarge: true }
  /** A retry may succeed. `lostAnswer`: an answer that arrived in whole or in part is unusable, but may be charged. */
  | { failure: string; retryAfterMs?: number; isRateLimited: boolean; lostAnswer?: 'whole' | 'part' };

/** Sends requests to one judge. */
export abstract class JudgeTransport {
  /** Identifies the server, so that cached answers of another one are not used. */
  abstract readonly baseUrl: string;

  /** @param timeoutMs longest time from sending a request to the end of its response */
  constructor(private readonly timeoutMs: number) {}

  /** Sends a request once. Throws only the signal's reason, when it is aborted. */
  async send(body: string, signal: AbortSignal): Promise<AttemptOutcome> {
    signal.throwIfAborted();
    const timeout = AbortSignal.timeout(this.timeoutMs);
    try {
      return await this.exchange(body, AbortSignal.any([signal, timeout]));
    } catch (error) {
      signal.throwIfAborted();
      if (!timeout.aborted) return this.outcomeOf(error);
      const failure = `did not respond within ${this.timeoutMs / 1000} s`;
      return { failure, isRateLimited: false, lostAnswer: 'part' };
    }
  }

  protected abstract exchange(body: string, signal: AbortSignal): Promise<AttemptOutcome>;
  /** Returns the outcome of an exchange that threw an error before its timeout. */
  protected abstract outcomeOf(error: unknown): AttemptOutcome;
}

/** Sends requests over HTTP. Follows no redirects, so that requests go only to the configured host. */
export class HttpTransport extends JudgeTransport {
  private readonly agent = new (undici().Agent)({
    connect: { timeout: CONNECT_MS },
    // One deadline covers the whole attempt, see `send`.
    headersTimeout: 0,
    bodyTimeout: 0,
  });

  private constructor(
    private readonly url: string,
    private readonly server: JudgeServer,
    private readonly apiKey: string | undefined,
    timeoutMs: number,
  ) {
    super(timeoutMs);
  }

  /** Returns the transport to the configured model. Builds the URL as OpenAI's clients do. Keeps the query string. */
  static llm({ JUDGE_BASE_URL, JUDGE_API_KEY, JUDGE_TIMEOUT_MS }: Environment): HttpTransport | undefined {
    if (JUDGE_BASE_URL === undefined) return undefined;
    const url = new URL(JUDGE_BASE_URL);
    url.pathname = `${basePathOf(url)}/chat/completions`;
    const server = { provider_kind: 'openai', base_url: baseUrlOf(JUDGE_BASE_URL) } as const;
    return new HttpTransport(url.href, server, JUDGE_API_KEY, JUDGE_TIMEOUT_MS);
  }

  /** Returns the transport to the configured classifier. */
  static classifier(environment: Environment): HttpTransport | undefined {
    const { CLASSIFIER_BASE_URL, CLASSIFIER_API_KEY, JUDGE_TIMEOUT_MS } = environment;
    if (CLASSIFIER_BASE_URL === undefined) return undefined;
    const server = { provider_kind: 'classifier', base_url: baseUrlOf(CLASSIFIER_BASE_URL) } as const;
    return new HttpTransport(CLASSIFIER_BASE_URL, server, CLASSIFIER_API_KEY, JUDGE_TIMEOUT_MS);
  }

  get baseUrl(): string {
    return this.server.base_url;
  }

  close(): Promise<void> {
    return this.agent.destroy();
  }

  protected async exchange(body: string, signal: AbortSignal): Promise<AttemptOutcome> {
    const { apiKey, server } = this;
    const response = await undici().request(this.url, {
      method: 'POST',
      dispatcher: this.agent,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
      },
      body,
      signal,
    });
    const answer = await readCapped(response.body, ANSWER_MAX);
    // Some judges repeat the API key in their answers.
    const text = apiKey === undefined ? answer : answer?.replaceAll(apiKey, '…');
    const { statusCode: status, headers } = response;
    if (isTransient(status) && !(status === 429 && text?.includes(`"${NO_QUOTA}"`))) {
      const isRateLimited = status === 429;
      return { failure: `returned ${status}`, retryAfterMs: retryAfterMs(headers), isRateLimited };
    }
    if (status < 200 || status > 299) return { status, text: text ?? '' };
    if (text === undefined) return { tooLarge: true };
    try {
      return { value: JSON.parse(text) as unknown, server };
    } catch {
      return { failure: 'did not return JSON', isRateLimited: false, lostAnswer: 'whole' };
    }
  }

  /** Describes the error without the network addresses that messages of socket errors contain. */
  protected outcomeOf(error: unknown): AttemptOutcome {
    const code = (error as { code?: unknown } | null)?.code;
    const failure =
      typeof code === 'string' ? (FAILURES[code] ?? `could not be called (${code})`) : 'could not be called';
    return { failure, isRateLimited: false, ...(failure === CLOSED && { lostAnswer: 'part' }) };
  }
}

/** Tells whether a retry may succeed after this status: too many requests, a timeout or a server error. */
const isTransient = (status: number): boolean =>
  status === 408 || status === 425 || status === 429 || (status >= 500 && status !== 501 && status !== 505);

const CLOSED = 'closed the connection before its answer was complete';
const FAILURES: Record<string, string> = {
  ECONNREFUSED: 'cannot be reached',
  ENOTFOUND: 'cannot be found',
  EAI_AGAIN: 'cannot be found',
  ECONNRESET: CLOSED,
  EPIPE: CLOSED,
  UND_ERR_SOCKET: CLOSED,
  UND_ERR_CONNECT_TIMEOUT: 'cannot be reached in time',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: CLOSED,
};

/** Returns a base URL in one spelling and without credentials, to identify the server. */
function baseUrlOf(base: string): string {
  const url = new URL(base);
  url.username = url.password = '';
  url.pathname = basePathOf(url);
  return url.href;
}

const basePathOf = ({ pathname }: URL): string => pathname.replace(/(\/chat\/completions)?\/*$/, '');

/** Sends requests to a gateway model. */
export class GatewayTransport extends JudgeTransport {
  /** The name of the judge's model identifies the servers. */
  readonly baseUrl = '';

  constructor(
    private readonly calls: InternalCalls,
    private readonly modelId: string,
    timeoutMs: number,
  ) {
    super(timeoutMs);
  }

  protected async exchange(body: string, signal: AbortSignal): Promise<AttemptOutcome> {
    const model = await this.calls.findById(this.modelId);
    if (!model) return { status: 404, text: refusalText('The gateway model was archived.') };
    const call = { model, format: 'chat', body, principalId: PRINCIPAL, signal } as const;
    const { bytes, costUsd, target } = await this.calls.call(call);
    if (bytes.length > ANSWER_MAX) return { tooLarge: true };
    const { provider, upstream_model } = target!; // internal calls get no cached answers
    const server = { provider_kind: provider.kind, base_url: provider.base.href };
    const value: unknown = JSON.parse(Buffer.from(bytes).toString());
    if (!isJsonObject(value)) return { value, server };
    const answered = typeof value.model === 'string' && value.model !== '' ? value.model : upstream_model;
    // In the member where gateways report it, so that the run counts the same cost as the gateway.
    const usage = { ...(isJsonObject(value.usage) && value.usage), cost: costUsd };
    return { value: { ...value, model: answered, ...(costUsd !== null && { usage }) }, server };
  }

  protected outcomeOf(error: unknown): AttemptOutcome {
    if (!(error instanceof Problem)) throw error;
    const { status, detail, headers, members } = error;
    const text = refusalText(detail);
    if (members.error_code === NO_QUOTA) return { status: 402, text };
    // The address of the provider is not public. A 403 would mean that the judge rejected the key of this service.
    if (status === 403) return { status: 502, text };
    if (status < 500 && status !== 429) return { status, text };
    const seconds = Number(headers['Retry-After'] ?? NaN);
    return {
      failure: `could not be called through the gateway: ${detail.replace(/\.$/, '')}`,
      isRateLimited: status === 429,
      ...(Number.isFinite(seconds) && { retryAfterMs: seconds * 1000 }),
    };
  }
}

const refusalText = (message: string): string => JSON.stringify({ error: { message } });
