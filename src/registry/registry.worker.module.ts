import { Module, type OnApplicationBootstrap } from '@nestjs/common';
import { Environment } from '#platform/config';
import { JobsWorkerModule, PeriodicTasks } from '#platform/jobs';
import { ApisModule } from './apis/apis.module';
import { AppReconcileScheduler } from './apps/app-reconcile.scheduler';
import { AppsModule } from './apps/apps.module';
import { AuditRetentionRepository } from './audit-log/audit-retention.repository';
import { EmbeddingWorker } from './search/embeddings/embedding.worker';
import { EmbeddingsModule } from './search/embeddings/embeddings.module';
import { VectorIndexRepository } from './search/embeddings/vector-index.repository';
import { ResourcesModule } from '../resources';

const AUDIT_RETENTION_MS = 10 * 60_000;
const DAY_MS = 24 * 60 * 60_000;

/** The registry's part of the worker: it reconciles apps, embeds documents, and deletes old entries of the audit log. */
@Module({
  imports: [ApisModule, AppsModule, EmbeddingsModule, JobsWorkerModule, ResourcesModule],
  providers: [AppReconcileScheduler, AuditRetentionRepository, EmbeddingWorker, VectorIndexRepository],
})
export class RegistryWorkerModule implements OnApplicationBootstrap {
  constructor(
    private readonly environment: Environment,
    private readonly tasks: PeriodicTasks,
    private readonly audit: AuditRetentionRepository,
  ) {}

  onApplicationBootstrap(): void {
    const { AUDIT_RETENTION_DAYS: days } = this.environment;
    if (days === undefined) return;
    this.tasks.every('old audit entries', AUDIT_RETENTION_MS, () =>
      this.audit.deleteBefore(new Date(Date.now() - days * DAY_MS)),
    );
  }
}
