import { Module } from '@nestjs/common';
import { MetricsModule } from '#platform/metrics';
import { ExportMetrics } from './exports/export.metrics';
import { GroupSlots } from './exports/group-slots';
import { ModelPrices } from './model-prices';
import { ExportRepository } from './exports/export.repository';
import { ExportWriter } from './exports/export.writer';
import { LogExportService } from './logs/log-export.service';
import { LogService } from './logs/log.service';
import { LogWriteRepository } from './logs/log-write.repository';
import { MetricExportService } from './metrics/metric-export.service';
import { MetricService } from './metrics/metric.service';
import { MetricWriteRepository } from './metrics/metric-write.repository';
import { DayPartitionRepository } from './partitions/day-partition.repository';
import { DayPartitions } from './partitions/day-partitions';
import { PostgresTraceStore } from './postgres-trace.store';
import { SessionKeepingRepository } from './sessions/session-keeping.repository';
import { SessionService } from './sessions/session.service';
import { SourceRepository } from './sources/source.repository';
import { SourceWriter } from './sources/source.writer';
import { TraceArrivals } from './trace-arrivals';
import { TraceStore } from './trace-store';
import { SpanRepository } from './traces/span.repository';
import { SpanService } from './traces/span.service';
import { TraceArrivalRepository } from './traces/trace-arrival.repository';
import { TraceExportService } from './traces/trace-export.service';
import { TraceRepository } from './traces/trace.repository';
import { TelemetryReading } from './telemetry-reading';
import { TraceService } from './traces/trace.service';
import { TraceWriteRepository } from './traces/trace-write.repository';
import { TraceWriter } from './traces/trace.writer';

/** Telemetry: the stores of traces, logs and metrics, for the API and the worker alike. */
@Module({
  imports: [MetricsModule],
  providers: [
    ModelPrices,
    DayPartitionRepository,
    DayPartitions,
    ExportMetrics,
    GroupSlots,
    SessionKeepingRepository,
    SourceRepository,
    SourceWriter,
    SpanRepository,
    TraceRepository,
    TelemetryReading,
    TraceWriteRepository,
    TraceWriter,
    TraceExportService,
    TraceService,
    SpanService,
    SessionService,
    ExportRepository,
    ExportWriter,
    LogWriteRepository,
    LogExportService,
    LogService,
    MetricWriteRepository,
    MetricExportService,
    MetricService,
    { provide: TraceArrivals, useClass: TraceArrivalRepository },
    { provide: TraceStore, useClass: PostgresTraceStore },
  ],
  exports: [
    DayPartitionRepository,
    DayPartitions,
    ExportRepository,
    ModelPrices,
    SessionKeepingRepository,
    TraceArrivals,
    TraceStore,
    TraceExportService,
    TraceService,
    SpanService,
    SessionService,
    LogExportService,
    LogService,
    MetricExportService,
    MetricService,
  ],
})
export class TelemetryModule {}
