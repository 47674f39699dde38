import { isJsonObject } from '#platform/json';
import { Problem } from '#platform/problem';
import type { InternalCalls } from '../../../model-gateway';
import type { AttemptOutcome } from '../calls/judge-transport';

/** Largest response that is read, in bytes. */
const ANSWER_MAX = 1024 * 1024;

/** The principal under which the usage of judges is recorded. */
const PRINCIPAL = 'judges';

/** Sends the requests of a judge to a gateway model. */
export class GatewayTransport {
  constructor(
    private readonly calls: InternalCalls,
    private readonly modelId: string,
    private readonly timeoutMs: number,
  ) {}

  /** Sends a request once. Throws only the signal's reason, when it is aborted. */
  async send(body: string, signal: AbortSignal): Promise<AttemptOutcome> {
    signal.throwIfAborted();
    const timeout = AbortSignal.timeout(this.timeoutMs);
    try {
      return await this.exchange(body, AbortSignal.any([signal, timeout]));
    } catch (error) {
      signal.throwIfAborted();
      if (timeout.aborted) {
        const failure = `did not respond within ${this.timeoutMs / 1000} s`;
        return { failure, isRateLimited: false, lostAnswer: 'part' };
      }
      return outcomeOf(error);
    }
  }

  private async exchange(body: string, signal: AbortSignal): Promise<AttemptOutcome> {
    const called = await this.calls.findById(this.modelId);
    if (!called) return { status: 404, text: refusalText('The gateway model was archived.') };
    const call = { model: called, format: 'chat', body, principalId: PRINCIPAL, signal } as const;
    const { bytes, costUsd, target } = await this.calls.call(call);
    if (bytes.length > ANSWER_MAX) return { tooLarge: true };
    const { provider, upstream_model } = target!; // internal calls get no cached answers
    const server = { provider_kind: provider.kind, base_url: provider.base.href };
    const value: unknown = JSON.parse(Buffer.from(bytes).toString());
    if (!isJsonObject(value)) return { value, server };
    const model = typeof value.model === 'string' && value.model !== '' ? value.model : upstream_model;
    // In the member where gateways report it, so that the run counts the same cost as the gateway.
    const usage = { ...(isJsonObject(value.usage) && value.usage), cost: costUsd };
    return { value: { ...value, model, ...(costUsd !== null && { usage }) }, server };
  }
}

function outcomeOf(error: unknown): AttemptOutcome {
  if (!(error instanceof Problem)) throw error;
  const { status, detail, headers, members } = error;
  const text = refusalText(detail);
  if (members.error_code === 'insufficient_quota') return { status: 402, text };
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

const refusalText = (message: string): string => JSON.stringify({ error: { message } });
