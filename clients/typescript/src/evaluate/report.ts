import { commandRun, type EvalProgress, type EvaluateOptions } from './options.js';
import type { EvalStatus, EvalSummary } from './summary.js';

/** Shows a run while it lasts, and its result. */
export interface Reporter {
  progress(progress: EvalProgress): void;
  ended(summary: EvalSummary): void;
}

/** Exit statuses of a process, as those of the command. */
const EXIT_STATUS: Record<EvalStatus, number> = { passed: 0, completed: 0, failed: 3, incomplete: 6 };

const TERMINAL_MS = 100;
const LOG_MS = 30_000;

/** Returns the reporter of a run: that of the command, one that prints, or one that only calls `onProgress`. */
export function reporterOf({
  name,
  report = 'auto',
  onProgress,
}: Pick<EvaluateOptions, 'name' | 'report' | 'onProgress'>): Reporter {
  const command = commandRun();
  const isPlain = typeof process !== 'undefined' && process.stderr !== undefined && !command;
  const isTest =
    isPlain && (process.env['VITEST'] !== undefined || process.env['JEST_WORKER_ID'] !== undefined);
  const prints = isPlain && (report === 'auto' ? !isTest && !onProgress : report);
  const printer = prints ? printerOf(name) : undefined;
  return {
    progress: (progress) => {
      onProgress?.(progress);
      command?.onProgress?.(name, progress);
      printer?.progress(progress);
    },
    ended: (summary) => {
      command?.ended?.(summary);
      printer?.ended(summary);
    },
  };
}

/** Prints progress to standard error and the result to standard output, and sets the exit status of the process. */
function printerOf(name: string): Reporter {
  const { stderr, stdout } = process;
  const everyMs = stderr.isTTY ? TERMINAL_MS : LOG_MS;
  let printedAt = stderr.isTTY ? 0 : Date.now();
  return {
    progress: ({ total, finished, failed, waiting }) => {
      if (Date.now() - printedAt < everyMs) return;
      printedAt = Date.now();
      const line = `${name}: ${finished} of ${total}, ${failed} failed, ${waiting} to upload`;
      stderr.write(stderr.isTTY ? `\r\u001b[K${line}` : `${line}\n`);
    },
    ended: (summary) => {
      if (stderr.isTTY) stderr.write('\r\u001b[K');
      stdout.write(`${summary.toString()}\n`);
      // a file may have several runs
      process.exitCode = Math.max(Number(process.exitCode ?? 0), EXIT_STATUS[summary.status]);
    },
  };
}
