export {
  type SelectionPage,
  type SessionRef,
  type SpanRow,
  type TraceRef,
  type TraceRow,
  type TraceSelection,
  TraceStore,
} from './trace-store';
