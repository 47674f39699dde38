import { Module } from '@nestjs/common';
import { JobsWorkerModule } from '#platform/jobs';
import { ApisModule } from './apis/apis.module';
import { AppReconcileScheduler } from './apps/app-reconcile.scheduler';
import { AppsModule } from './apps/apps.module';
import { EmbeddingWorker } from './search/embeddings/embedding.worker';
import { EmbeddingsModule } from './search/embeddings/embeddings.module';
import { VectorIndexRepository } from './search/embeddings/vector-index.repository';
import { ResourcesModule } from '../resources';

/** The registry's part of the worker: it reconciles apps and embeds documents. */
@Module({
  imports: [ApisModule, AppsModule, EmbeddingsModule, JobsWorkerModule, ResourcesModule],
  providers: [AppReconcileScheduler, EmbeddingWorker, VectorIndexRepository],
})
export class RegistryWorkerModule {}
