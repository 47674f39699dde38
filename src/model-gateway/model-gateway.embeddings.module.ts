import { Global, Injectable, Module } from '@nestjs/common';
import { Environment } from '#platform/config';
import { EmbeddingFailure, EmbeddingsModel } from '../registry';
import { CallFailure } from './calls/call-failure';
import { InstalledModels } from './calls/installed-models';
import { GATEWAY_PREFIX, InternalCalls } from './calls/internal-calls';
import { ModelGatewayModule } from './model-gateway.module';

/** The principal for which the usage of the search index is recorded. */
const PRINCIPAL = 'search';

/** Embeds texts for the search: with the server of `EMBEDDINGS_BASE_URL`, or with a model of the gateway. */
@Injectable()
class EmbeddingCalls extends EmbeddingsModel {
  constructor(
    private readonly environment: Environment,
    private readonly installed: InstalledModels,
    private readonly calls: InternalCalls,
  ) {
    super();
  }

  async embed(body: string, maxBytes: number, signal: AbortSignal): Promise<unknown> {
    const { EMBEDDINGS_MODEL = '', EMBEDDINGS_TIMEOUT_MS: timeoutMs } = this.environment;
    const model = this.installed.embeddings ?? EMBEDDINGS_MODEL.slice(GATEWAY_PREFIX.length);
    try {
      const call = {
        model,
        format: 'embeddings',
        body,
        principalId: PRINCIPAL,
        timeoutMs,
        maxBytes,
        signal,
      } as const;
      return (await this.calls.call(call)).value;
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error;
      const { predicate, details, problem } = error;
      // statuses such as 405 mean that the configuration is wrong
      const isInputRejected = [400, 413, 422].includes(details.status ?? 0);
      const failure = predicate === 'cannot be called' ? `${predicate}: ${problem.detail}` : predicate;
      throw new EmbeddingFailure(failure, isInputRejected, details.retryAfterMs);
    }
  }
}

/** Provides the models that embed texts to the search, which is on a lower floor. */
@Global()
@Module({
  imports: [ModelGatewayModule],
  providers: [{ provide: EmbeddingsModel, useClass: EmbeddingCalls }],
  exports: [EmbeddingsModel],
})
export class GatewayEmbeddingsModule {}
