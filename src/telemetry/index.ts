export { TelemetryHttpModule } from './telemetry.http.module';
export { TelemetryModule } from './telemetry.module';
export { TelemetryWorkerModule } from './telemetry.worker.module';
export {
  ARRIVAL_TEXTS,
  type ArrivalClock,
  type ArrivalPlace,
  type TraceArrival,
  TraceArrivals,
} from './trace-arrivals';
export {
  type LabelledTraces,
  TRACE_AGGREGATIONS,
  TRACE_GROUPS,
  TRACE_MEASURES,
  TRACE_STATUSES,
  type TraceAggregation,
  type TraceFilter,
  type TraceMeasure,
  type TraceMetric,
  type TraceStats,
  type TraceStatsQuery,
} from './trace-stats';
export { SessionService } from './sessions/session.service';
export { SpanDto, SpanListQueryDto, SpanPageDto } from './traces/span.dto';
export { toSpanDto } from './traces/span.mapper';
export { TraceDto, TraceFiguresDto, TracePageDto } from './traces/trace.dto';
export { StartedListQueryDto } from './traces/trace-query.dto';
export { toTraceFigures } from './traces/trace.mapper';
export { ModelPrices } from './model-prices';
export {
  type IdConditions,
  type KeptIds,
  type SessionRef,
  type SpanBatch,
  type SpanRow,
  TRACE_ID,
  type TraceRef,
  type TraceRow,
  type TraceSelection,
  type TraceSpan,
  TraceStore,
  type TraceSummary,
} from './trace-store';
