import type { ResourceLimits } from 'node:worker_threads';
import type { OnApplicationShutdown } from '@nestjs/common';
import { FairLimiter, type Owner } from './fair-limiter';
import { PoolThread, type PoolThreadOptions, TaskTimeout } from './pool-thread';

export interface WorkerPoolOptions {
  /** Maximum number of threads. Each starts when it is first needed. */
  threads: number;
  /** Threads that one organization may use at once. */
  share: number;
  /** Callers that may wait for a thread, over all organizations. */
  maxWaiting: number;
  /** Milliseconds after which an idle thread ends; 10 seconds by default. */
  idleMs?: number;
  /** Limits of each thread. A thread that exceeds its heap ends, and its task fails. */
  resourceLimits?: ResourceLimits;
}

/** A file whose exported functions are tasks. Its parameter is the type of its exports. */
export interface TaskFile<Tasks extends object> {
  /** The compiled file. Only threads load it, when they get the first of its tasks. */
  readonly path: string;
  /** Milliseconds that a task may take once its thread has begun it. Only the signal bounds the start of the thread. */
  readonly deadlineMs: number;
  /** Absent. Carries the type of the tasks. */
  readonly tasks?: Tasks;
}

/** The input and the result of a task, by the name of its exported function. */
type Input<Tasks, Name extends keyof Tasks> = Tasks[Name] extends (input: infer Value) => unknown
  ? Value
  : never;
type Result<Tasks, Name extends keyof Tasks> = Tasks[Name] extends (input: never) => infer Value
  ? Awaited<Value>
  : never;

/**
 * Runs a task in a thread and returns its result.
 *
 * @param transfer buffers of the input to move instead of copying. The caller can no longer use them
 */
export type RunTask<Tasks> = <Name extends keyof Tasks & string>(
  name: Name,
  input: Input<Tasks, Name>,
  transfer?: readonly ArrayBufferLike[],
) => Promise<Result<Tasks, Name>>;

/** Whether a task was ended because of its deadline or the heap of its thread. */
export const isExhausted = (error: unknown): boolean =>
  error instanceof TaskTimeout || (error as { code?: unknown } | null)?.code === 'ERR_WORKER_OUT_OF_MEMORY';

/**
 * Runs CPU work in a bounded number of threads, so that the event loop stays free. Organizations take turns for the
 * threads, and so do the workspaces of an organization.
 *
 * The input of a task and its result are structured clones; typed arrays in the result are moved. Errors of a task keep
 * only name, message and stack, so a task should return the outcomes that a caller must tell apart.
 */
export class WorkerPool implements OnApplicationShutdown {
  readonly threads: number;
  private readonly limiter: FairLimiter;
  private readonly threadOptions: PoolThreadOptions;
  private readonly busy = new Set<PoolThread>();
  private idle: PoolThread[] = [];
  private closed = false;

  constructor({ threads, share, maxWaiting, idleMs = 10_000, ...thread }: WorkerPoolOptions) {
    this.threads = threads;
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
   * @param waiting ends only the waiting; by default, the signal does
   * @throws the signal's reason when it is aborted; 503 `service_overloaded` if too many wait; `TaskTimeout` after the
   *   deadline; `ThreadStartError`; the error of the task; an Error when the pool is closed
   */
  run<Tasks extends object, Name extends keyof Tasks & string>(
    owner: Owner,
    signal: AbortSignal,
    file: TaskFile<Tasks>,
    name: Name,
    input: Input<Tasks, Name>,
    waiting: AbortSignal = signal,
  ): Promise<Result<Tasks, Name>> {
    return this.reserve<Tasks, Result<Tasks, Name>>(
      owner,
      signal,
      file,
      (runTask) => runTask(name, input),
      waiting,
    );
  }

  /**
   * Reserves a thread as `run` does, for work that first has to load the input of its tasks. This also limits how many
   * inputs are in memory. Run the tasks one after the other.
   */
  reserve<Tasks extends object, Value>(
    owner: Owner,
    signal: AbortSignal,
    file: TaskFile<Tasks>,
    work: (runTask: RunTask<Tasks>) => Promise<Value>,
    waiting: AbortSignal = signal,
  ): Promise<Value> {
    const runTask = (name: string, input: unknown, transfer: readonly ArrayBufferLike[] = []) =>
      this.runNow(signal, file, { name, input, transfer });
    return this.limiter.run(owner, waiting, () => work(runTask as RunTask<Tasks>));
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

  private async runNow(
    signal: AbortSignal,
    { path, deadlineMs }: TaskFile<object>,
    { transfer, ...task }: { name: string; input: unknown; transfer: readonly ArrayBufferLike[] },
  ): Promise<unknown> {
    if (this.closed) throw new Error(CLOSED);
    signal.throwIfAborted();
    this.idle = this.idle.filter(({ isDead }) => !isDead);
    // takes the most recently used thread, so that surplus threads reach their idle time
    const thread = this.idle.pop() ?? new PoolThread(this.threadOptions);
    this.busy.add(thread);
    try {
      return await thread.run({ file: path, ...task }, { deadlineMs, signal, transfer });
    } catch (error) {
      throw this.closed && !signal.aborted ? new Error(CLOSED, { cause: error }) : error;
    } finally {
      this.busy.delete(thread);
      if (!thread.isDead) this.idle.push(thread);
    }
  }
}

const CLOSED = 'The worker pool is closed.';
