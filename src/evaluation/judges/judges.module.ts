import { Module, type Provider } from '@nestjs/common';
import { Environment } from '#platform/config';
import { MetricsModule } from '#platform/metrics';
import { SecretKeys, SecretsModule } from '#platform/secrets';
import { CallsModule } from '../../model-gateway';
import { ModelPrices, TelemetryModule } from '../../telemetry';
import { JudgeEndpoint, NO_ENDPOINT, type SendingEndpoint } from './calls/judge-endpoint';
import { JudgeLimitRepository } from './calls/judge-limit.repository';
import { JudgeLimits } from './calls/judge-limit';
import { JudgeTransports } from './calls/judge-transport';
import { ClassifierBackend } from './classifier/classifier.backend';
import { JudgeAnswerRepository } from './judging/judge-answer.repository';
import { JudgeBackends } from './judging/judge-backends';
import { JudgeMetrics } from './judge.metrics';
import { JudgeService } from './judging/judge.service';
import { ChatFeaturesRepository } from './llm/chat-features.repository';
import { GatewayBackends } from './gateway/gateway-backends';
import { DELIMITER_PURPOSE, LlmBackend } from './llm/llm.backend';

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
    GatewayBackends,
  ],
  useFactory: (
    environment: Environment,
    transports: JudgeTransports,
    limits: JudgeLimits,
    features: ChatFeaturesRepository,
    keys: SecretKeys,
    prices: ModelPrices,
    metrics: JudgeMetrics,
    gateway: GatewayBackends,
  ) => {
    const { llm, classifier } = transports;
    const settings = {
      model: environment.JUDGE_MODEL ?? '',
      baseUrl: llm?.baseUrl ?? '',
      contextTokens: environment.JUDGE_CONTEXT_TOKENS,
      maxTokens: environment.JUDGE_MAX_TOKENS,
    };
    const llmAt = (endpoint: SendingEndpoint): LlmBackend =>
      new LlmBackend(
        settings,
        endpoint,
        features,
        (text) => keys.mac(DELIMITER_PURPOSE, text),
        (model, inputTokens, outputTokens) =>
          prices.costOf({ model, inputTokens, outputTokens, apiUrl: environment.JUDGE_BASE_URL }),
      );
    const classifierAt = (endpoint: SendingEndpoint): ClassifierBackend =>
      new ClassifierBackend(endpoint, environment.CLASSIFIER_CONTEXT_TOKENS, classifier?.baseUrl ?? '');
    return new JudgeBackends(
      {
        llm: llm && llmAt(new JudgeEndpoint('llm', llm, limits, metrics)),
        classifier: classifier && classifierAt(new JudgeEndpoint('classifier', classifier, limits, metrics)),
      },
      { llm: llmAt(NO_ENDPOINT), classifier: classifierAt(NO_ENDPOINT) },
      gateway,
      environment.JUDGE_MODEL,
    );
  },
};

/** Judges: sends requests to them, keeps to their rate limits and caches their answers. */
@Module({
  imports: [CallsModule, MetricsModule, SecretsModule, TelemetryModule],
  providers: [
    BACKENDS,
    ChatFeaturesRepository,
    GatewayBackends,
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
