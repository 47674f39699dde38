export { TraceContentModule } from './trace-content.module';
export { contentOf, Conversation } from './conversation';
export {
  firstUserContent,
  lastAssistantContent,
  messagesIn,
  parsedValue,
  type SessionMessage,
} from './messages';
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
} from './transcript-entries';
export {
  type InputOutput,
  isUnread,
  jsonSize,
  SPANS_MAX,
  type TraceContent,
  TraceContentReader,
} from './trace-content.reader';
