import { Injectable } from '@nestjs/common';
import type { Dispatcher } from 'undici';
import { OutboundHttp, readCapped, retryAfterMs, undici } from '#platform/outbound';
import { SealedSecretError } from '#platform/secrets';
import { tracing } from '#platform/tracing';
import { type CalledProvider, ModelDirectory } from '../models/model-directory';
import { type CallFormat, WIRE_PATHS } from './call-format';
import { connectionFailure, type Failing, notCallable, refusal } from './provider-failures';

/** Largest refusal that is read, in bytes. */
const REFUSAL_MAX = 64 * 1024;

/** The version of Anthropic's API that is asked for unless the client names one. */
const ANTHROPIC_VERSION = '2023-06-01';

/** A request to a provider, sent once. */
export interface ProviderRequest {
  provider: CalledProvider;
  /** The format of the body. */
  wire: CallFormat;
  body: Uint8Array;
  isStream: boolean;
  /** Headers of the client that belong to the format, by lower-case name. */
  headers: Readonly<Record<string, string>>;
  traceparent: string;
  /** Milliseconds for the headers of the response, and then for each part of it. */
  timeoutMs: number;
  signal: AbortSignal;
}

/** A response with status 200. Its body must be read or destroyed. */
export interface ProviderResponse {
  /** The provider, for failures of the body. */
  failing: Failing;
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

  /** Sends a request, and returns the response once its headers are there. Throws `CallFailure`, or the signal's reason. */
  async send(request: ProviderRequest): Promise<ProviderResponse> {
    const { provider, wire, signal, timeoutMs } = request;
    const failing: Failing = { name: provider.name, apiKey: this.apiKeyOf(provider) };
    let response: Dispatcher.ResponseData;
    try {
      this.outbound.checkUrl(provider.base);
      response = await undici().request(`${provider.base.href.replace(/\/$/, '')}${WIRE_PATHS[wire]}`, {
        method: 'POST',
        dispatcher: this.outbound.dispatcher,
        headers: headersOf(request, failing.apiKey),
        body: request.body,
        signal,
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
      });
    } catch (error) {
      signal.throwIfAborted();
      throw connectionFailure(failing, error);
    }
    const { statusCode, headers, body } = response;
    if (statusCode === 200) return { failing, contentType: String(headers['content-type'] ?? ''), body };
    throw await this.refused(failing, response, signal);
  }

  private async refused(
    failing: Failing,
    { statusCode, headers, body }: Dispatcher.ResponseData,
    signal: AbortSignal,
  ) {
    const text = await readCapped(body, REFUSAL_MAX).catch(() => undefined);
    signal.throwIfAborted();
    // without a text, the status says enough
    return refusal(failing, statusCode, text ?? '', retryAfterMs(headers));
  }

  private apiKeyOf(provider: CalledProvider): string | null {
    try {
      return this.models.apiKeyOf(provider);
    } catch (error) {
      if (!(error instanceof SealedSecretError)) throw error;
      throw notCallable(
        `The API key of the provider ${provider.name} cannot be decrypted, because SECRETS_KEY has changed. Set \`api_key\` again.`,
      );
    }
  }
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
    // tracing adds its own
    ...(tracing().traceparent() === undefined && { traceparent }),
    'content-type': 'application/json',
    accept: isStream ? 'text/event-stream' : 'application/json',
  };
}

const lowerCased = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
