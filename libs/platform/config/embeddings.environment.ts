import { IsOptional, ValidateIf } from 'class-validator';
import { ApiKey, HttpUrl, Integer, ModelName } from './environment.decorators';
import { JudgeEnvironment } from './judge.environment';

/** Configures the embeddings for search. */
export abstract class EmbeddingsEnvironment extends JudgeEnvironment {
  /**
   * Base URL of an OpenAI-compatible API that embeds texts, such as `https://api.openai.com/v1`. Default: the built-in
   * embedder, which compares words and not their meaning.
   */
  @IsOptional()
  @HttpUrl()
  EMBEDDINGS_BASE_URL?: string;

  /** API key for EMBEDDINGS_BASE_URL, sent as a bearer token. */
  @ApiKey()
  EMBEDDINGS_API_KEY?: string;

  /** The embedding model, required with EMBEDDINGS_BASE_URL. Without it: `gateway:` and the id of a gateway model. */
  @ValidateIf(({ EMBEDDINGS_BASE_URL, EMBEDDINGS_MODEL }: EmbeddingsEnvironment) =>
    Boolean(EMBEDDINGS_BASE_URL ?? EMBEDDINGS_MODEL),
  )
  @ModelName('EMBEDDINGS_BASE_URL')
  EMBEDDINGS_MODEL?: string;

  /** Dimensions to request from models that support fewer. Default: all dimensions of the model. */
  @IsOptional()
  @Integer(1, 16_384)
  EMBEDDINGS_DIMENSIONS?: number;

  /** Deadline of a request for embeddings, in milliseconds. */
  @Integer(100, 600_000)
  EMBEDDINGS_TIMEOUT_MS = 10_000;
}
