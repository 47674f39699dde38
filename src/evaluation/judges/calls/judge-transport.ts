import { Agent, type Dispatcher, request } from 'undici';

/** Bytes of an answer that are read. What is longer is no judgement. */
const ANSWER_MAX = 1024 * 1024;
const CONNECT_MS = 10_000;
/** By this code OpenAI's API says that an account is used up, by the status of a rate that passes. */
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
  /** It was understood and refused; the same again would be, too. */
  | { status: number; text: string }
  /** Its answer is too large to be read: the same again would be, too, and would cost as much. */
  | { tooLarge: true }
  /** It may do better another time. `lost`: an answer that cannot be used, as a whole or broken off. */
  | { trouble: string; retryAfterMs?: number; isLimit: boolean; lost?: 'whole' | 'part' };

/** Sends requests to one judge over HTTP. Redirects are not followed: the request goes where the operator said, or nowhere. */
export class JudgeTransport {
  private readonly agent = new Agent({
    connect: { timeout: CONNECT_MS },
    // the whole of an attempt has one deadline, see below
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
    const answer = await readUpTo(ANSWER_MAX, response.body);
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

  /** Of whatever it answers: some repeat what they were sent. */
  private withoutSecret(text: string): string {
    const { apiKey } = this.address;
    return apiKey === undefined ? text : text.replaceAll(apiKey, '…');
  }
}

/** @returns undefined for a longer one, of which no more is read */
async function readUpTo(max: number, body: Dispatcher.ResponseData['body']): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    // leaving the loop destroys the stream, and with it the connection
    if (size > max) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Statuses after which the same request may be answered: too many requests, timeouts, and what is the server's fault. */
const isTransient = (status: number): boolean =>
  status === 408 || status === 425 || status === 429 || (status >= 500 && status !== 501 && status !== 505);

type Headers = Dispatcher.ResponseData['headers'];

/** How long to wait, in ms, by `Retry-After` (RFC 9110 section 10.2.3: seconds or a date), or `retry-after-ms`. */
export function retryAfterMs(headers: Headers, now = Date.now()): number | undefined {
  const ms = Number(single(headers['retry-after-ms']) || NaN);
  if (ms >= 0) return ms;
  const given = single(headers['retry-after'])?.trim();
  if (!given) return undefined;
  if (/^\d+(\.\d+)?$/.test(given)) return Number(given) * 1000;
  const date = Date.parse(given);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

const single = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value;

/** What went wrong, without addresses of the operator's network, which errors of sockets repeat. */
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
