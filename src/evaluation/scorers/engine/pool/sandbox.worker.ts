import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { THREAD_HEAP_MB } from '../../definitions/limits';
import type { FormFault } from '../../definitions/form';
import type { ScoreOutcome } from '../score-outcome';

const THREAD_FILE = path.join(__dirname, 'sandbox.thread.js');

/** Native stack of a thread, in MiB: so large that the interpreter reaches its own limit first and can report it. */
const STACK_MB = 16;

/**
 * A task of a sandbox thread. `members` are JSON texts in the order of `SUBJECT_MEMBERS`, `definition` is the JSON text of
 * a definition, and `ofSession` says that a session is scored.
 */
export type ThreadTask =
  | { kind: 'script'; source: string; timeoutMs: number; memoryMb: number; members: readonly string[] }
  | { kind: 'check-script'; source: string; timeoutMs: number; memoryMb: number }
  | { kind: 'checks'; definition: string; members: readonly string[]; ofSession: boolean }
  | { kind: 'validate'; definition: string };

/** The answer to each kind of task. */
export interface ThreadAnswers {
  script: ScoreOutcome;
  'check-script': string | null;
  checks: ScoreOutcome;
  validate: FormFault[];
}

/** The first message of a thread, when it is ready. `wasm` is the compiled interpreter, for threads started later. */
export interface ThreadReady {
  wasm: WebAssembly.Module;
}

/** Every later message: the answer to the one task of the thread. */
export interface ThreadReply {
  answer: ThreadAnswers[keyof ThreadAnswers];
}

/** How a task ended: with the thread's answer, or with the thread. */
export type TaskEnd = { answer: ThreadReply['answer'] } | { ended: 'deadline' | 'aborted' | 'crashed' };

/**
 * A thread that runs one task at a time.
 *
 * A task that exceeds its time is ended by ending the thread, because no interrupt handler can stop a native call. The
 * worker then is `isDead` and must be replaced. An idle worker does not keep the process alive.
 */
export class SandboxWorker {
  isDead = false;
  /** The compiled interpreter, once the thread is up. */
  wasm: WebAssembly.Module | undefined;
  private readonly worker: Worker;
  private readonly ready: Promise<void>;
  private onEnd: ((end: TaskEnd) => void) | undefined;

  /** Starts the thread. With `wasm` it need not compile the interpreter itself. */
  constructor(wasm: WebAssembly.Module | undefined) {
    this.worker = new Worker(THREAD_FILE, {
      workerData: wasm ? { wasm } : {},
      env: {},
      execArgv: [],
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: THREAD_HEAP_MB, stackSizeMb: STACK_MB },
    });
    this.worker.stdout.resume();
    this.worker.stderr.resume();
    this.ready = new Promise((resolve, reject) => {
      this.worker.once('message', (message: ThreadReady) => {
        this.wasm = message.wasm;
        this.worker.on('message', (reply: ThreadReply) => this.onEnd?.({ answer: reply.answer }));
        resolve();
      });
      this.worker.on('error', (error) => {
        this.isDead = true;
        reject(error);
        this.onEnd?.({ ended: 'crashed' });
      });
      this.worker.on('exit', () => {
        this.isDead = true;
        reject(new Error('the sandbox thread ended before it was ready'));
        this.onEnd?.({ ended: 'crashed' });
      });
    });
    this.ready.catch(() => undefined);
  }

  /**
   * Runs one task, for `limitMs` counted from when the thread is ready for it.
   *
   * @throws what kept the thread from starting
   */
  async run(task: ThreadTask, limitMs: number, signal: AbortSignal | undefined): Promise<TaskEnd> {
    this.worker.ref();
    await this.ready;
    let timer: NodeJS.Timeout | undefined;
    let abort: (() => void) | undefined;
    const end = await new Promise<TaskEnd>((resolve) => {
      this.onEnd = resolve;
      // If this process was blocked, an answer may be queued behind the timer. `setImmediate` lets it in first.
      timer = setTimeout(() => setImmediate(() => resolve({ ended: 'deadline' })), limitMs);
      abort = () => resolve({ ended: 'aborted' });
      signal?.addEventListener('abort', abort);
      if (signal?.aborted) abort();
      else this.worker.postMessage(task);
    });
    clearTimeout(timer);
    if (abort) signal?.removeEventListener('abort', abort);
    this.onEnd = undefined;
    if ('ended' in end) await this.end();
    else this.worker.unref();
    return end;
  }

  /** Ends the thread, whatever it is doing. */
  async end(): Promise<void> {
    this.isDead = true;
    await this.worker.terminate();
  }
}
