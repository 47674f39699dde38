import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Environment } from '#platform/config';
import { readCapped, retryAfterMs, undici } from '#platform/outbound';
import type { JudgeServer } from '../judge-backend';

/** Largest response that is read, in bytes. */
const ANSWER_MAX = 1024 * 1024;
const CONNECT_MS = 10_000;
/** The error code of OpenAI's API, with status 429, for an account without credit. */
const NO_QUOTA = '"insufficient_quota"';

/** The address of a judge. */
export interface JudgeAddress {
  url: string;
  server: JudgeServer;
  apiKey: string | undefined;
  /** Longest time from sending a request to the end of its response, in ms. */
  timeoutMs: number;
}

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

/** Sends requests to one judge over HTTP. Follows no redirects, so that requests go only to the configured host. */
export class JudgeTransport {
  private readonly agent = new (undici().Agent)({
    connect: { timeout: CONNECT_MS },
    // One deadline covers the whole attempt, see `send`.
    headersTimeout: 0,
    bodyTimeout: 0,
  });

  constructor(private readonly address: JudgeAddress) {}

  /** Identifies the judge. */
  get baseUrl(): string {
    return this.address.server.base_url;
  }

  /** Sends a request once. Throws only the signal's reason, when it is aborted. */
  async send(body: string, signal: AbortSignal): Promise<AttemptOutcome> {
    signal.throwIfAborted();
    const timeout = AbortSignal.timeout(this.address.timeoutMs);
    try {
      return await this.exchange(body, AbortSignal.any([signal, timeout]));
    } catch (error) {
      signal.throwIfAborted();
      const seconds = this.address.timeoutMs / 1000;
      const failure = timeout.aborted ? `did not respond within ${seconds} s` : failureOf(error);
      const isAnswerLost = timeout.aborted || failure === CLOSED;
      return { failure, isRateLimited: false, ...(isAnswerLost && { lostAnswer: 'part' }) };
    }
  }

  close(): Promise<void> {
    return this.agent.destroy();
  }

  private async exchange(body: string, signal: AbortSignal): Promise<AttemptOutcome> {
    const { url, apiKey } = this.address;
    const response = await undici().request(url, {
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
    const text = answer === undefined ? undefined : this.redactApiKey(answer);
    const { statusCode: status, headers } = response;
    if (isTransient(status) && !(status === 429 && text?.includes(NO_QUOTA))) {
      return {
        failure: `returned ${status}`,
        retryAfterMs: retryAfterMs(headers),
        isRateLimited: status === 429,
      };
    }
    if (status < 200 || status > 299) return { status, text: text ?? '' };
    if (text === undefined) return { tooLarge: true };
    try {
      return { value: JSON.parse(text) as unknown, server: this.address.server };
    } catch {
      return { failure: 'did not return JSON', isRateLimited: false, lostAnswer: 'whole' };
    }
  }

  /** Redacts the API key, because some judges repeat it in their answers. */
  private redactApiKey(text: string): string {
    const { apiKey } = this.address;
    return apiKey === undefined ? text : text.replaceAll(apiKey, '…');
  }
}

/** Tells whether a retry may succeed after this status: too many requests, a timeout or a server error. */
const isTransient = (status: number): boolean =>
  status === 408 || status === 425 || status === 429 || (status >= 500 && status !== 501 && status !== 505);

/** Describes an error, without the network addresses that messages of socket errors contain. */
function failureOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string'
    ? (FAILURES[code] ?? `could not be called (${code})`)
    : 'could not be called';
}

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

/** The transports to the configured judges. Closed with the application. */
@Injectable()
export class JudgeTransports implements OnApplicationShutdown {
  readonly llm: JudgeTransport | undefined;
  readonly classifier: JudgeTransport | undefined;

  constructor(environment: Environment) {
    const { JUDGE_BASE_URL, JUDGE_API_KEY, CLASSIFIER_BASE_URL, CLASSIFIER_API_KEY } = environment;
    const timeoutMs = environment.JUDGE_TIMEOUT_MS;
    if (JUDGE_BASE_URL !== undefined) {
      const url = chatCompletionsOf(JUDGE_BASE_URL);
      const server = { provider_kind: 'openai', base_url: baseUrlOf(JUDGE_BASE_URL) } as const;
      this.llm = new JudgeTransport({ url, server, apiKey: JUDGE_API_KEY, timeoutMs });
    }
    if (CLASSIFIER_BASE_URL !== undefined) {
      this.classifier = new JudgeTransport({
        url: CLASSIFIER_BASE_URL,
        server: { provider_kind: 'classifier', base_url: baseUrlOf(CLASSIFIER_BASE_URL) },
        apiKey: CLASSIFIER_API_KEY,
        timeoutMs,
      });
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.llm?.close(), this.classifier?.close()]);
  }
}

/** Returns the chat completions URL for a base URL, as OpenAI's clients build it. Keeps the query string. */
function chatCompletionsOf(base: string): string {
  const url = new URL(base);
  url.pathname = `${basePathOf(url)}/chat/completions`;
  return url.href;
}

/** Returns a base URL in one spelling and without credentials, to identify the server. */
function baseUrlOf(base: string): string {
  const url = new URL(base);
  url.username = url.password = '';
  url.pathname = basePathOf(url);
  return url.href;
}

const basePathOf = ({ pathname }: URL): string => pathname.replace(/(\/chat\/completions)?\/*$/, '');
