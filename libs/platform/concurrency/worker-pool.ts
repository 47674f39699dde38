import path from 'node:path';
import type { ResourceLimits } from 'node:worker_threads';
import type { OnApplicationShutdown } from '@nestjs/common';
import Piscina from 'piscina';
import { rootLogger } from '#platform/logging';
import { FairLimiter, type Owner } from './fair-limiter';
import { linkedSignal } from './linked-signal';
import type { ThreadTask } from './worker-thread';

const THREAD_FILE = path.join(__dirname, 'worker-thread.js');

export interface WorkerPoolOptions {
  /** The compiled file whose exported functions are the tasks. Only the threads load it. */
  file: string;
  /** Threads at most. Each starts when it is first needed. */
  threads: number;
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

/** The exported functions of a thread's file, of which one name is given. */
type Input<Tasks, Name extends keyof Tasks> = Tasks[Name] extends (input: infer Given) => unknown
  ? Given
  : never;
type Result<Tasks, Name extends keyof Tasks> = Tasks[Name] extends (input: never) => infer Given
  ? Awaited<Given>
  : never;

/** Runs a task in a thread and returns its result. */
export type RunTask<Tasks> = <Name extends keyof Tasks & string>(
  name: Name,
  input: Input<Tasks, Name>,
  options?: WorkerTaskOptions,
) => Promise<Result<Tasks, Name>>;

/** A task did not end by its deadline. Its thread was terminated. */
export class TaskTimeout extends Error {
  override readonly name = 'TaskTimeout';

  constructor(task: string, deadlineMs: number) {
    super(`The task ${task} did not end within ${deadlineMs} ms.`);
  }
}

/** Whether a task was ended because of its deadline or the heap of its thread. */
export const isExhausted = (error: unknown): boolean =>
  error instanceof TaskTimeout || (error as { code?: unknown } | null)?.code === 'ERR_WORKER_OUT_OF_MEMORY';

/**
 * Runs CPU work in a bounded number of threads, so that the event loop stays free. Organizations take turns for the
 * threads, and so do the workspaces of an organization.
 *
 * A task is a function that a file exports, by its name. Its input and its result are structured clones; typed arrays in
 * the result are moved. Errors of a task lose everything but name, message and stack, so tasks should return what a
 * caller must distinguish.
 */
export class WorkerPool<Tasks extends object> implements OnApplicationShutdown {
  readonly threads: number;
  private readonly deadlineMs: number;
  private readonly limiter: FairLimiter;
  private readonly piscina: Piscina<ThreadTask, unknown>;
  /** Starts the clock of a task, by the task's number. */
  private readonly clocks = new Map<number, () => void>();
  private lastTask = 0;
  private isClosed = false;

  constructor({ file, threads, maxWaiting, deadlineMs, idleMs = 10_000, resourceLimits }: WorkerPoolOptions) {
    this.threads = threads;
    this.deadlineMs = deadlineMs;
    this.limiter = new FairLimiter({ concurrency: threads, maxWaiting });
    this.piscina = new Piscina({
      filename: THREAD_FILE,
      workerData: { file },
      minThreads: 0,
      maxThreads: threads,
      idleTimeout: idleMs,
      // neither secrets nor hooks of this process are for the threads
      env: {},
      execArgv: [],
      recordTiming: false,
      ...(resourceLimits && { resourceLimits }),
    });
    this.piscina.on('message', (begun: number) => this.clocks.get(begun)?.());
    this.piscina.on('error', (error: Error) => rootLogger.error({ err: error }, 'A worker thread failed.'));
  }

  /**
   * Runs one task as soon as its owner's turn comes, and returns its result.
   *
   * @param signal ends the waiting, and terminates the thread of a running task
   * @throws the signal's reason when it is aborted; 503 `service_overloaded` if too many wait; `TaskTimeout` after the
   *   deadline; what the task throws
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
   * Reserves a thread as `run` does, for work that first has to load the input of its tasks. This bounds the memory of
   * the inputs too. Run the tasks one after the other.
   */
  reserve<Answer>(
    owner: Owner,
    signal: AbortSignal,
    work: (runTask: RunTask<Tasks>) => Promise<Answer>,
  ): Promise<Answer> {
    return this.limiter.run(owner, signal, () =>
      work((name, input, options) => this.runNow(signal, name, input, options)),
    );
  }

  /** Terminates all threads. Running and waiting tasks fail. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.piscina.destroy();
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
    if (this.isClosed) throw new Error('The worker pool is closed.');
    signal.throwIfAborted();
    const deadline = new AbortController();
    // if this process was blocked, a result may be queued behind the timer and goes first
    const expire = (): void => void setImmediate(() => deadline.abort(new TaskTimeout(name, deadlineMs)));
    let timer: NodeJS.Timeout | undefined;
    const id = ++this.lastTask;
    this.clocks.set(id, () => (timer = setTimeout(expire, deadlineMs)));
    const ending = linkedSignal(signal, deadline.signal);
    try {
      const transferList = [...transfer] as ArrayBuffer[];
      const result = await this.piscina.run({ id, name, input }, { signal: ending.signal, transferList });
      return result as Result<Tasks, Name>;
    } catch (error) {
      throw ending.signal.aborted ? ending.signal.reason : error;
    } finally {
      this.clocks.delete(id);
      clearTimeout(timer);
      ending.unlink();
    }
  }
}
