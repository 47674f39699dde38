import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { type Owner, type TaskFile, TaskTimeout, ThreadStartError, WorkerPool } from '#platform/concurrency';
import { Environment } from '#platform/config';
import { isJsonObject } from '#platform/json';
import { describeFaults, faultsOfCode, type ScriptDefinition } from '../../definitions/definition.forms';
import type { FormFault } from '../../definitions/form';
import {
  CHECKS_TIMEOUT_MS,
  DEFAULT_MEMORY_MB,
  DEFAULT_TIMEOUT_MS,
  MAX_DEFINITION_LENGTH,
  THREAD_HEAP_MB,
} from '../../definitions/limits';
import type * as tasks from './code.thread';
import { describeStop } from '../javascript/script.result';
import { encodeSubject, type ScoreOutcome, type ScoringSubject } from '../subject';

/** Native stack of a thread, in MiB. Large enough that the interpreter reaches its own limit first and can report it. */
const STACK_MB = 16;
/** Time that a thread has in addition to the limit of a task, in ms, for messages and for creating an interpreter. */
const GRACE_MS = 1_000;
/** Time after which an idle thread ends, in ms. Starting a thread takes about 0.2 s. */
const IDLE_MS = 300_000;

const TASKS: TaskFile<typeof tasks> = {
  path: path.join(__dirname, 'code.thread.js'),
  deadlineMs: CHECKS_TIMEOUT_MS + GRACE_MS,
};

/**
 * Runs and validates scorers of kind `code`, both scripts and checks, in a few threads. Owners take turns.
 *
 * A script sees a copy of its subject and the built-ins of ECMAScript 2023. It has no network, files, modules or timers,
 * and asynchronous code never runs. The clock always shows 2000-01-01T00:00:00Z in UTC, and `Math.random` returns the same
 * numbers in each run, so that scores are reproducible. Scripts have these additional globals:
 *
 * - `levenshtein(a, b)`: the edits between two strings of at most 20,000 UTF-16 code units.
 * - `levenshteinSimilarity(a, b)`: 1 minus the edits divided by the length of the longer string; 1 for two empty strings.
 * - `console`: discards all output.
 *
 * Each run starts from the same pristine interpreter. A run that exceeds its time is stopped by the interpreter or, in a
 * native call, by terminating its thread. A run that exceeds its memory gets an error, which the script may catch.
 */
@Injectable()
export class CodeEngine implements OnApplicationShutdown {
  private readonly pool: WorkerPool;
  private compiled: Promise<WebAssembly.Module> | undefined;

  constructor(environment: Environment) {
    this.pool = new WorkerPool({
      // One extra thread for other organizations, while the scorers of one are slow.
      threads: environment.SCORER_THREADS + 1,
      share: environment.SCORER_THREADS,
      maxWaiting: Infinity,
      idleMs: IDLE_MS,
      resourceLimits: { maxOldGenerationSizeMb: THREAD_HEAP_MB, stackSizeMb: STACK_MB },
    });
  }

  /**
   * Scores one subject with a stored definition. The time limit starts when a thread starts the work.
   *
   * @param waiting ends only the wait for a thread; by default, the signal does
   * @returns the score or the item's `error`, for any definition and subject
   * @throws the reason of a signal when it is aborted; an Error when the engine is closed or no thread can be started
   */
  async run(
    definition: unknown,
    subject: ScoringSubject,
    signal: AbortSignal,
    owner: Owner,
    waiting: AbortSignal = signal,
  ): Promise<ScoreOutcome> {
    const encoded = encodeSubject(subject);
    if ('error' in encoded) return encoded;
    if (isJsonObject(definition) && definition.checks !== undefined) {
      const text = encodeDefinition(definition);
      if (text === undefined) return { error: describeFaults([TOO_LARGE]) };
      const task = { definition: text, subject: encoded };
      const scored = this.pool.run(owner, signal, TASKS, 'scoreByChecks', task, waiting);
      const end = await this.endOf(signal, scored, waiting);
      return 'result' in end ? end.result : { error: CHECKS_ENDED[end.ended] };
    }
    const faults = faultsOfCode(definition);
    if (faults.length > 0) return { error: describeFaults(faults) };
    const task = { ...(await this.scriptTask(definition as ScriptDefinition)), members: encoded.members };
    const file = { ...TASKS, deadlineMs: task.timeoutMs + GRACE_MS };
    const scored = this.pool.run(owner, signal, file, 'scoreByScript', task, waiting);
    const end = await this.endOf(signal, scored, waiting);
    return 'result' in end ? end.result : { error: describeStop(end.ended, task) };
  }

  /**
   * Returns what is wrong with a definition, before it is stored. Evaluates a script once, without calling `score`. Works in
   * a thread, so that a hostile definition does not block the caller.
   *
   * @throws as {@link run}
   */
  async validate(definition: unknown, signal: AbortSignal, owner: Owner): Promise<FormFault[]> {
    const text = encodeDefinition(definition);
    if (text === undefined) return [TOO_LARGE];
    const end = await this.endOf(signal, this.pool.run(owner, signal, TASKS, 'faultsOfDefinition', text));
    if ('ended' in end) return [TOO_SLOW];
    if (end.result.length > 0 || !isJsonObject(definition) || typeof definition.source !== 'string') {
      return end.result;
    }
    const task = await this.scriptTask({ source: definition.source });
    const file = { ...TASKS, deadlineMs: task.timeoutMs + GRACE_MS };
    const checked = await this.endOf(signal, this.pool.run(owner, signal, file, 'faultOfScript', task));
    const detail = 'result' in checked ? checked.result : describeStop(checked.ended, task);
    return detail === null ? [] : [{ pointer: '/source', detail }];
  }

  /** Terminates all threads. Running and waiting work fails. */
  close(): Promise<void> {
    return this.pool.close();
  }

  onApplicationShutdown(): Promise<void> {
    return this.close();
  }

  /** Awaits a task. Returns its result, or how it ended if its thread was terminated or crashed. */
  private async endOf<Result>(
    signal: AbortSignal,
    task: Promise<Result>,
    waiting = signal,
  ): Promise<TaskEnd<Result>> {
    try {
      return { result: await task };
    } catch (error) {
      if (error instanceof TaskTimeout) return { ended: 'deadline' };
      if (signal.aborted || this.pool.isClosed || error instanceof ThreadStartError) throw error;
      if (waiting.aborted && error === waiting.reason) throw error;
      return { ended: 'fault' };
    }
  }

  private async scriptTask({ source, timeout_ms, memory_mb }: ScriptDefinition): Promise<tasks.ScriptTask> {
    return {
      source,
      timeoutMs: timeout_ms ?? DEFAULT_TIMEOUT_MS,
      memoryMb: memory_mb ?? DEFAULT_MEMORY_MB,
      interpreter: await this.compile(),
    };
  }

  /** Returns the compiled interpreter. A failure is not cached, so the next script compiles it again. */
  private compile(): Promise<WebAssembly.Module> {
    return (this.compiled ??= compileInterpreter().catch((error: unknown) => {
      this.compiled = undefined;
      throw error;
    }));
  }
}

type TaskEnd<Result> = { result: Result } | { ended: 'deadline' | 'fault' };

const CHECKS_ENDED = {
  deadline: `the checks did not finish within ${CHECKS_TIMEOUT_MS} ms`,
  fault: 'the checks could not be run',
};

const TOO_LARGE: FormFault = {
  pointer: '',
  detail: `must be JSON of at most ${MAX_DEFINITION_LENGTH} characters`,
};

const TOO_SLOW: FormFault = { pointer: '', detail: 'has patterns or schemas that take too long to compile' };

function encodeDefinition(definition: unknown): string | undefined {
  try {
    const text = JSON.stringify(definition) ?? 'null';
    return text.length > MAX_DEFINITION_LENGTH ? undefined : text;
  } catch {
    return undefined;
  }
}

async function compileInterpreter(): Promise<WebAssembly.Module> {
  return WebAssembly.compile(await readFile(require.resolve('@jitl/quickjs-wasmfile-release-sync/wasm')));
}
