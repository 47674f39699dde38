import { FairLimiter, type Owner } from '#platform/concurrency';
import { SandboxWorker, type TaskEnd, type ThreadAnswers, type ThreadTask } from './sandbox.worker';

/** Time that a thread has beyond the limit of a task, in ms, for messages and preparation. */
const GRACE_MS = 250;

export interface SandboxPoolOptions {
  /** Threads at most, each started when it is first needed; default 2. */
  threads?: number;
}

/** How a task ended whose thread was ended, or ended by itself. */
export type TaskEnding = 'deadline' | 'crashed';

/** Rules of one task in the pool. */
export interface TaskOptions {
  /** Time the task may take once a thread runs it, in ms. */
  timeoutMs: number;
  /** Owners take turns at the threads. */
  owner: Owner;
  signal?: AbortSignal;
}

/** Runs untrusted work in a few threads. Owners take turns, and dead threads are replaced. */
export class SandboxPool {
  private readonly limiter: FairLimiter;
  private readonly busy = new Set<SandboxWorker>();
  private idle: SandboxWorker[] = [];
  private wasm: WebAssembly.Module | undefined;
  private isClosed = false;

  constructor(options: SandboxPoolOptions = {}) {
    this.limiter = new FairLimiter({ concurrency: Math.max(1, options.threads ?? 2) });
  }

  /**
   * Runs a task in a thread when its owner's turn comes, and returns the thread's answer or how the task was ended.
   *
   * @throws the signal's reason when it is aborted, also while the task waits; an Error when the pool is closed or no
   *   thread can be started
   */
  async run<K extends ThreadTask['kind']>(
    task: ThreadTask & { kind: K },
    options: TaskOptions,
  ): Promise<{ answer: ThreadAnswers[K] } | { ended: TaskEnding }> {
    const { signal, owner } = options;
    const end = await this.limiter.run(owner, signal, () => this.perform(task, options));
    if ('answer' in end) return { answer: end.answer as ThreadAnswers[K] };
    signal?.throwIfAborted();
    if (this.isClosed || end.ended === 'aborted') throw new Error('the sandbox is closed');
    return { ended: end.ended };
  }

  /** Ends all threads. Tasks that run or wait end with an Error. */
  async close(): Promise<void> {
    this.isClosed = true;
    const workers = [...this.busy, ...this.idle];
    this.idle = [];
    await Promise.all(workers.map((worker) => worker.end()));
  }

  private async perform(task: ThreadTask, { timeoutMs, signal }: TaskOptions): Promise<TaskEnd> {
    if (this.isClosed) return { ended: 'aborted' };
    this.idle = this.idle.filter((idle) => !idle.isDead);
    const worker = this.idle.pop() ?? new SandboxWorker(this.wasm);
    this.busy.add(worker);
    try {
      return await worker.run(task, timeoutMs + GRACE_MS, signal);
    } catch (error) {
      if (this.isClosed) return { ended: 'aborted' };
      throw error;
    } finally {
      this.wasm ??= worker.wasm;
      this.busy.delete(worker);
      if (!this.isClosed) this.idle.push(worker);
    }
  }
}
