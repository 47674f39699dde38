import { Injectable } from '@nestjs/common';
import type { Dispatcher } from 'undici';
import type { ByteLease } from '#platform/concurrency';
import { OutboundHttp, readCapped, retryAfterMs } from '#platform/outbound';
import { SealedSecretError } from '#platform/secrets';
import { tracing } from '#platform/tracing';
import { type CalledProvider, ModelDirectory } from '../models/model-directory';
import type { Attempt } from './attempt';
import { type CallFormat, WIRE_PATHS } from './call-format';
import { answerTooLarge, errorResponse, type FailedProvider, targetUnavailable } from './provider-failures';
import { wholeResponse } from './whole-response';

/** Maximum size of an answer, in bytes. */
const ANSWER_MAX = 64 * 1024 * 1024;
/** Maximum size of an error response that is read, in bytes. */
const ERROR_MAX = 64 * 1024;

/** The version of Anthropic's API to request if the client does not name one. */
const ANTHROPIC_VERSION = '2023-06-01';

/** One request to a provider. */
export interface ProviderRequest {
  provider: CalledProvider;
  /** The format of the body. */
  wire: CallFormat;
  body: Uint8Array;
  isStream: boolean;
  /** The client's headers that belong to the format, by lower-case name. */
  headers: Readonly<Record<string, string>>;
  traceparent: string;
  /** Timeout for the response headers, and then for each part of the response, in milliseconds. */
  timeoutMs: number;
  attempt: Attempt;
}

/** A response with status 200. Its body must be read or destroyed. */
export interface ProviderResponse {
  /** The provider, for failures while the body is read. */
  sender: FailedProvider;
  contentType: string;
  body: Dispatcher.ResponseData['body'];
}

/** Sends requests to providers. */
@Injectable()
export class ProviderClient {
  constructor(
    private readonly outbound: OutboundHttp,
    private readonly models: ModelDirectory,
  ) {}

  /**
   * Sends a request, and returns the body of a response with status 200. Throws `CallFailure`, the error of `lease`, or the reason
   * that stopped the attempt.
   */
  async whole(request: ProviderRequest, lease: ByteLease | undefined): Promise<Buffer> {
    const { provider, attempt } = request;
    const sender = this.senderOf(provider);
    this.outbound.checkUrl(provider.base);
    attempt.isSent = true;
    const { statusCode, headers, body } = await wholeResponse(
      this.outbound.dispatcher,
      optionsOf(request, sender.apiKey),
      {
        maxBytes: (status) => (status === 200 ? ANSWER_MAX : ERROR_MAX),
        onBytes: (bytes) => lease?.grow(bytes),
        onStart: (abort) => attempt.onStop(abort),
      },
    );
    // an error response without a text is reported by its status
    if (statusCode !== 200)
      throw errorResponse(sender, statusCode, body?.toString() ?? '', retryAfterMs(headers()));
    if (!body) throw answerTooLarge(provider.name, ANSWER_MAX);
    return body;
  }

  /** Sends a request, and returns the response once its headers have arrived. Errors: as for `whole`. */
  async stream(request: ProviderRequest): Promise<ProviderResponse> {
    const { provider, attempt } = request;
    const sender = this.senderOf(provider);
    this.outbound.checkUrl(provider.base);
    attempt.isSent = true;
    const { statusCode, headers, body } = await this.outbound.dispatcher.request({
      ...optionsOf(request, sender.apiKey),
      signal: attempt.signal(),
    });
    if (statusCode === 200) return { sender, contentType: String(headers['content-type'] ?? ''), body };
    const text = await readCapped(body, ERROR_MAX).catch(() => undefined);
    throw errorResponse(sender, statusCode, text ?? '', retryAfterMs(headers));
  }

  private senderOf(provider: CalledProvider): FailedProvider {
    return { name: provider.name, apiKey: this.apiKeyOf(provider) };
  }

  private apiKeyOf(provider: CalledProvider): string | null {
    try {
      return this.models.apiKeyOf(provider);
    } catch (error) {
      if (!(error instanceof SealedSecretError)) throw error;
      throw targetUnavailable(
        `The API key of the provider ${provider.name} cannot be decrypted, because SECRETS_KEY has changed. Set \`api_key\` again.`,
      );
    }
  }
}

function optionsOf(request: ProviderRequest, apiKey: string | null) {
  const { provider, wire, body, timeoutMs } = request;
  const { origin, pathname } = provider.base;
  return {
    origin,
    path: `${pathname.replace(/\/$/, '')}${WIRE_PATHS[wire]}`,
    method: 'POST' as const,
    headers: headersOf(request, apiKey),
    body,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  };
}

function headersOf(
  { provider, isStream, headers, traceparent }: ProviderRequest,
  apiKey: string | null,
): Record<string, string> {
  const isAnthropic = provider.kind === 'anthropic';
  const credential: Record<string, string> =
    apiKey === null ? {} : isAnthropic ? { 'x-api-key': apiKey } : { authorization: `Bearer ${apiKey}` };
  return {
    ...(isAnthropic && { 'anthropic-version': ANTHROPIC_VERSION }),
    ...headers,
    ...lowerCased(provider.headers),
    ...credential,
    // tracing adds its own traceparent
    ...(tracing().traceparent() === undefined && { traceparent }),
    'content-type': 'application/json',
    accept: isStream ? 'text/event-stream' : 'application/json',
  };
}

const lowerCased = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
