import { Module } from '@nestjs/common';
import { ModelPrices } from './model-prices';
import { PostgresTraceStore } from './postgres-trace.store';
import { TraceArrivals } from './trace-arrivals';
import { TraceStore } from './trace-store';
import { SpanRepository } from './traces/span.repository';
import { TraceArrivalRepository } from './traces/trace-arrival.repository';
import { TraceExportService } from './traces/trace-export.service';
import { TraceRepository } from './traces/trace.repository';
import { TraceStatsRepository } from './traces/trace-stats.repository';

/** Telemetry: the trace store, for the API and the worker alike. */
@Module({
  providers: [
    ModelPrices,
    SpanRepository,
    TraceRepository,
    TraceStatsRepository,
    TraceExportService,
    { provide: TraceArrivals, useClass: TraceArrivalRepository },
    { provide: TraceStore, useClass: PostgresTraceStore },
  ],
  exports: [ModelPrices, TraceArrivals, TraceStore, TraceExportService],
})
export class TelemetryModule {}
