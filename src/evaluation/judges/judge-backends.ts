import { Injectable } from '@nestjs/common';
import { Environment } from '#platform/config';
import { problem } from '#platform/problem';
import { SecretKeys } from '#platform/secrets';
import { type CalledModel, GATEWAY_PREFIX, InstalledModels, InternalCalls } from '../../model-gateway';
import { ModelPrices } from '../../telemetry';
import { type JudgeBackendName, judgeBackendOf, type JudgeDefinition, type PinnedScorer } from '../scorers';
import { ClassifierBackend } from './classifier.backend';
import { type JudgeBackend, sha256Of } from './judge-backend';
import { JudgeCaller, type JudgeTarget } from './judge-caller';
import { JudgeRepository } from './judge.repository';
import { LlmBackend, type LlmSettings } from './llm.backend';

/** Purpose of the derived key for the delimiters of data. */
const DELIMITER_PURPOSE = 'judge data delimiter';

/** A version of a scorer of kind `llm_judge`. */
export interface JudgedScorer extends PinnedScorer {
  workspace_id: string;
  definition: JudgeDefinition;
}

/** Finds the judge backend of a scorer: one that the operator configured, or a gateway model of the workspace. */
@Injectable()
export class JudgeBackends {
  /** Without a model, a backend can still build requests for previews. */
  private readonly configured: Readonly<Record<JudgeBackendName, JudgeBackend>>;

  constructor(
    private readonly environment: Environment,
    private readonly installed: InstalledModels,
    private readonly caller: JudgeCaller,
    private readonly repository: JudgeRepository,
    private readonly keys: SecretKeys,
    private readonly calls: InternalCalls,
    prices: ModelPrices,
  ) {
    const { JUDGE_MODEL, JUDGE_BASE_URL: apiUrl, CLASSIFIER_CONTEXT_TOKENS } = environment;
    this.configured = {
      llm: this.llmOf(this.targetOf('llm'), {
        modelOf: ({ model }) => model ?? JUDGE_MODEL ?? '',
        prices: (model, inputTokens, outputTokens) =>
          prices.costOf({ model, inputTokens, outputTokens, apiUrl }),
      }),
      classifier: new ClassifierBackend(caller, this.targetOf('classifier'), CLASSIFIER_CONTEXT_TOKENS),
    };
  }

  /** Returns the backend of a scorer, or undefined if it is not configured or there is no such model. */
  async find(scorer: JudgedScorer): Promise<JudgeBackend | undefined> {
    const model = this.gatewayModelOf(scorer);
    if (model !== undefined) return this.findGateway(scorer.workspace_id, model);
    const name = judgeBackendOf(scorer.definition);
    return this.targetOf(name).model ? this.configured[name] : undefined;
  }

  /** Returns the backend of a scorer. Errors: 503 without one. */
  async require(scorer: JudgedScorer): Promise<JudgeBackend> {
    const backend = await this.find(scorer);
    if (backend) return backend;
    const model = this.gatewayModelOf(scorer);
    const detail =
      model === undefined
        ? MISSING[judgeBackendOf(scorer.definition)]
        : `The workspace has no gateway model \`${model}\`, so the scorer cannot be run. Create the model with POST /model/v1/models. Nothing was stored.`;
    throw problem.unavailable(detail, { isUpstream: true });
  }

  /** Returns the backend of a scorer or, without one, a backend that builds its requests but cannot send them. */
  async forPreview(scorer: JudgedScorer): Promise<JudgeBackend> {
    return (await this.find(scorer)) ?? this.configured[judgeBackendOf(scorer.definition)];
  }

  /** Returns the name or id of the gateway model that a scorer uses, or undefined. */
  private gatewayModelOf({ definition }: JudgedScorer): string | undefined {
    if (judgeBackendOf(definition) !== 'llm') return undefined;
    const model = definition.model ?? this.environment.JUDGE_MODEL ?? '';
    return model.startsWith(GATEWAY_PREFIX) ? model.slice(GATEWAY_PREFIX.length) : undefined;
  }

  /** Returns the backend of a workspace's model, found by name or id. Returns undefined if there is no such model. */
  private async findGateway(workspaceId: string, nameOrId: string): Promise<JudgeBackend | undefined> {
    const model = await this.calls.findIn(workspaceId, nameOrId);
    if (!model) return undefined;
    const name = nameOf(model);
    const target: JudgeTarget = { backend: 'llm', model: model.model_id, baseUrl: '' };
    return this.llmOf(target, {
      modelOf: () => name,
      prices: (_model, input, output) => this.calls.costOf(model, input, output),
    });
  }

  private targetOf(backend: JudgeBackendName): JudgeTarget {
    const model = backend === 'llm' ? this.installed.judge : this.installed.classifier;
    return { backend, model, baseUrl: model?.provider.base.href ?? '' };
  }

  private llmOf(target: JudgeTarget, settings: Pick<LlmSettings, 'modelOf' | 'prices'>): LlmBackend {
    return new LlmBackend({
      ...settings,
      target,
      caller: this.caller,
      contextTokens: this.environment.JUDGE_CONTEXT_TOKENS,
      maxTokens: this.environment.JUDGE_MAX_TOKENS,
      repository: this.repository,
      hash: (text) => this.keys.mac(DELIMITER_PURPOSE, text),
    });
  }
}

const MISSING: Record<JudgeBackendName, string> = {
  llm:
    'No judge is configured. Ask the operator to set JUDGE_BASE_URL, JUDGE_MODEL and, if the judge requires a key, JUDGE_API_KEY. ' +
    'Alternatively, set `model` in the definition to `gateway:<name>`, or call a judge yourself and upload its scores ' +
    'with this scorer_id. Nothing was stored.',
  classifier:
    'No classifier is configured. Ask the operator to set CLASSIFIER_BASE_URL and, if the classifier requires a key, CLASSIFIER_API_KEY. ' +
    'Alternatively, call a classifier yourself and upload its scores with this scorer_id. Nothing was stored.',
};

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
  return `${model_id}:${sha256Of(JSON.stringify([strategy, called])).slice(0, 12)}`;
}
