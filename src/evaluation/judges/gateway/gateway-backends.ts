import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Environment } from '#platform/config';
import { SecretKeys } from '#platform/secrets';
import { type CalledModel, InternalCalls } from '../../../model-gateway';
import { JudgeEndpoint } from '../calls/judge-endpoint';
import { JudgeLimits } from '../calls/judge-limit';
import type { JudgeBackend } from '../judge-backend';
import { JudgeMetrics } from '../judge.metrics';
import { ChatFeaturesRepository } from '../llm/chat-features.repository';
import { DELIMITER_PURPOSE, LlmBackend } from '../llm/llm.backend';
import { GatewayTransport } from './gateway-transport';

/** Models whose backends a process caches. */
const BACKENDS_MAX = 1_000;

interface CachedBackend {
  backend: JudgeBackend;
  /** As last read. */
  model: CalledModel;
}

/** Creates and caches the backends of judges that are gateway models. Each model belongs to one workspace. */
@Injectable()
export class GatewayBackends {
  private readonly backends = new LRUCache<string, CachedBackend>({ max: BACKENDS_MAX });

  constructor(
    private readonly calls: InternalCalls,
    private readonly environment: Environment,
    private readonly limits: JudgeLimits,
    private readonly features: ChatFeaturesRepository,
    private readonly keys: SecretKeys,
    private readonly metrics: JudgeMetrics,
  ) {}

  /** Returns the backend of a workspace's model, found by name or id. Returns undefined if there is no such model. */
  async find(workspaceId: string, nameOrId: string): Promise<JudgeBackend | undefined> {
    const model = await this.calls.findIn(workspaceId, nameOrId);
    if (!model) return undefined;
    const name = nameOf(model);
    let cached = this.backends.get(name);
    if (cached) cached.model = model;
    else this.backends.set(name, (cached = this.newBackend(model, name)));
    return cached.backend;
  }

  private newBackend(model: CalledModel, name: string): CachedBackend {
    const { JUDGE_CONTEXT_TOKENS, JUDGE_MAX_TOKENS, JUDGE_TIMEOUT_MS } = this.environment;
    const transport = new GatewayTransport(this.calls, model.model_id, JUDGE_TIMEOUT_MS);
    const cached = { model } as CachedBackend;
    cached.backend = new LlmBackend(
      {
        model: name,
        isFixed: true,
        baseUrl: '', // the name identifies the servers
        contextTokens: JUDGE_CONTEXT_TOKENS,
        maxTokens: JUDGE_MAX_TOKENS,
      },
      new JudgeEndpoint('llm', transport, this.limits, this.metrics),
      this.features,
      (text) => this.keys.mac(DELIMITER_PURPOSE, text),
      (_model, input, output) => this.calls.costOf(cached.model, input, output),
    );
    return cached;
  }
}

/**
 * Returns the name under which limits and features are learned and answers are cached. It changes with the targets of the
 * model, because another server or upstream model has other features and gives other answers.
 */
function nameOf({ model_id, strategy, targets }: CalledModel): string {
  const called = targets.map(({ provider, upstream_model }) => [
    provider.provider_id,
    provider.kind,
    provider.base.href,
    upstream_model,
  ]);
  const digest = createHash('sha256')
    .update(JSON.stringify([strategy, called]))
    .digest('hex');
  return `${model_id}:${digest.slice(0, 12)}`;
}
