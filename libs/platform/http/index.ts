export {
  ApiBodies,
  ApiSchemas,
  BODIES_EXTENSION,
  BODY_EXTENSION,
  type BodyTraits,
  contentEncoding,
  IncomingBody,
  JSON_BODY,
  LIMIT_EXTENSION,
  RequestBody,
  SCHEMAS_EXTENSION,
  SELECTION_MAX_BYTES,
} from './body.decorator';
export { contentBytes } from './body.decoder';
export { Blocks, receiveBody } from './body.reader';
export {
  BodyBudgets,
  BodyBudgetsModule,
  type BudgetRule,
  MEMORY_BUDGET,
  unreadResponses,
} from './body-budgets';
export { baseUrlOf, knownBaseUrl } from './base-url';
export { CachedDocument, DocumentsByUrl } from './cached-document';
export { checkIfMatch, ETAG_HEADER, IfMatch, versionShowing } from './conditions';
export { checkCharset, mediaTypeOf } from './content-headers';
export { endingOf, LongRunning, RequestSignal, TakesAsLongAsImports, UnavailableWhenLate } from './deadline';
export { type FormFile, MULTIPART_MEDIA, readFormFiles, readFormWithFile } from './form';
export { type Endpoint, setOwnHeaders } from './endpoint';
export { configureHttp, HttpModule, mountEndpoint } from './http.module';
export { NOT_REPEATABLE_EXTENSION, NotRepeatable } from './idempotency';
export { IdempotencyRepository } from './idempotency.repository';
export type { IncomingRequest } from './incoming-request';
export { parseBody, parsePlain, readJson } from './json-body';
export {
  ANY_JSON,
  AnyJson,
  AnyJsonObject,
  IsJson,
  IsJsonObject,
  IsOneOf,
  IsTags,
  KeepsJson,
  Nested,
  NotBelow,
  NotNull,
  ReadOnlyMembersOf,
  ValuesCheckedLater,
  type Variants,
  VARIANTS_EXTENSION,
} from './members';
export { checkImmutable, METADATA_MAX_BYTES, mergeWithin, patchMetadata } from './patch';
export {
  logFailure,
  PROBLEM_WRITER,
  ProblemFilter,
  type ProblemWriter,
  RESOURCE_METADATA,
  UnauthorizedLimit,
} from './problem.filter';
export {
  ContentRequest,
  type RequestedContent,
  SendsContent,
  storedContent,
  type StoredContent,
} from './stored-content';
export { created, etagOf, Existing, Reply, streamed, Versioned, versioned } from './reply';
export { RequestBytes } from './request-bytes';
export {
  incomingTrace,
  isHealthCheck,
  isReading,
  onEnd,
  pathOf,
  routeOf,
  type ServiceRequest,
  targetOf,
} from './request-context';
export { ServiceAdapter } from './service-adapter';
export { SpooledFile } from './spooled-file';
export { sendBytes, StreamedBody } from './streamed-body';
export { firstMicrosecond, firstMillisecond, instantOf, IsTime, parseTime, timeFault } from './time';
export { checkValues, typedMembers, valueErrors } from './validation';
export { patchOf, pathNumber, unknownParameters, validateBody } from './validation.pipe';
export {
  IsImmutable,
  IsNullableText,
  IsNullableTime,
  IsOptionalText,
  IsOptionalTime,
  IsText,
  IsWholeNumber,
} from './fields';
export { viewOf } from './view';
