import { Module } from '@nestjs/common';
import { ComputationModule } from '#platform/concurrency';
import { MetricsModule } from '#platform/metrics';
import { SecretsModule } from '#platform/secrets';
import { UsageModule } from '../registry';
import { ResourcesModule } from '../resources';
import { DeletedTraces } from './deletion/deleted-traces';
import { ErasedUsers } from './traces/erased-users';
import { LogDeleteRepository } from './deletion/log-delete.repository';
import { Refusals } from './deletion/refusals';
import { TombstoneRepository } from './deletion/tombstone.repository';
import { ExportMetrics } from './exports/export.metrics';
import { ExportLimiter, ExportResources } from './exports/export-queue';
import { ExportRepository } from './exports/export.repository';
import { ExportWriter } from './exports/export.writer';
import { JsonReader } from './exports/json-reader';
import { LogExportService, LogService } from './logs/log.service';
import { LogWriteRepository } from './logs/log-write.repository';
import { MetricExportService, MetricService } from './metrics/metric.service';
import { MetricWriteRepository } from './metrics/metric-write.repository';
import { DayPartitionRepository } from './partitions/day-partition.repository';
import { DayPartitions } from './partitions/day-partitions';
import { SessionService } from './sessions/session.service';
import { TranscriptService } from './sessions/transcript.service';
import { SessionWriteRepository } from './traces/session-write.repository';
import { SourceWriteRepository } from './sources/source-write.repository';
import { ModelPrices } from './span-mapping/model-prices';
import { TelemetryTraceStatsService } from './traces/stats/trace-stats.service';
import { TraceStore } from './traces/trace-store';
import { SpanRepository } from './traces/span.repository';
import { SpanService } from './traces/span.service';
import { TraceFeedRepository } from './traces/trace-feed.repository';
import { ReadLimiter } from './read-limiter';
import { TraceDeleteRepository } from './traces/trace-delete.repository';
import { TraceDeletion } from './traces/trace-deletion';
import { TraceExportService, TraceService } from './traces/trace.service';
import { TraceWriteRepository } from './traces/trace-write.repository';
import { UsageWriteRepository } from './traces/usage-write.repository';
import { UsageWriter } from './traces/usage.writer';
import { TraceWriter } from './traces/trace.writer';

/** Stores and reads traces, logs and metrics, in the API and in the worker. */
@Module({
  imports: [ComputationModule, MetricsModule, ResourcesModule, SecretsModule, UsageModule],
  providers: [
    ModelPrices,
    DayPartitionRepository,
    DayPartitions,
    DeletedTraces,
    ErasedUsers,
    LogDeleteRepository,
    Refusals,
    TombstoneRepository,
    TraceDeleteRepository,
    TraceDeletion,
    ExportMetrics,
    ExportLimiter,
    JsonReader,
    ExportResources,
    SessionWriteRepository,
    SourceWriteRepository,
    SpanRepository,
    ReadLimiter,
    TraceWriteRepository,
    UsageWriteRepository,
    UsageWriter,
    TraceWriter,
    TraceExportService,
    TraceService,
    SpanService,
    SessionService,
    TranscriptService,
    ExportRepository,
    ExportWriter,
    LogWriteRepository,
    LogExportService,
    LogService,
    MetricWriteRepository,
    MetricExportService,
    MetricService,
    TraceFeedRepository,
    TraceStore,
    TelemetryTraceStatsService,
  ],
  exports: [
    DayPartitionRepository,
    DayPartitions,
    DeletedTraces,
    ErasedUsers,
    TraceDeleteRepository,
    TraceDeletion,
    SourceWriteRepository,
    ExportRepository,
    ModelPrices,
    ReadLimiter,
    SessionWriteRepository,
    TraceFeedRepository,
    TelemetryTraceStatsService,
    TraceStore,
    TraceExportService,
    TraceService,
    SpanService,
    SessionService,
    TranscriptService,
    LogExportService,
    LogService,
    MetricExportService,
    MetricService,
  ],
})
export class TelemetryModule {}
