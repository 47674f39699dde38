export { TelemetryHttpModule } from './telemetry.http.module';
export { TelemetryModule } from './telemetry.module';
export {
  type KeptIds,
  type SessionRef,
  type SpanRow,
  type TraceRef,
  type TraceRow,
  type TraceSelection,
  type TraceSpan,
  TraceStore,
  type TraceSummary,
} from './trace-store';
