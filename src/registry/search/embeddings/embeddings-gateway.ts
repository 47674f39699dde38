import { Injectable } from '@nestjs/common';

/** Prefix of an `EMBEDDINGS_MODEL` that is the id of a model of the model gateway. */
export const GATEWAY_MODEL_PREFIX = 'gateway:';

/** Requests embeddings from models of the model gateway. A higher area implements it. */
@Injectable()
export abstract class EmbeddingsGateway {
  /**
   * Returns the response of a model in the format of OpenAI's API. Throws a `Problem`, or the signal's reason.
   *
   * @param body the request. Its `model` is ignored
   */
  abstract embed(modelId: string, body: string, signal: AbortSignal): Promise<unknown>;
}
