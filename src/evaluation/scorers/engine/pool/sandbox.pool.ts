import { FairQueue } from '#platform/turns';
import { SandboxWorker } from './sandbox.worker';
import type { TaskEnd } from './sandbox.worker';
import type { ThreadAnswers, ThreadTask } from './thread.protocol';

/** Time that a thread gets beyond a task's own limit, for what it does before and after and for the way there. */
const GRACE_MS = 250;

export interface SandboxPoolOptions {
  /** Threads at most, each started when it is first needed; default 2. */
  threads?: number;
}

/** How a task ended where its thread had to be ended, or ended by itself. */
export type TaskEnding = 'deadline' | 'crashed';

/** Rules of one task in the pool. */
export interface TaskOptions {
  /** Time the task may take once a thread runs it, in ms. */
  timeoutMs: number;
  /** Who waits for it: owners take turns. */
  owner: string;
  signal?: AbortSignal;
}

interface Job {
  task: ThreadTask;
  options: TaskOptions;
  settle: (end: Promise<TaskEnd>) => void;
}

/** A few threads for untrusted work, a queue before them in which owners take turns, and replacement of dead threads. */
export class SandboxPool {
  private readonly size: number;
  private readonly queue = new FairQueue<Job>();
  private readonly busy = new Set<SandboxWorker>();
  private idle: SandboxWorker[] = [];
  private wasm: WebAssembly.Module | undefined;
  private isClosed = false;

  constructor(options: SandboxPoolOptions = {}) {
    this.size = Math.max(1, options.threads ?? 2);
  }

  /**
   * Runs a task in a thread, when its turn comes, and answers what the thread answered or how the task was ended.
   *
   * @throws the signal's reason when it is aborted, also while the task waits; an Error when the pool is closed or no
   *   thread can be started
   */
  async run<K extends ThreadTask['kind']>(
    task: ThreadTask & { kind: K },
    options: TaskOptions,
  ): Promise<{ answer: ThreadAnswers[K] } | { ended: TaskEnding }> {
    const { signal, owner } = options;
    signal?.throwIfAborted();
    if (this.isClosed) throw new Error('the sandbox is closed');
    const end = await new Promise<TaskEnd>((resolve, reject) => {
      const job: Job = {
        task,
        options,
        settle: (ended) => {
          signal?.removeEventListener('abort', abort);
          ended.then(resolve, reject);
        },
      };
      const abort = (): void => {
        this.queue.remove([owner], job);
        resolve({ ended: 'aborted' });
      };
      signal?.addEventListener('abort', abort);
      this.queue.push([owner], job);
      this.dispatch();
    });
    if ('answer' in end) return { answer: end.answer as ThreadAnswers[K] };
    signal?.throwIfAborted();
    if (this.isClosed || end.ended === 'aborted') throw new Error('the sandbox is closed');
    return { ended: end.ended };
  }

  /** Ends all threads. What runs or waits ends with an Error. */
  async close(): Promise<void> {
    this.isClosed = true;
    for (const job of this.queue.drain()) job.settle(Promise.resolve({ ended: 'aborted' }));
    const workers = [...this.busy, ...this.idle];
    this.idle = [];
    await Promise.all(workers.map((worker) => worker.end()));
  }

  private dispatch(): void {
    while (!this.isClosed && this.busy.size < this.size) {
      const job = this.queue.shift();
      if (!job) return;
      job.settle(this.perform(job));
    }
  }

  private async perform(job: Job): Promise<TaskEnd> {
    this.idle = this.idle.filter((idle) => !idle.isDead);
    const worker = this.idle.pop() ?? new SandboxWorker(this.wasm);
    this.busy.add(worker);
    try {
      return await worker.run(job.task, job.options.timeoutMs + GRACE_MS, job.options.signal);
    } catch (error) {
      if (this.isClosed) return { ended: 'aborted' };
      throw error;
    } finally {
      this.wasm ??= worker.wasm;
      this.busy.delete(worker);
      if (!this.isClosed) this.idle.push(worker);
      this.dispatch();
    }
  }
}
