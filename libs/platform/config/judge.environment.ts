import { IsInt, IsOptional, IsUrl, Length, Matches, Max, Min, ValidateIf } from 'class-validator';
import { Integer } from './environment.decorators';
import { TracingEnvironment } from './tracing.environment';

/** What decides over judges: where they are asked, and how much. */
export abstract class JudgeEnvironment extends TracingEnvironment {
  /** Where judges of the kind `llm` are asked: the base of an OpenAI-compatible API, as in `https://api.openai.com/v1`. */
  @IsOptional()
  @IsUrl({ require_tld: false, protocols: ['http', 'https'], require_protocol: true })
  JUDGE_BASE_URL?: string;

  /** The key that it is asked with, as a bearer token. */
  @IsOptional()
  @Matches(/^[\x21-\x7e]+$/, { message: 'must be visible ASCII characters' })
  JUDGE_API_KEY?: string;

  /** The model that judges where a scorer names no other; needed with JUDGE_BASE_URL. */
  @ValidateIf(({ JUDGE_BASE_URL, JUDGE_MODEL }: JudgeEnvironment) => Boolean(JUDGE_BASE_URL ?? JUDGE_MODEL))
  @Length(1, 255, { message: 'is needed where JUDGE_BASE_URL is set, and has at most 255 characters' })
  JUDGE_MODEL?: string;

  /** Tokens that a request to a judge and its answer may have together; what is judged is cut to fit. */
  @IsInt()
  @Min(2_048)
  @Max(10_000_000)
  @Integer()
  JUDGE_CONTEXT_TOKENS = 128_000;

  /** Tokens that an answer of a judge may have, with what a model thinks before it. */
  @IsInt()
  @Min(64)
  @Max(1_000_000)
  @Integer()
  JUDGE_MAX_TOKENS = 4_096;

  /** Milliseconds from sending a request to a judge or a classifier to the end of its answer; then it is sent again. */
  @IsInt()
  @Min(100)
  @Max(3_600_000)
  @Integer()
  JUDGE_TIMEOUT_MS = 60_000;

  /** Seconds from the first request about one target to its score; what has none by then fails. */
  @IsInt()
  @Min(1)
  @Max(86_400)
  @Integer()
  JUDGE_TARGET_SECONDS = 300;

  /** Days that a judge's answer is kept, so that the same question is not asked again. */
  @IsInt()
  @Min(0)
  @Max(3_650)
  @Integer()
  JUDGE_CACHE_DAYS = 30;

  /** Where judges of the kind `classifier` are asked: `{"inputs", "labels"}` is sent there, `[{"label", "score"}]` comes back. */
  @IsOptional()
  @IsUrl({ require_tld: false, protocols: ['http', 'https'], require_protocol: true })
  CLASSIFIER_BASE_URL?: string;

  /** The key that it is asked with, as a bearer token. */
  @IsOptional()
  @Matches(/^[\x21-\x7e]+$/, { message: 'must be visible ASCII characters' })
  CLASSIFIER_API_KEY?: string;

  /** Tokens that a classifier reads; what is judged is cut to fit. */
  @IsInt()
  @Min(128)
  @Max(10_000_000)
  @Integer()
  CLASSIFIER_CONTEXT_TOKENS = 8_192;
}
