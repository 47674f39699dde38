export { TraceContentModule } from './trace-content.module';
export {
  type InputOutput,
  isUnread,
  jsonSize,
  SPANS_MAX,
  type TraceContent,
  TraceContentReader,
} from './trace-content.reader';
