import { Module, type OnApplicationBootstrap } from '@nestjs/common';
import { JobsWorkerModule, PeriodicTasks } from '#platform/jobs';
import { ResourcesModule } from '../resources';
import { ArrivalRepository } from './erasure/arrival.repository';
import { ErasedTracesRepository } from './erasure/erased-traces.repository';
import { NamedLogsRepository, NamedMetricsRepository } from './erasure/named-records.repository';
import { NamedSourcesRepository } from './erasure/named-sources.repository';
import { OpenExportsStep } from './erasure/open-exports.step';
import { TraceErasureStep } from './erasure/trace-erasure.step';
import { TraceSelectionStep } from './erasure/trace-selection.step';
import { PARTITIONED_TABLES } from './partitions/day-partition.repository';
import { DayPartitions } from './partitions/day-partitions';
import { RegistryModule } from '../registry';
import { RecordRetentionRepository } from './retention/record-retention.repository';
import { TelemetryRetention } from './retention/telemetry-retention';
import { TelemetryModule } from './telemetry.module';

const PARTITIONS_MS = 60 * 60_000;
const RETENTION_MS = 10 * 60_000;

/** Periodic tasks of a worker: creates partitions in advance, and drops them when their retention ends. */
@Module({
  imports: [JobsWorkerModule, RegistryModule, ResourcesModule, TelemetryModule],
  providers: [
    ArrivalRepository,
    OpenExportsStep,
    NamedLogsRepository,
    NamedMetricsRepository,
    NamedSourcesRepository,
    ErasedTracesRepository,
    TraceErasureStep,
    TraceSelectionStep,
    RecordRetentionRepository,
    TelemetryRetention,
  ],
})
export class TelemetryWorkerModule implements OnApplicationBootstrap {
  constructor(
    private readonly tasks: PeriodicTasks,
    private readonly partitions: DayPartitions,
    private readonly retention: TelemetryRetention,
  ) {}

  onApplicationBootstrap(): void {
    for (const table of PARTITIONED_TABLES) {
      this.tasks.every(`partitions of ${table}`, PARTITIONS_MS, () => this.partitions.createAhead(table));
    }
    this.tasks.every('retention of telemetry', RETENTION_MS, () => this.retention.deleteExpired());
  }
}
