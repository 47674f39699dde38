export { ApiBodies, BODIES_EXTENSION } from './api-bodies.decorator';
export { Base64Decoder } from './base64.decoder';
export { attachment } from './attachment';
export { BODY_RULE, type BodyKind, type BodyRule, RequestBody } from './body.decorator';
export { readBody } from './body-reader';
export { BodyRooms, type RoomRule } from './body-rooms';
export { NotBelow } from './bounds';
export { checkIfMatch, IfMatch } from './conditions';
export { configureHttp } from './configure';
export { LongRunning, UnavailableWhenLate } from './deadline.interceptor';
export { type ContentCoding, codingsOf } from './content-coding';
export { ETAG_HEADER } from './etag.header';
export { HttpModule } from './http.module';
export { checkImmutable } from './immutable';
export { NOT_REPEATABLE_EXTENSION, NotRepeatable, RepeatableWithinReach } from './idempotency.interceptor';
export { IdempotencyStore } from './idempotency.store';
export { checkCharset, mediaTypeOf } from './media-type';
export {
  ANY_JSON,
  AnyJson,
  AnyJsonObject,
  ClosedBody,
  IsJson,
  IsJsonObject,
  IsOneOf,
  IsTags,
  Nested,
  NotNull,
  ValuesCheckedLater,
} from './members';
export { METADATA_MAX_BYTES, mergeWithin, patchMetadata } from './metadata';
export {
  type FormFile,
  type FormWithFiles,
  type MultipartForm,
  type MultipartRules,
  readFormFiles,
  readMultipart,
} from './multipart.reader';
export { MULTIPART_MEDIA } from './part-headers';
export { parseBody } from './parse-body';
export { pathNumber } from './path-number';
export { PROBLEM_WRITER, ProblemFilter, type ProblemWriter } from './problem.filter';
export { created, etagOf, Reply, type StreamedContent, streamed, type Versioned, versioned } from './reply';
export type { RequestContext, ServiceRequest } from './request-context';
export { RequestSignal } from './request-signal.decorator';
export { ServiceAdapter } from './service-adapter';
export { SpooledBody, type SpooledRequest } from './spooled-body.decorator';
export { SpooledFile } from './spooled-file';
export { StreamedBody } from './streamed-body';
export { firstMicrosecond, firstMillisecond, instantOf, IsTime, parseTime } from './time';
export { checkValues, fieldErrors, pointerToken, shapeOf, valueErrors } from './validation';
export { ServiceValidationPipe, validateBody } from './validation.pipe';
