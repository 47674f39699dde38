import { bytesOf, copyOf, Fault, messageOf, toJson } from './json.js';
import type { Task, TaskCase } from './options.js';

/** What one call of the task gave: an output as JSON keeps it, or an error. */
export interface CallOutcome {
  output?: unknown;
  error?: string;
}

/** How the task is called. */
export interface CallLimits {
  timeoutMs: number;
  /** How often a failed call is made again. */
  retries: number;
}

/**
 * Maximum size of an output, in bytes of JSON. Together with the other members of the result it stays below the 4 MiB that the
 * service accepts by default.
 */
const OUTPUT_BYTES = 4 * 1024 * 1024 - 256 * 1024;

/** Longest time that a timer takes. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/**
 * Calls a function with a signal that is aborted after a time and with the run. Rejects at that moment even if the function
 * ignores the signal. What the function does later has no effect.
 */
export async function withTimeout<T>(
  timeoutMs: number,
  runSignal: AbortSignal,
  call: (signal: AbortSignal) => T | Promise<T>,
): Promise<T> {
  runSignal.throwIfAborted();
  const own = new AbortController();
  let end: () => void = () => undefined;
  const ended = new Promise<never>((_, reject) => {
    const timer = setTimeout(
      () => {
        const seconds = timeoutMs / 1000;
        own.abort(new Fault(`did not end within ${seconds} s`));
      },
      Math.min(timeoutMs, TIMER_MAX_MS),
    );
    const abort = () => own.abort(runSignal.reason);
    own.signal.addEventListener('abort', () => reject(own.signal.reason as Error), { once: true });
    runSignal.addEventListener('abort', abort, { once: true });
    end = () => {
      clearTimeout(timer);
      runSignal.removeEventListener('abort', abort);
    };
  });
  try {
    return await Promise.race([Promise.resolve(own.signal).then(call), ended]);
  } finally {
    end();
  }
}

/**
 * Calls the task for one case, again if it fails and retries are left. Never rejects, unless the run is aborted: what the task
 * throws, its timeout, and an output that is no JSON or too large become an error.
 */
export async function callTask(
  task: Task<unknown, unknown, unknown>,
  one: Omit<TaskCase, 'signal'>,
  { timeoutMs, retries }: CallLimits,
  runSignal: AbortSignal,
): Promise<CallOutcome & { outputJson?: string }> {
  for (let left = retries; ; left -= 1) {
    try {
      const given = await withTimeout(timeoutMs, runSignal, (signal) => task({ ...copyOf(one), signal }));
      return toOutput(given);
    } catch (error) {
      if (runSignal.aborted) throw error;
      if (left <= 0)
        return { error: error instanceof Fault ? `The task ${error.message}.` : messageOf(error) };
    }
  }
}

function toOutput(given: unknown): CallOutcome & { outputJson?: string } {
  let outputJson: string;
  try {
    outputJson = toJson(given);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { error: `The output ${error.message}. Return a JSON value.` };
  }
  const bytes = outputJson.length > OUTPUT_BYTES / 3 ? bytesOf(outputJson) : 0;
  if (bytes > OUTPUT_BYTES) {
    const [size, limit] = [bytes, OUTPUT_BYTES].map((count) => `${(count / 1024 / 1024).toFixed(1)} MiB`);
    return {
      error: `The output has ${size} as JSON. The service accepts up to ${limit}. Return less, or upload a file.`,
    };
  }
  return { output: isPrimitive(given) ? (given ?? null) : JSON.parse(outputJson), outputJson };
}

const isPrimitive = (value: unknown): boolean => value == null || typeof value !== 'object';
