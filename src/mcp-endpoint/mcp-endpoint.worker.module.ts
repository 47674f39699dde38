import { Module, type OnApplicationBootstrap } from '@nestjs/common';
import { JobsWorkerModule, PeriodicTasks } from '#platform/jobs';
import { ResourcesModule } from '../resources';
import { StoredResultsStep } from './results/stored-results.step';
import { StoredResultRepository } from './results/stored-result.repository';

const RESULTS_MS = 60_000;

/** The worker's part of the MCP endpoint: deletes expired results, and erases. */
@Module({
  imports: [JobsWorkerModule, ResourcesModule],
  providers: [StoredResultRepository, StoredResultsStep],
})
export class McpEndpointWorkerModule implements OnApplicationBootstrap {
  constructor(
    private readonly tasks: PeriodicTasks,
    private readonly results: StoredResultRepository,
  ) {}

  onApplicationBootstrap(): void {
    this.tasks.every('stored MCP results', RESULTS_MS, () => this.results.deleteExpired());
  }
}
