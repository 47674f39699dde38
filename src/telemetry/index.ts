export { TelemetryHttpModule } from './telemetry.http.module';
export { TelemetryModule } from './telemetry.module';
export { TelemetryWorkerModule } from './telemetry.worker.module';
export { DeletedTraces } from './deletion/deleted-traces';
export { ErasedUsers } from './traces/erased-users';
export { type RemovedUses, TraceUses } from './deletion/trace-uses';
export { type EvaluationEvent, EvaluationEvents } from './evaluation-events/evaluation-event';
export { ReadLimiter } from './read-limiter';
export { joinTraceFact } from './traces/trace-facts.sql';
export { SessionService } from './sessions/session.service';
export { costOf, ModelPrices, type PriceTable } from './span-mapping/model-prices';
export { readSpanContent } from './span-mapping/span-meaning.reader';
export type { MeaningfulEvent } from './span-mapping/span-meaning.types';
export { repeatsUsage } from './traces/span-record';
export { DELETED_TRACES_MAX, type DeletedCounts, TraceDeletion } from './traces/trace-deletion';
export { TraceExportService } from './traces/trace.service';
export { mayBeCall } from './traces/span-content';
export { TraceStore } from './traces/trace-store';
export { SpanDto, SpanListQueryDto, SpanPageDto, toSpanDto } from './traces/span.dto';
export {
  type Backlog,
  type FeedEntry,
  type FeedPosition,
  TraceFeedRepository,
} from './traces/trace-feed.repository';
export {
  type ScoreBounds,
  type ScoreCondition,
  type ScoredTrace,
  type ScoreOrder,
  SCORE_SOURCES,
  TRACE_SCORES_MAX,
  type ScoreSource,
  type TraceScore,
  TraceScores,
} from './traces/trace-scores';
export {
  AreScoreFilters,
  checkScorerNames,
  IsScoreSort,
  readScoreFilters,
  readScoreSort,
  type ScoreSort,
  unknownScorerDetail,
} from './traces/score-query';
export { type LabelFilters, SessionTraceListQueryDto } from './traces/trace-query.dto';
export {
  checkSelectionValues,
  conditionErrors,
  IsRuleFilters,
  IsTraceId,
  IsTraceIds,
  parseConditions,
  parseFilters,
  RuleFilterDto,
} from './traces/stats/rule-filter.dto';
export type { FilterInput } from './traces/stats/trace-filters';
export {
  FiltersOf,
  GroupsOf,
  TraceConditionDto,
  TraceMetricsDto,
  TraceStatsRowDto,
} from './traces/stats/trace-stats.dto';
export { checkStatsValues, readStatsQuery } from './traces/stats/trace-stats-query';
export {
  MEASURE_FIELDS,
  TRACE_GROUPS,
  TRACE_LABEL_FIELDS,
  type TraceFilter,
} from './traces/trace-stats.types';
export {
  toBaseTraceDto,
  ScoredTraceDto,
  BaseTraceDto,
  ScoredTracePageDto,
  type TraceRow,
  type TraceSummary,
  type TraceUsage,
} from './traces/trace.dto';
export {
  type SessionRef,
  TRACE_ID,
  type TraceBatch,
  type TraceRef,
  type TraceSelection,
  type TraceSpan,
} from './traces/trace.types';
export { contentOf, Conversation } from './conversation/conversation';
export {
  firstUserContent,
  lastAssistantContent,
  messagesIn,
  parsedValue,
  type SessionMessage,
} from './conversation/messages';
export {
  answerEntry,
  bodyOf,
  callEntry,
  displayName,
  entriesOf,
  jsonOrText,
  type ToolNames,
  toolNamesIn,
  type TranscriptEntry,
} from './conversation/transcript-entries';
