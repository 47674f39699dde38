import { IsOptional, ValidateIf } from 'class-validator';
import { ApiKey, HttpUrl, Integer, ModelName } from './environment.decorators';
import { TracingEnvironment } from './tracing.environment';

/** Configures the judges: their backends and limits. */
export abstract class JudgeEnvironment extends TracingEnvironment {
  /** Base URL of an OpenAI-compatible API for judges with the backend `llm`, such as `https://api.openai.com/v1`. */
  @IsOptional()
  @HttpUrl()
  JUDGE_BASE_URL?: string;

  /** API key for JUDGE_BASE_URL, sent as a bearer token. */
  @ApiKey()
  JUDGE_API_KEY?: string;

  /**
   * The model for scorers that do not name one, required with JUDGE_BASE_URL. Without it: `gateway:` and the name of a
   * gateway model, which each workspace defines for itself.
   */
  @ValidateIf(({ JUDGE_BASE_URL, JUDGE_MODEL }: JudgeEnvironment) => Boolean(JUDGE_BASE_URL ?? JUDGE_MODEL))
  @ModelName('JUDGE_BASE_URL')
  JUDGE_MODEL?: string;

  /** Maximum tokens of a request to a judge and its response together. The judged content is truncated to fit. */
  @Integer(2_048, 10_000_000)
  JUDGE_CONTEXT_TOKENS = 128_000;

  /** Maximum tokens of a judge's response, reasoning included. */
  @Integer(64, 1_000_000)
  JUDGE_MAX_TOKENS = 4_096;

  /** Deadline of a request to a judge or a classifier, in milliseconds. A late request is retried. */
  @Integer(100, 3_600_000)
  JUDGE_TIMEOUT_MS = 60_000;

  /** Seconds from the first request for a target to its score, including retries; then the target fails. */
  @Integer(1, 86_400)
  JUDGE_TARGET_SECONDS = 300;

  /** Days that responses of judges are cached, so that the same request is not sent again. */
  @Integer(0, 3_650)
  JUDGE_CACHE_DAYS = 30;

  /** URL for judges with the backend `classifier`: receives `{"inputs", "labels"}` and returns `[{"label", "score"}]`. */
  @IsOptional()
  @HttpUrl()
  CLASSIFIER_BASE_URL?: string;

  /** API key for CLASSIFIER_BASE_URL, sent as a bearer token. */
  @ApiKey()
  CLASSIFIER_API_KEY?: string;

  /** Maximum tokens that a classifier reads. The judged content is truncated to fit. */
  @Integer(128, 10_000_000)
  CLASSIFIER_CONTEXT_TOKENS = 8_192;
}
