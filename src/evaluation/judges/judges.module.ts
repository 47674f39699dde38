import { Module, type Provider } from '@nestjs/common';
import { Environment } from '#platform/config';
import { MetricsModule } from '#platform/metrics';
import { SecretKeys, SecretsModule } from '#platform/secrets';
import { ModelPrices, TelemetryModule } from '../../telemetry';
import { JudgeEndpoint } from './calls/judge-endpoint';
import { JudgeLimitRepository } from './calls/judge-limit.repository';
import { JudgeLimits } from './calls/judge-limit';
import { JudgeTransports } from './calls/judge-transport';
import { ClassifierBackend } from './classifier/classifier.backend';
import { JudgeAnswerRepository } from './judging/judge-answer.repository';
import { JudgeBackends } from './judge-backend';
import { JudgeMetrics } from './judge.metrics';
import { JudgeService } from './judging/judge.service';
import { ChatFeaturesRepository } from './llm/chat-features.repository';
import { LlmBackend } from './llm/llm.backend';

/** Purpose of the derived key for the delimiters of data, see `data-block.ts`. */
const DELIMITER_PURPOSE = 'judge data delimiter';

/** The backends that the environment configures. */
const BACKENDS: Provider = {
  provide: JudgeBackends,
  inject: [
    Environment,
    JudgeTransports,
    JudgeLimits,
    ChatFeaturesRepository,
    SecretKeys,
    ModelPrices,
    JudgeMetrics,
  ],
  useFactory: (
    environment: Environment,
    transports: JudgeTransports,
    limits: JudgeLimits,
    features: ChatFeaturesRepository,
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

/** Judges: sends requests to them, keeps to their rate limits and caches their answers. */
@Module({
  imports: [MetricsModule, SecretsModule, TelemetryModule],
  providers: [
    BACKENDS,
    ChatFeaturesRepository,
    JudgeAnswerRepository,
    JudgeLimitRepository,
    JudgeLimits,
    JudgeMetrics,
    JudgeTransports,
    JudgeService,
  ],
  exports: [ChatFeaturesRepository, JudgeBackends, JudgeLimitRepository, JudgeService],
})
export class JudgesModule {}
