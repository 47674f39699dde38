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
    let kept = this.backends.get(model.model_id);
    if (kept) kept.model = model;
    else this.backends.set(model.model_id, (kept = this.newBackend(model)));
    return kept.backend;
  }

  private newBackend(model: CalledModel): KeptBackend {
    const { JUDGE_CONTEXT_TOKENS, JUDGE_MAX_TOKENS, JUDGE_TIMEOUT_MS } = this.environment;
    const transport = new GatewayTransport(this.calls, model.model_id, JUDGE_TIMEOUT_MS);
    const kept = { model } as KeptBackend;
    kept.backend = new LlmBackend(
      {
        // limits and features are learned for each model, and names are not unique
        model: model.model_id,
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
