import { Module, type OnApplicationBootstrap } from '@nestjs/common';
import { JobsWorkerModule, PeriodicTasks } from '#platform/jobs';
import { RegistryModule } from '../registry';
import { AgentsModule } from './agents.module';
import { SessionRetention } from './sessions/session-retention';
import { SessionRetentionRepository } from './sessions/session-retention.repository';

const RETENTION_MS = 10 * 60_000;

/** The part of agents that runs in a worker: it reconciles agents, and deletes sessions when their retention ends. */
@Module({
  imports: [AgentsModule, JobsWorkerModule, RegistryModule],
  providers: [SessionRetention, SessionRetentionRepository],
})
export class AgentsWorkerModule implements OnApplicationBootstrap {
  constructor(
    private readonly tasks: PeriodicTasks,
    private readonly retention: SessionRetention,
  ) {}

  onApplicationBootstrap(): void {
    this.tasks.every('retention of sessions', RETENTION_MS, () => this.retention.deleteExpired());
  }
}
