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
  @Matches(/^[\x21-\x7e]+$/, { message: 'must contain only visible ASCII characters' })
  JUDGE_API_KEY?: string;

  /**
   * The model for scorers that do not name one, required with JUDGE_BASE_URL. Without it: `gateway:` and the name of a
   * gateway model, which each workspace defines for itself.
   */
  @ValidateIf(({ JUDGE_BASE_URL, JUDGE_MODEL }: JudgeEnvironment) => Boolean(JUDGE_BASE_URL ?? JUDGE_MODEL))
  @Length(1, 255, {
    message: ({ value }) =>
      value === undefined ? 'is required, because JUDGE_BASE_URL is set' : 'must have at most 255 characters',
  })
  JUDGE_MODEL?: string;

  /** Maximum tokens of a request to a judge and its response together. The judged content is truncated to fit. */
  @IsInt()
  @Min(2_048)
  @Max(10_000_000)
  @Integer()
  JUDGE_CONTEXT_TOKENS = 128_000;

  /** Maximum tokens of a judge's response, reasoning included. */
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

  /** Seconds from the first request for a target to its score, including retries; then the target fails. */
  @IsInt()
  @Min(1)
  @Max(86_400)
  @Integer()
  JUDGE_TARGET_SECONDS = 300;

  /** Days that responses of judges are cached, so that the same request is not sent again. */
  @IsInt()
  @Min(0)
  @Max(3_650)
  @Integer()
  JUDGE_CACHE_DAYS = 30;

  /** URL for judges of kind `classifier`: receives `{"inputs", "labels"}` and returns `[{"label", "score"}]`. */
  @IsOptional()
  @IsUrl({ require_tld: false, protocols: ['http', 'https'], require_protocol: true })
  CLASSIFIER_BASE_URL?: string;

  /** API key for CLASSIFIER_BASE_URL, sent as a bearer token. */
  @IsOptional()
  @Matches(/^[\x21-\x7e]+$/, { message: 'must contain only visible ASCII characters' })
  CLASSIFIER_API_KEY?: string;

  /** Maximum tokens that a classifier reads. The judged content is truncated to fit. */
  @IsInt()
  @Min(128)
  @Max(10_000_000)
  @Integer()
  CLASSIFIER_CONTEXT_TOKENS = 8_192;
}
