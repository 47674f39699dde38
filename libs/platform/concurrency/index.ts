export { Batcher, type BatchRules, SMALL_WRITES } from './batcher';
export { LoadingCache } from './loading-cache';
export {
  checkCurrentWork,
  currentOwner,
  HEALTH,
  isInTransaction,
  type Joined,
  joinedTransaction,
  PLATFORM_OWNER,
  runAs,
  runJoined,
  runRequest,
  runTransaction,
  runUnjoined,
  setCurrentCheck,
  setCurrentOwner,
  type SharedWrites,
  UNAUTHENTICATED,
} from './current-owner';
export { withDeadline } from './deadline';
export {
  FairLimiter,
  type FairLimiterOptions,
  type Owner,
  pathOf,
  type Permit,
  WaitTimeout,
} from './fair-limiter';
export { FairQueue, type OwnerPath } from './fair-queue';
export { ReadTurns } from './read-turns';
export { type LinkedSignal, linkedSignal, unlessAborted } from './linked-signal';
export { inSlices, TimeSlice, yieldToEventLoop } from './time-slice';
export { backOffMs, pause, retry, type RetryPolicy } from './retry';
export { SingleFlight } from './single-flight';
export { ByteBudget, type ByteLease } from './byte-budget';
export { TaskTimeout, ThreadStartError } from './pool-thread';
export { isExhausted, type RunTask, type TaskFile, WorkerPool } from './worker-pool';
export { ComputationModule, ComputationPool } from './computation-pool';
