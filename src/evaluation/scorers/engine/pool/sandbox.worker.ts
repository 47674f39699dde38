import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { THREAD_HEAP_MB } from '../limits';
import type { ThreadReady, ThreadReply, ThreadTask } from './thread.protocol';

const THREAD_FILE = path.join(__dirname, 'sandbox.thread.js');

/** Native stack of a thread: enough that the interpreter's own bound is always met first, and can be reported. */
const STACK_MB = 16;

/** How a task ended: with the thread's answer, or with the thread. */
export type TaskEnd = { answer: ThreadReply['answer'] } | { ended: 'deadline' | 'aborted' | 'crashed' };

/**
 * One thread, which runs one task at a time.
 *
 * A task that does not end in its time is ended with the thread: that stops also a native call that no interrupt
 * handler could. Afterwards `isDead`, and the worker is to be replaced. While it runs nothing it does not keep the
 * process alive.
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
      // When this process itself was held up, an answer may be waiting behind the timer: it is let in first.
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
