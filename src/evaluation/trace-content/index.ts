export { TraceContentModule } from './trace-content.module';
export { contentOf, Conversation } from './conversation';
export {
  answerEntry,
  bodyOf,
  callEntry,
  entriesOf,
  type Entry,
  firstUserContent,
  jsonOrText,
  lastAssistantContent,
  messagesIn,
  nameOf,
  plain,
  type SessionMessage,
  type ToolNames,
  toolNamesIn,
} from './messages';
export {
  type InputOutput,
  isUnread,
  jsonSize,
  SPANS_MAX,
  type TraceContent,
  TraceContentReader,
} from './trace-content.reader';
