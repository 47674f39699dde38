export { Client, type ClientOptions } from './client.js';
export {
  ConfigurationError,
  ConnectionError,
  ServiceError,
  TimeoutError,
  type FieldError,
} from './core/errors.js';
export { isTransient, withRetries, type RetryPolicy } from './core/retry.js';
export { events, lines, textLines, type ServerSentEvent } from './core/streams.js';
export type { Answer, ApiPromise, Page, PageInfo, Pages, RawBody, RequestOptions } from './api/calls.cjs';
export type { NewRecord } from './resources/datasets.js';
export type { FileSource } from './resources/files.js';
export type { ToolResult } from './resources/mcp-servers.js';
export type { ChatChunk, ChatCompletion, ChatRequest } from './resources/models.js';
export type { Queue, QueueAnswer, QueueItem } from './resources/queue.js';
export type { ScorerSource } from './resources/scorers.js';
export type { Feedback } from './resources/scores.js';
/** The types of all operations and schemas: `api.Dataset`, for example. */
export type * as api from './api/types.cjs';
export { evaluate } from './evaluate/evaluate.js';
export {
  hosted,
  type Data,
  type DataItem,
  type DatasetData,
  type EvalProgress,
  type EvalRun,
  type EvaluateOptions,
  type Gate,
  type GateRule,
  type HostedScorer,
  type Score,
  type Scorer,
  type ScorerCase,
  type ScoreFunction,
  type Task,
  type TaskCase,
} from './evaluate/options.js';
export type {
  EvalStatus,
  EvalSummary,
  Interval,
  Regression,
  ScoreSummary,
  UploadCounts,
} from './evaluate/summary.js';
export type { CaseTracer, TracedCall } from './evaluate/traces.js';
export type { Failure } from './evaluate/failures.js';
export type { LowScore } from './evaluate/lowest.js';
