import { Injectable } from '@nestjs/common';

/** The prefix of `EMBEDDINGS_MODEL` that means a model of the model gateway, by its id. */
export const GATEWAY_MODEL_PREFIX = 'gateway:';

/** Asks models of the model gateway, which an upper area provides, for embeddings. */
@Injectable()
export abstract class EmbeddingsGateway {
  /**
   * Returns the answer of a model in the format of OpenAI's API. Throws a `Problem`, or the signal's reason.
   *
   * @param body the request; its `model` is ignored
   */
  abstract embed(modelId: string, body: string, signal: AbortSignal): Promise<unknown>;
}
