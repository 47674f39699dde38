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

/** Models whose backends a process keeps. */
const BACKENDS_MAX = 1_000;

interface KeptBackend {
  backend: JudgeBackend;
  /** As it was when it was last looked for. */
  model: CalledModel;
}

/** Judges that are models of the gateway, each of its own workspace. */
@Injectable()
export class GatewayBackends {
  private readonly backends = new LRUCache<string, KeptBackend>({ max: BACKENDS_MAX });

  constructor(
    private readonly calls: InternalCalls,
    private readonly environment: Environment,
    private readonly limits: JudgeLimits,
    private readonly features: ChatFeaturesRepository,
    private readonly keys: SecretKeys,
    private readonly metrics: JudgeMetrics,
  ) {}

  /** Returns the judge that is a model of a workspace, by its name or its id; undefined if there is no such model. */
  async find(workspaceId: string, nameOrId: string): Promise<JudgeBackend | undefined> {
    const model = await this.calls.findIn(workspaceId, nameOrId);
    if (!model) return undefined;
    const name = nameOf(model);
    let kept = this.backends.get(name);
    if (kept) kept.model = model;
    else this.backends.set(name, (kept = this.newBackend(model, name)));
    return kept.backend;
  }

  private newBackend(model: CalledModel, name: string): KeptBackend {
    const { JUDGE_CONTEXT_TOKENS, JUDGE_MAX_TOKENS, JUDGE_TIMEOUT_MS } = this.environment;
    const transport = new GatewayTransport(this.calls, model.model_id, JUDGE_TIMEOUT_MS);
    const kept = { model } as KeptBackend;
    kept.backend = new LlmBackend(
      {
        model: name,
        isFixed: true,
        contextTokens: JUDGE_CONTEXT_TOKENS,
        maxTokens: JUDGE_MAX_TOKENS,
      },
      new JudgeEndpoint('llm', transport, this.limits, this.metrics),
      this.features,
      (text) => this.keys.mac(DELIMITER_PURPOSE, text),
      (_model, input, output) => this.calls.costOf(kept.model, input, output),
    );
    return kept;
  }
}

/**
 * Returns the name under which limits and features are learned and answers are cached. It changes with the targets, because other
 * models have other features and give other answers.
 */
function nameOf({ model_id, strategy, targets }: CalledModel): string {
  const called = targets.map(({ provider, upstream_model }) => [provider.provider_id, upstream_model]);
  const digest = createHash('sha256')
    .update(JSON.stringify([strategy, called]))
    .digest('hex');
  return `${model_id}:${digest.slice(0, 12)}`;
}
