import { Global, Injectable, Module } from '@nestjs/common';
import { problem } from '#platform/problem';
import { EmbeddingsGateway } from '../../registry';
import { CallsModule } from './calls.module';
import { InternalCalls } from './internal-calls';

/** The principal for which the usage of the search index is recorded. */
const PRINCIPAL = 'search';

/** Embeds texts for the search with a model of the gateway. */
@Injectable()
class ModelEmbeddings extends EmbeddingsGateway {
  constructor(private readonly calls: InternalCalls) {
    super();
  }

  async embed(modelId: string, body: string, signal: AbortSignal): Promise<unknown> {
    const model = await this.calls.findById(modelId);
    if (!model)
      throw problem.unavailable(
        `EMBEDDINGS_MODEL names the model ${modelId}, which does not exist or is archived. Set it to the id of another model.`,
      );
    const { bytes } = await this.calls.call({
      model,
      format: 'embeddings',
      body,
      principalId: PRINCIPAL,
      signal,
    });
    return JSON.parse(Buffer.from(bytes).toString()) as unknown;
  }
}

/** Provides the gateway to the search, which is on a lower floor. */
@Global()
@Module({
  imports: [CallsModule],
  providers: [{ provide: EmbeddingsGateway, useClass: ModelEmbeddings }],
  exports: [EmbeddingsGateway],
})
export class GatewayEmbeddingsModule {}
