import { Module } from '@nestjs/common';
import { JobsWorkerModule } from '#platform/jobs';
import { AppSweeper } from './apps/app.sweeper';
import { AppsModule } from './apps/apps.module';
import { BuiltinBatches } from './search/embeddings/builtin.batches';
import { EmbeddingFiller } from './search/embeddings/embedding.filler';
import { EmbeddingSweeper } from './search/embeddings/embedding.sweeper';
import { EmbeddingsModule } from './search/embeddings/embeddings.module';
import { PendingEmbeddingRepository } from './search/embeddings/pending-embedding.repository';
import { VectorIndexRepository } from './search/embeddings/vector-index.repository';
import { LiveWorkspaceModule } from './workspaces/live-workspace.module';

/** What of the registry runs in the worker: the sweeps of apps, and the embeddings that are searched by. */
@Module({
  imports: [AppsModule, EmbeddingsModule, JobsWorkerModule, LiveWorkspaceModule],
  providers: [
    AppSweeper,
    EmbeddingSweeper,
    EmbeddingFiller,
    BuiltinBatches,
    PendingEmbeddingRepository,
    VectorIndexRepository,
  ],
})
export class RegistryWorkerModule {}
