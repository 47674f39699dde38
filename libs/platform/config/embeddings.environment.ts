import { IsInt, IsOptional, IsUrl, Length, Matches, Max, Min, ValidateIf } from 'class-validator';
import { Integer } from './environment.decorators';
import { JudgeEnvironment } from './judge.environment';

/** Configures the embeddings for search. */
export abstract class EmbeddingsEnvironment extends JudgeEnvironment {
  /**
   * Base URL of an OpenAI-compatible API that embeds texts, such as `https://api.openai.com/v1`. Default: the built-in
   * embedder, which compares words and not their meaning.
   */
  @IsOptional()
  @IsUrl({ require_tld: false, protocols: ['http', 'https'], require_protocol: true })
  EMBEDDINGS_BASE_URL?: string;

  /** API key for EMBEDDINGS_BASE_URL, sent as a bearer token. */
  @IsOptional()
  @Matches(/^[\x21-\x7e]+$/, { message: 'must contain only visible ASCII characters' })
  EMBEDDINGS_API_KEY?: string;

  /** The embedding model, required with EMBEDDINGS_BASE_URL. Without it: `gateway:` and the id of a gateway model. */
  @ValidateIf(({ EMBEDDINGS_BASE_URL, EMBEDDINGS_MODEL }: EmbeddingsEnvironment) =>
    Boolean(EMBEDDINGS_BASE_URL ?? EMBEDDINGS_MODEL),
  )
  @Length(1, 255, { message: 'must have 1 to 255 characters and is required with EMBEDDINGS_BASE_URL' })
  EMBEDDINGS_MODEL?: string;

  /** Dimensions to request from models that support fewer. Default: all dimensions of the model. */
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(16_384)
  @Integer()
  EMBEDDINGS_DIMENSIONS?: number;

  /** Deadline of a request for embeddings, in milliseconds. */
  @IsInt()
  @Min(100)
  @Max(600_000)
  @Integer()
  EMBEDDINGS_TIMEOUT_MS = 10_000;
}
