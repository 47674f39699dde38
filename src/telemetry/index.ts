export { TelemetryHttpModule } from './telemetry.http.module';
export { TelemetryModule } from './telemetry.module';
export {
  type SpanRow,
  type TraceRow,
  type TraceSelection,
  TraceStore,
  type TraceSummary,
} from './trace-store';
