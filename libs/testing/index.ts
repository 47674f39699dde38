export { type Answer, ApiClient, type RequestOptions } from './api-client';
export { ApiProcess } from './api-process';
export {
  committedDocument,
  withOwnParameters,
  Contract,
  documentedCodes,
  type ObservedAnswer,
} from './contract';
export { describeGuide, Guide } from './guide';
export { type Forwarded, HttpForwarder } from './http-forwarder';
export { newOrganization, TestOrganization, type TestServiceAccount } from './organization';
export {
  jsonExport,
  newSpan,
  newSpanId,
  newTraceId,
  protobufExport,
  SPAN_START,
  type TestAttributes,
  type TestSpan,
} from './otlp-export';
export { describeWithRedis, findRedis, ownRedis, type OwnRedis, provideRedis, type TestRedis } from './redis';
export { type Bootstrap, type StandaloneOptions, StandaloneService } from './standalone-service';
export { describeWithS3, provideS3, type TestBucket, type TestS3 } from './test-bucket';
export {
  closeSharedApps,
  type JudgedApp,
  ownApp,
  sharedApp,
  type SharedAppOptions,
  sharedJudge,
} from './shared-app';
export { createTestApp, TestApp, type TestAppOptions } from './test-app';
export {
  createTestDatabase,
  dropDatabase,
  startTestDatabaseServer,
  type TestDatabase,
  type TestDatabaseServer,
} from './test-database';
export { TcpProxy } from './tcp-proxy';
export { agree, type JudgeReply, TestJudge, type TestJudgeRequest } from './test-judge';
export { TestIssuer, type TokenOverrides } from './test-issuer';
export { createTestWorker, TestWorker, WorkerProcess } from './test-worker';
export { until } from './until';
