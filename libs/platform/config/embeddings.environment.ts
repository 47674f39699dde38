import { IsInt, IsOptional, IsUrl, Length, Matches, Max, Min, ValidateIf } from 'class-validator';
import { Integer } from './environment.decorators';
import { JudgeEnvironment } from './judge.environment';

/** What decides over the embeddings that are searched by. */
export abstract class EmbeddingsEnvironment extends JudgeEnvironment {
  /**
   * Where texts are embedded: the base of an OpenAI-compatible API, as in `https://api.openai.com/v1`. Absent: by the
   * built-in embedder, which knows words and not their meaning.
   */
  @IsOptional()
  @IsUrl({ require_tld: false, protocols: ['http', 'https'], require_protocol: true })
  EMBEDDINGS_BASE_URL?: string;

  /** The key that it is asked with, as a bearer token. */
  @IsOptional()
  @Matches(/^[\x21-\x7e]+$/, { message: 'must be visible ASCII characters' })
  EMBEDDINGS_API_KEY?: string;

  /** The model that embeds; needed with EMBEDDINGS_BASE_URL. */
  @ValidateIf(({ EMBEDDINGS_BASE_URL, EMBEDDINGS_MODEL }: EmbeddingsEnvironment) =>
    Boolean(EMBEDDINGS_BASE_URL ?? EMBEDDINGS_MODEL),
  )
  @Length(1, 255, { message: 'is needed where EMBEDDINGS_BASE_URL is set, and has at most 255 characters' })
  EMBEDDINGS_MODEL?: string;

  /** Numbers that a vector is to have, of models that can be asked for fewer. Absent: as many as the model has. */
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(16_384)
  @Integer()
  EMBEDDINGS_DIMENSIONS?: number;

  /** Milliseconds from asking for embeddings to the end of the answer. */
  @IsInt()
  @Min(100)
  @Max(600_000)
  @Integer()
  EMBEDDINGS_TIMEOUT_MS = 10_000;
}
