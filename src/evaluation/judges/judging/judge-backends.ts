import { Injectable } from '@nestjs/common';
import { problem } from '#platform/problem';
import { GATEWAY_PREFIX } from '../../../model-gateway';
import { type JudgeBackendName, judgeBackendOf, type JudgeDefinition } from '../../scorers';
import type { GatewayBackends } from '../gateway/gateway-backends';
import type { JudgeBackend } from '../judge-backend';

/** A version of a scorer that is judged in its workspace. */
export interface JudgedScorer {
  workspace_id: string;
  definition: JudgeDefinition;
}

/** Finds the judge backend of a scorer: one that the operator configured, or a gateway model. */
@Injectable()
export class JudgeBackends {
  /**
   * @param standIns build the requests for previews where a backend is not configured
   * @param defaultModel the model of scorers that name none
   */
  constructor(
    private readonly configured: Readonly<Record<JudgeBackendName, JudgeBackend | undefined>>,
    private readonly standIns: Readonly<Record<JudgeBackendName, JudgeBackend>>,
    private readonly gateway: GatewayBackends,
    private readonly defaultModel: string | undefined,
  ) {}

  /** Returns the backend of a scorer, or undefined if it is not configured or there is no such model. */
  async find(scorer: JudgedScorer): Promise<JudgeBackend | undefined> {
    const model = this.gatewayModelOf(scorer);
    return model === undefined
      ? this.configured[judgeBackendOf(scorer.definition)]
      : this.gateway.find(scorer.workspace_id, model);
  }

  /** Returns the backend of a scorer. Errors: 503 without one. */
  async require(scorer: JudgedScorer): Promise<JudgeBackend> {
    const backend = await this.find(scorer);
    if (backend) return backend;
    const model = this.gatewayModelOf(scorer);
    const detail = model === undefined ? missing(judgeBackendOf(scorer.definition)) : missingModel(model);
    throw problem.unavailable(detail, { isUpstream: true });
  }

  /** Returns the backend of a scorer or, without one, a stand-in that builds its requests but cannot send them. */
  async forPreview(scorer: JudgedScorer): Promise<JudgeBackend> {
    return (await this.find(scorer)) ?? this.standIns[judgeBackendOf(scorer.definition)];
  }

  /** Returns the name of the gateway model that a scorer uses, or undefined. */
  private gatewayModelOf({ definition }: JudgedScorer): string | undefined {
    if (judgeBackendOf(definition) !== 'llm') return undefined;
    const model = definition.model ?? this.defaultModel ?? '';
    return model.startsWith(GATEWAY_PREFIX) ? model.slice(GATEWAY_PREFIX.length) : undefined;
  }
}

const missing = (name: JudgeBackendName): string =>
  name === 'llm'
    ? 'No judge is configured. Ask the operator to set JUDGE_BASE_URL, JUDGE_MODEL and, if the judge requires a key, JUDGE_API_KEY. ' +
      'Alternatively, set `model` in the definition to `gateway:<name>`, or call a judge yourself and upload its scores ' +
      'with this scorer_id. Nothing was stored.'
    : 'No classifier is configured. Ask the operator to set CLASSIFIER_BASE_URL and, if the classifier requires a key, CLASSIFIER_API_KEY. ' +
      'Alternatively, call a classifier yourself and upload its scores with this scorer_id. Nothing was stored.';

const missingModel = (name: string): string =>
  `The workspace has no gateway model \`${name}\`, so the scorer cannot be run. Create the model with POST /model/v1/models. Nothing was stored.`;
