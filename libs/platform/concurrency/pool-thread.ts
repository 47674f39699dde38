import path from 'node:path';
import { type ResourceLimits, type Transferable, Worker } from 'node:worker_threads';
import { rootLogger } from '#platform/logging';
import type { ThreadReply, ThreadTask } from './worker-thread';

const THREAD_FILE = path.join(__dirname, 'worker-thread.js');

export interface PoolThreadOptions {
  /** Milliseconds without a task after which the thread ends. */
  idleMs: number;
  resourceLimits?: ResourceLimits;
}

interface TaskOptions {
  /** Milliseconds that the task may take once the thread has loaded its file. */
  deadlineMs: number;
  signal: AbortSignal;
  /** Buffers of the input to move. */
  transfer: readonly ArrayBufferLike[];
}

/** A task did not end by its deadline. Its thread was terminated. */
export class TaskTimeout extends Error {
  override readonly name = 'TaskTimeout';

  constructor(task: string, deadlineMs: number) {
    super(`The task ${task} did not end within ${deadlineMs} ms.`);
  }
}

/** The thread of a task could not start, so the task did not run. */
export class ThreadStartError extends Error {
  override readonly name = 'ThreadStartError';

  constructor(cause: unknown) {
    super('A worker thread could not start.', { cause });
  }
}

/** The task that a thread runs. */
interface CurrentTask {
  /** Called when the thread has loaded the task's file. */
  begin: () => void;
  end: (reply: ThreadReply) => void;
  fail: (error: Error) => void;
}

/**
 * A thread of a `WorkerPool`. It runs one task at a time.
 *
 * Only terminating the thread stops a task, because nothing else stops a native call. A terminated thread is dead, and so
 * is one that exceeded its heap. An idle thread does not keep the process alive.
 */
export class PoolThread {
  isDead = false;
  private readonly worker: Worker;
  private readonly idleTimer: NodeJS.Timeout;
  private current: CurrentTask | undefined;

  /** Starts the thread. Errors: `ThreadStartError` if the system has no memory or no thread left. */
  constructor({ idleMs, resourceLimits }: PoolThreadOptions) {
    try {
      this.worker = new Worker(THREAD_FILE, {
        // threads get neither the secrets nor the hooks of this process
        env: {},
        execArgv: [],
        ...(resourceLimits && { resourceLimits }),
      });
    } catch (error) {
      throw new ThreadStartError(error);
    }
    const die = (error: Error): void => {
      this.isDead = true;
      clearTimeout(this.idleTimer);
      this.current?.fail(error);
    };
    this.worker
      .on('message', (reply: ThreadReply | null) =>
        reply ? this.current?.end(reply) : this.current?.begin(),
      )
      .once('error', (error) => {
        if (!this.current) rootLogger.error({ err: error }, 'an idle worker thread failed');
        die(error);
      })
      .once('exit', (code) => die(new Error(`The worker thread exited with code ${code}.`)));
    this.idleTimer = setTimeout(() => {
      if (!this.current) void this.terminate();
    }, idleMs).unref();
  }

  /**
   * Runs one task, and returns its result.
   *
   * @throws the error of the task. Every other error means that the thread is dead: the signal's reason, `TaskTimeout`,
   *   `ThreadStartError`, or the error that ended the thread
   */
  async run(task: ThreadTask, { deadlineMs, signal, transfer }: TaskOptions): Promise<unknown> {
    this.worker.ref();
    let timer: NodeJS.Timeout | undefined;
    let abort: (() => void) | undefined;
    let reply: ThreadReply;
    try {
      reply = await new Promise<ThreadReply>((resolve, reject) => {
        // if this process was blocked, a result may be queued behind the timer: it takes precedence
        const expire = () => setImmediate(() => reject(new TaskTimeout(task.name, deadlineMs)));
        this.current = {
          begin: () => (timer = setTimeout(expire, deadlineMs)),
          end: resolve,
          fail: (error) => reject(timer ? error : new ThreadStartError(error)),
        };
        abort = () => reject(signal.reason as Error);
        signal.addEventListener('abort', abort);
        this.worker.postMessage(task, transfer as Transferable[]);
      });
    } catch (error) {
      await this.terminate();
      throw error;
    } finally {
      this.current = undefined;
      clearTimeout(timer);
      if (abort) signal.removeEventListener('abort', abort);
    }
    this.worker.unref();
    this.idleTimer.refresh();
    if ('error' in reply) throw reply.error;
    return reply.result;
  }

  /** Ends the thread, whatever it is doing. */
  async terminate(): Promise<void> {
    this.isDead = true;
    clearTimeout(this.idleTimer);
    await this.worker.terminate();
  }
}
