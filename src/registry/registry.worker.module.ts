import { Module } from '@nestjs/common';
import { JobsWorkerModule } from '#platform/jobs';
import { BuiltinBatches } from './search/embeddings/builtin.batches';
import { EmbeddingFiller } from './search/embeddings/embedding.filler';
import { EmbeddingSweeper } from './search/embeddings/embedding.sweeper';
import { EmbeddingsModule } from './search/embeddings/embeddings.module';
import { PendingEmbeddingRepository } from './search/embeddings/pending-embedding.repository';
import { VectorIndexRepository } from './search/embeddings/vector-index.repository';

/** What of the registry runs in the worker: the embeddings that are searched by. */
@Module({
  imports: [JobsWorkerModule, EmbeddingsModule],
  providers: [
    EmbeddingSweeper,
    EmbeddingFiller,
    BuiltinBatches,
    PendingEmbeddingRepository,
    VectorIndexRepository,
  ],
})
export class RegistryWorkerModule {}
