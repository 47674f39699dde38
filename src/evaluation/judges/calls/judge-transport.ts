import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Agent, request } from 'undici';
import { Environment } from '#platform/config';
import { readCapped, retryAfterMs } from '#platform/outbound';

/** Longest answer that is read, in bytes. A longer one is no judgement. */
const ANSWER_MAX = 1024 * 1024;
const CONNECT_MS = 10_000;
/** The code by which OpenAI's API says, with status 429, that an account is used up. */
const NO_QUOTA = '"insufficient_quota"';

/** Where a judge is reached. */
export interface JudgeAddress {
  url: string;
  apiKey: string | undefined;
  /** Milliseconds from sending a request to the end of its answer. */
  timeoutMs: number;
}

/** What came of sending a request once. */
export type Attempt =
  /** The answer, which was JSON. */
  | { value: unknown }
  /** The judge refused the request, and would refuse it again. */
  | { status: number; text: string }
  /** The answer is too large to read. A repeat would cost the same and be as large. */
  | { tooLarge: true }
  /** A repeat may succeed. `lost`: an answer arrived in whole or in part and cannot be used, but may be charged. */
  | { trouble: string; retryAfterMs?: number; isLimit: boolean; lost?: 'whole' | 'part' };

/** Sends requests to one judge over HTTP. Does not follow redirects: a request goes where the operator said, or nowhere. */
export class JudgeTransport {
  private readonly agent = new Agent({
    connect: { timeout: CONNECT_MS },
    // One deadline covers the whole attempt, see `send`.
    headersTimeout: 0,
    bodyTimeout: 0,
  });

  constructor(private readonly address: JudgeAddress) {}

  /** Throws the signal's reason when it is aborted, and nothing else. */
  async send(body: string, signal: AbortSignal): Promise<Attempt> {
    signal.throwIfAborted();
    const timeout = AbortSignal.timeout(this.address.timeoutMs);
    try {
      return await this.exchange(body, AbortSignal.any([signal, timeout]));
    } catch (error) {
      signal.throwIfAborted();
      const seconds = this.address.timeoutMs / 1000;
      const trouble = timeout.aborted ? `did not answer within ${seconds} s` : troubleOf(error);
      const isBegun = timeout.aborted || trouble === CLOSED;
      return { trouble, isLimit: false, ...(isBegun && { lost: 'part' }) };
    }
  }

  close(): Promise<void> {
    return this.agent.destroy();
  }

  private async exchange(body: string, signal: AbortSignal): Promise<Attempt> {
    const { url, apiKey } = this.address;
    const response = await request(url, {
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
    const text = answer === undefined ? undefined : this.withoutSecret(answer);
    const { statusCode: status, headers } = response;
    if (isTransient(status) && !(status === 429 && text?.includes(NO_QUOTA))) {
      return { trouble: `answered ${status}`, retryAfterMs: retryAfterMs(headers), isLimit: status === 429 };
    }
    if (status < 200 || status > 299) return { status, text: text ?? '' };
    if (text === undefined) return { tooLarge: true };
    try {
      return { value: JSON.parse(text) as unknown };
    } catch {
      return { trouble: 'answered with something else than JSON', isLimit: false, lost: 'whole' };
    }
  }

  /** Removes the API key, because some judges repeat what they were sent. */
  private withoutSecret(text: string): string {
    const { apiKey } = this.address;
    return apiKey === undefined ? text : text.replaceAll(apiKey, '…');
  }
}

/** Statuses after which a repeat may succeed: too many requests, timeouts and faults of the server. */
const isTransient = (status: number): boolean =>
  status === 408 || status === 425 || status === 429 || (status >= 500 && status !== 501 && status !== 505);

/** Describes an error without the operator's network addresses, which errors of sockets repeat. */
function troubleOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? (TROUBLES[code] ?? `could not be asked (${code})`) : 'could not be asked';
}

const CLOSED = 'closed the connection before its answer was complete';
const TROUBLES: Record<string, string> = {
  ECONNREFUSED: 'cannot be reached',
  ENOTFOUND: 'cannot be found',
  EAI_AGAIN: 'cannot be found',
  ECONNRESET: CLOSED,
  EPIPE: CLOSED,
  UND_ERR_SOCKET: CLOSED,
  UND_ERR_CONNECT_TIMEOUT: 'cannot be reached in time',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: CLOSED,
};

/** The transports to the judges that the environment configures. Closed with the application. */
@Injectable()
export class JudgeTransports implements OnApplicationShutdown {
  readonly llm: JudgeTransport | undefined;
  readonly classifier: JudgeTransport | undefined;

  constructor(environment: Environment) {
    const { JUDGE_BASE_URL, JUDGE_API_KEY, CLASSIFIER_BASE_URL, CLASSIFIER_API_KEY } = environment;
    const timeoutMs = environment.JUDGE_TIMEOUT_MS;
    if (JUDGE_BASE_URL !== undefined) {
      const url = chatCompletionsOf(JUDGE_BASE_URL);
      this.llm = new JudgeTransport({ url, apiKey: JUDGE_API_KEY, timeoutMs });
    }
    if (CLASSIFIER_BASE_URL !== undefined) {
      this.classifier = new JudgeTransport({
        url: CLASSIFIER_BASE_URL,
        apiKey: CLASSIFIER_API_KEY,
        timeoutMs,
      });
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.llm?.close(), this.classifier?.close()]);
  }
}

/** Returns the URL below a base URL, as clients of OpenAI's API build it. Keeps its query. */
function chatCompletionsOf(base: string): string {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/(\/chat\/completions)?\/*$/, '')}/chat/completions`;
  return url.href;
}
