import { IsInt, IsOptional, IsUrl, Length, Matches, Max, Min, ValidateIf } from 'class-validator';
import { Integer } from './environment.decorators';
import { TracingEnvironment } from './tracing.environment';

/** Configures the judges: their backends and limits. */
export abstract class JudgeEnvironment extends TracingEnvironment {
  /** Base URL of an OpenAI-compatible API for judges of kind `llm`, such as `https://api.openai.com/v1`. */
  @IsOptional()
  @IsUrl({ require_tld: false, protocols: ['http', 'https'], require_protocol: true })
  JUDGE_BASE_URL?: string;

  /** API key for JUDGE_BASE_URL, sent as a bearer token. */
  @IsOptional()
  @Matches(/^[\x21-\x7e]+$/, { message: 'must be visible ASCII characters' })
  JUDGE_API_KEY?: string;

  /**
   * The model of scorers that name no other, required with JUDGE_BASE_URL. Or `gateway:` and the name of a model of the gateway,
   * which each workspace has for itself.
   */
  @ValidateIf(({ JUDGE_BASE_URL, JUDGE_MODEL }: JudgeEnvironment) => Boolean(JUDGE_BASE_URL ?? JUDGE_MODEL))
  @Length(1, 255, { message: 'must have 1 to 255 characters and is required with JUDGE_BASE_URL' })
  JUDGE_MODEL?: string;

  /** Most tokens of a request to a judge and its answer together. The judged content is truncated to fit. */
  @IsInt()
  @Min(2_048)
  @Max(10_000_000)
  @Integer()
  JUDGE_CONTEXT_TOKENS = 128_000;

  /** Most tokens of a judge's answer, reasoning included. */
  @IsInt()
  @Min(64)
  @Max(1_000_000)
  @Integer()
  JUDGE_MAX_TOKENS = 4_096;

  /** Deadline of a request to a judge or a classifier, in milliseconds. A late request is retried. */
  @IsInt()
  @Min(100)
  @Max(3_600_000)
  @Integer()
  JUDGE_TIMEOUT_MS = 60_000;

  /** Seconds from the first request for a target to its score, retries included; then the target fails. */
  @IsInt()
  @Min(1)
  @Max(86_400)
  @Integer()
  JUDGE_TARGET_SECONDS = 300;

  /** Days that a judge's answers are cached, so that the same question is not sent again. */
  @IsInt()
  @Min(0)
  @Max(3_650)
  @Integer()
  JUDGE_CACHE_DAYS = 30;

  /** URL for judges of kind `classifier`: receives `{"inputs", "labels"}` and answers `[{"label", "score"}]`. */
  @IsOptional()
  @IsUrl({ require_tld: false, protocols: ['http', 'https'], require_protocol: true })
  CLASSIFIER_BASE_URL?: string;

  /** API key for CLASSIFIER_BASE_URL, sent as a bearer token. */
  @IsOptional()
  @Matches(/^[\x21-\x7e]+$/, { message: 'must be visible ASCII characters' })
  CLASSIFIER_API_KEY?: string;

  /** Most tokens that a classifier reads. The judged content is truncated to fit. */
  @IsInt()
  @Min(128)
  @Max(10_000_000)
  @Integer()
  CLASSIFIER_CONTEXT_TOKENS = 8_192;
}
