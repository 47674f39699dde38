import { Injectable } from '@nestjs/common';
import type { ByteLease } from '#platform/concurrency';
import { problem } from '#platform/problem';
import { countOf, type JsonObject, parsedObject } from '../formats/json-shape';
import { estimatedInputTokens } from '../formats/token-estimate';
import type { CalledModel, CalledTarget } from '../models/model-directory';
import { CallFailure } from './call-failure';
import { WIRE_PATHS } from './call.types';
import { ParsingTurns } from './parsing-turns';
import { ProviderClient } from './provider-client';
import { translateRequest } from './request-translation';
import { targetOrder } from './target-caller';
import { TargetHealth } from './target-health';

/** Below the path of messages, at the gateway and at Anthropic. */
export const COUNT_PATH = `${WIRE_PATHS.messages}/count_tokens`;
/** Maximum size of the provider's answer, in bytes. */
const ANSWER_MAX = 64 * 1024;

export interface CountRequest {
  model: CalledModel;
  /** A Messages request, without `max_tokens` and `stream`. */
  body: Buffer;
  /** The client's headers that belong to the format, by lower-case name. */
  headers: Readonly<Record<string, string>>;
  traceparent: string;
  signal: AbortSignal;
  lease: ByteLease | undefined;
}

/** Counts the input tokens of Messages requests. A count costs nothing, and is not recorded. */
@Injectable()
export class TokenCounter {
  constructor(
    private readonly client: ProviderClient,
    private readonly health: TargetHealth,
    private readonly turns: ParsingTurns,
  ) {}

  /**
   * Returns the answer: that of the provider which a call would try first, or an estimate if it cannot count. Errors: 400 for a
   * request that the provider rejects.
   */
  async count(request: CountRequest): Promise<Buffer> {
    const [target] = this.health.order(request.model, targetOrder(request.model));
    const { kind, is_archived: isArchived } = target!.provider;
    const counted = kind === 'anthropic' && !isArchived && (await this.countedBy(target!, request));
    if (counted) return counted;
    return this.inTurn(request, () => estimate(request.body));
  }

  private async inTurn<Result>({ model, body, signal }: CountRequest, work: () => Result): Promise<Result> {
    return this.turns.run(model.org_id, signal, body.length, work);
  }

  /** Returns the answer of a provider, or undefined if it has none. */
  private async countedBy(
    { provider, upstream_model }: CalledTarget,
    counted: CountRequest,
  ): Promise<Buffer | undefined> {
    const { model, body, lease, ...sent } = counted;
    const form = { format: 'messages', kind: provider.kind, model: upstream_model, isStream: false } as const;
    try {
      const text = await this.inTurn(counted, () => translateRequest(body, form));
      const request = { ...sent, provider, path: COUNT_PATH, body: text, timeoutMs: model.timeout_ms };
      const bytes = await this.client.whole(request, ANSWER_MAX, lease);
      return countOf(parsedObject(bytes.toString())?.input_tokens) === null ? undefined : bytes;
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error;
      if (error.reason === 'rejected') throw error.problem;
      return undefined;
    }
  }
}

function estimate(body: Buffer): Buffer {
  const request = JSON.parse(body.toString()) as JsonObject;
  if (!Array.isArray(request.messages))
    throw problem.invalidField('/messages', 'must be an array of messages');
  const estimated = { input_tokens: estimatedInputTokens(request, body.length), is_estimated: true };
  return Buffer.from(JSON.stringify(estimated));
}
