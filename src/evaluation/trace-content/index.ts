export { TraceContentModule } from './trace-content.module';
export { contentOf, Conversation } from './conversation';
export {
  answerEntry,
  bodyOf,
  callEntry,
  entriesOf,
  type Entry,
  nameOf,
  type ToolNames,
  toolNamesIn,
} from './message-entries';
export { firstUserContent, lastAssistantContent, messagesIn, plain, type SessionMessage } from './messages';
export {
  type InputOutput,
  isUnread,
  jsonSize,
  SPANS_MAX,
  type TraceContent,
  TraceContentReader,
} from './trace-content.reader';
