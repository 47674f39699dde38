import type { ResourceLimits } from 'node:worker_threads';
import type { OnApplicationShutdown } from '@nestjs/common';
import { FairLimiter, type Owner } from './fair-limiter';
import { PoolThread, type PoolThreadOptions, TaskTimeout } from './pool-thread';

export interface WorkerPoolOptions {
  /** The compiled file whose exported functions are the tasks. Only the threads load it. */
  file: string;
  /** Maximum number of threads. Each starts when it is first needed. */
  threads: number;
  /** Threads that one organization may use at once. Default: all. */
  share?: number;
  /** Callers that may wait for a thread, over all organizations. */
  maxWaiting: number;
  /** Milliseconds that a task may take once its thread has begun it. Only the signal bounds the start of the thread. */
  deadlineMs: number;
  /** Milliseconds after which an idle thread ends; 10 seconds by default. */
  idleMs?: number;
  /** Limits of each thread. A thread that exceeds its heap ends, and its task fails. */
  resourceLimits?: ResourceLimits;
}

export interface WorkerTaskOptions {
  /** Replaces the deadline of the pool, in milliseconds. */
  deadlineMs?: number;
  /** Buffers of the input to move instead of copying. The caller can no longer use them. */
  transfer?: readonly ArrayBufferLike[];
}

/** The input and the result of a task, by the name of its exported function. */
type Input<Tasks, Name extends keyof Tasks> = Tasks[Name] extends (input: infer Value) => unknown
  ? Value
  : never;
type Result<Tasks, Name extends keyof Tasks> = Tasks[Name] extends (input: never) => infer Value
  ? Awaited<Value>
  : never;

/** Runs a task in a thread and returns its result. */
export type RunTask<Tasks> = <Name extends keyof Tasks & string>(
  name: Name,
  input: Input<Tasks, Name>,
  options?: WorkerTaskOptions,
) => Promise<Result<Tasks, Name>>;

/** Whether a task was ended because of its deadline or the heap of its thread. */
export const isExhausted = (error: unknown): boolean =>
  error instanceof TaskTimeout || (error as { code?: unknown } | null)?.code === 'ERR_WORKER_OUT_OF_MEMORY';

/**
 * Runs CPU work in a bounded number of threads, so that the event loop stays free. Organizations take turns for the
 * threads, and so do the workspaces of an organization.
 *
 * A task is an exported function of a file, selected by its name. Its input and its result are structured clones; typed
 * arrays in the result are moved. Errors of a task keep only name, message and stack, so a task should return the outcomes
 * that a caller must tell apart.
 */
export class WorkerPool<Tasks extends object> implements OnApplicationShutdown {
  readonly threads: number;
  private readonly deadlineMs: number;
  private readonly limiter: FairLimiter;
  private readonly threadOptions: PoolThreadOptions;
  private readonly busy = new Set<PoolThread>();
  private idle: PoolThread[] = [];
  private closed = false;

  constructor({
    threads,
    share = threads,
    maxWaiting,
    deadlineMs,
    idleMs = 10_000,
    ...thread
  }: WorkerPoolOptions) {
    this.threads = threads;
    this.deadlineMs = deadlineMs;
    this.limiter = new FairLimiter({ concurrency: threads, share, maxWaiting });
    this.threadOptions = { ...thread, idleMs };
  }

  get isClosed(): boolean {
    return this.closed;
  }

  /**
   * Runs one task as soon as its owner's turn comes, and returns its result.
   *
   * @param signal ends the waiting, and terminates the thread of a running task
   * @throws the signal's reason when it is aborted; 503 `service_overloaded` if too many wait; `TaskTimeout` after the
   *   deadline; `ThreadStartError`; the error of the task; an Error when the pool is closed
   */
  run<Name extends keyof Tasks & string>(
    owner: Owner,
    signal: AbortSignal,
    name: Name,
    input: Input<Tasks, Name>,
    options?: WorkerTaskOptions,
  ): Promise<Result<Tasks, Name>> {
    return this.reserve(owner, signal, (runTask) => runTask(name, input, options));
  }

  /**
   * Reserves a thread as `run` does, for work that first has to load the input of its tasks. This also limits how many
   * inputs are in memory. Run the tasks one after the other.
   */
  reserve<Value>(
    owner: Owner,
    signal: AbortSignal,
    work: (runTask: RunTask<Tasks>) => Promise<Value>,
  ): Promise<Value> {
    return this.limiter.run(owner, signal, () =>
      work((name, input, options) => this.runNow(signal, name, input, options)),
    );
  }

  /** Terminates all threads. Running and waiting tasks fail. */
  async close(): Promise<void> {
    this.closed = true;
    const threads = [...this.busy, ...this.idle];
    this.idle = [];
    await Promise.all(threads.map((thread) => thread.terminate()));
  }

  onApplicationShutdown(): Promise<void> {
    return this.close();
  }

  private async runNow<Name extends keyof Tasks & string>(
    signal: AbortSignal,
    name: Name,
    input: Input<Tasks, Name>,
    { deadlineMs = this.deadlineMs, transfer = [] }: WorkerTaskOptions = {},
  ): Promise<Result<Tasks, Name>> {
    if (this.closed) throw new Error(CLOSED);
    signal.throwIfAborted();
    this.idle = this.idle.filter(({ isDead }) => !isDead);
    // takes the most recently used thread, so that surplus threads reach their idle time
    const thread = this.idle.pop() ?? new PoolThread(this.threadOptions);
    this.busy.add(thread);
    try {
      const result = await thread.run({ name, input }, { deadlineMs, signal, transfer });
      return result as Result<Tasks, Name>;
    } catch (error) {
      throw this.closed && !signal.aborted ? new Error(CLOSED, { cause: error }) : error;
    } finally {
      this.busy.delete(thread);
      if (!thread.isDead) this.idle.push(thread);
    }
  }
}

const CLOSED = 'The worker pool is closed.';
