import { Module, type OnApplicationBootstrap } from '@nestjs/common';
import { JobsWorkerModule, PeriodicTasks } from '#platform/jobs';
import { StoredResultRepository } from './results/stored-result.repository';

const RESULTS_MS = 60_000;

/** The worker's part of the MCP endpoint: the deletion of expired results. */
@Module({ imports: [JobsWorkerModule], providers: [StoredResultRepository] })
export class McpEndpointWorkerModule implements OnApplicationBootstrap {
  constructor(
    private readonly tasks: PeriodicTasks,
    private readonly results: StoredResultRepository,
  ) {}

  onApplicationBootstrap(): void {
    this.tasks.every('stored MCP results', RESULTS_MS, () => this.results.deleteExpired());
  }
}
