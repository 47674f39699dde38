import { Module, type OnApplicationBootstrap } from '@nestjs/common';
import { JobsWorkerModule, PeriodicTasks } from '#platform/jobs';
import { DayPartitions } from './partitions/day-partitions';
import { TraceRetention } from './retention/trace-retention';
import { TraceRetentionRepository } from './retention/trace-retention.repository';
import { TelemetryModule } from './telemetry.module';

const PARTITIONS_MS = 60 * 60_000;
const RETENTION_MS = 10 * 60_000;

/** What a worker does for telemetry: partitions are made ahead, and dropped when their time is over. */
@Module({
  imports: [JobsWorkerModule, TelemetryModule],
  providers: [TraceRetention, TraceRetentionRepository],
})
export class TelemetryWorkerModule implements OnApplicationBootstrap {
  constructor(
    private readonly tasks: PeriodicTasks,
    private readonly partitions: DayPartitions,
    private readonly traces: TraceRetention,
  ) {}

  onApplicationBootstrap(): void {
    this.tasks.every('partitions of spans', PARTITIONS_MS, () => this.partitions.makeAhead('spans'));
    this.tasks.every('retention of traces', RETENTION_MS, () => this.traces.sweep());
  }
}
