import { Module, type OnApplicationBootstrap } from '@nestjs/common';
import { JobsWorkerModule, PeriodicTasks } from '#platform/jobs';
import { StoredResultRepository } from './results/stored-result.repository';

const RESULTS_MS = 60_000;

/** The part of the MCP endpoint that runs in a worker: deleting expired results. */
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
