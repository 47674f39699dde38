import type { Provider } from '@nestjs/common';
import { Environment } from '#platform/config';
import { SecretKeys } from '#platform/secrets';
import { ModelPrices } from '../../telemetry';
import { JudgeEndpoint } from './calls/judge-endpoint';
import { JudgeLimitRepository } from './calls/judge-limit.repository';
import { JudgeLimits } from './calls/judge-limits';
import { JudgeTransports } from './calls/judge-transports';
import { ClassifierBackend } from './classifier/classifier.backend';
import { JudgeAnswerRepository } from './judge-answer.repository';
import { JudgeBackends } from './judge-backends';
import { JudgeMetrics } from './judge.metrics';
import { Judging } from './judging';
import { KnownFeatures } from './llm/chat-features';
import { ChatFeaturesRepository } from './llm/chat-features.repository';
import { LlmBackend } from './llm/llm.backend';

/** What the delimiters of data are made with; see `data-block.ts`. */
const DELIMITER_PURPOSE = 'judge data delimiter';

/** The backends that the environment configures. */
const BACKENDS: Provider = {
  provide: JudgeBackends,
  inject: [Environment, JudgeTransports, JudgeLimits, KnownFeatures, SecretKeys, ModelPrices, JudgeMetrics],
  useFactory: (
    environment: Environment,
    transports: JudgeTransports,
    limits: JudgeLimits,
    features: KnownFeatures,
    keys: SecretKeys,
    prices: ModelPrices,
    metrics: JudgeMetrics,
  ) => {
    const { llm, classifier } = transports;
    const settings = {
      model: environment.JUDGE_MODEL ?? '',
      contextTokens: environment.JUDGE_CONTEXT_TOKENS,
      maxTokens: environment.JUDGE_MAX_TOKENS,
    };
    return new JudgeBackends({
      llm:
        llm &&
        new LlmBackend(
          settings,
          new JudgeEndpoint('llm', llm, limits, metrics),
          features,
          (text) => keys.mac(DELIMITER_PURPOSE, text),
          (...of) => prices.costOf(...of),
        ),
      classifier:
        classifier &&
        new ClassifierBackend(
          new JudgeEndpoint('classifier', classifier, limits, metrics),
          environment.CLASSIFIER_CONTEXT_TOKENS,
        ),
    });
  },
};

/** Judges: how they are reached, asked, and what of it is kept. */
export const JUDGES: Provider[] = [
  BACKENDS,
  ChatFeaturesRepository,
  JudgeAnswerRepository,
  JudgeLimitRepository,
  JudgeLimits,
  JudgeMetrics,
  JudgeTransports,
  Judging,
  KnownFeatures,
];
