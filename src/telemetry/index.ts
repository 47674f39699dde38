export { TelemetryHttpModule } from './telemetry.http.module';
export { TelemetryModule } from './telemetry.module';
export { TelemetryWorkerModule } from './telemetry.worker.module';
export { ReadLimiter } from './read-limiter';
export { joinTraceFact } from './traces/trace-facts.sql';
export { SessionService } from './sessions/session.service';
export { costOf, ModelPrices, type PriceTable } from './span-mapping/model-prices';
export { readSpanContent } from './span-mapping/span-meaning.reader';
export type { MeaningfulEvent } from './span-mapping/span-meaning.types';
export { repeatsUsage } from './traces/span-record';
export { TraceExportService } from './traces/trace.service';
export { TraceStore } from './traces/trace-store';
export { SpanDto, SpanListQueryDto, SpanPageDto, toSpanDto } from './traces/span.dto';
export {
  FEED_TEXT_FIELDS,
  type FeedEntry,
  type FeedPosition,
  TraceFeedRepository,
} from './traces/trace-feed.repository';
export { StartedListQueryDto } from './traces/trace-query.dto';
export {
  TRACE_AGGREGATIONS,
  TRACE_GROUPS,
  TRACE_MEASURES,
  TRACE_STATUSES,
  type TraceAggregation,
  type TraceFilter,
  type TraceMeasure,
  type TraceMetric,
} from './traces/trace-stats.types';
export {
  toTraceFigures,
  TraceDto,
  TraceFiguresDto,
  TracePageDto,
  type TraceRow,
  type TraceSummary,
} from './traces/trace.dto';
export {
  type SessionRef,
  type SpanReading,
  TRACE_ID,
  type TraceRef,
  type TraceSelection,
  type TraceSpan,
} from './traces/trace.types';
