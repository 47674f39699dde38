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

/**
 * Returns the reporter of a run. Outside the command and tests it sets the exit status, and prints unless the run has
 * `onProgress`.
 */
export function reporterOf({
  name,
  report = 'auto',
  onProgress,
}: Pick<EvaluateOptions, 'name' | 'report' | 'onProgress'>): Reporter {
  const command = commandRun();
  const reports = !command && isReporting(report);
  const printer = reports && isPrinting({ report, onProgress }) ? printerOf(name) : undefined;
  return {
    progress: (progress) => {
      onProgress?.(progress);
      command?.onProgress?.(name, progress);
      printer?.progress(progress);
    },
    ended: (summary) => {
      printer?.ended(summary);
      if (reports) setExitStatus(summary);
    },
  };
}

type ReportOptions = Pick<EvaluateOptions, 'report' | 'onProgress'>;

/** Tells whether a run that no command runs reports to the process. */
function isReporting(report: EvaluateOptions['report'] = 'auto'): boolean {
  if (typeof process === 'undefined' || process.stderr === undefined) return false;
  const isTest = process.env['VITEST'] !== undefined || process.env['JEST_WORKER_ID'] !== undefined;
  return report === 'auto' ? !isTest : report;
}

const isPrinting = ({ report, onProgress }: ReportOptions): boolean =>
  isReporting(report) && (report === true || !onProgress);

/** Writes a line about a run to standard error, if the run or its command prints. */
export function writeNotice(options: ReportOptions & { name: string }, text: string): void {
  if (!commandRun() && !isPrinting(options)) return;
  process.stderr.write(`${process.stderr.isTTY ? '\r\u001b[K' : ''}${options.name}: ${text}\n`);
}

/** Sets the exit status of the process, unless an earlier run of the file was worse. */
function setExitStatus({ status }: EvalSummary): void {
  process.exitCode = Math.max(Number(process.exitCode ?? 0), EXIT_STATUS[status]);
}

/** Shows on standard error where runs stand: on one line in a terminal, else on a line every 30 s. */
export class ProgressLine {
  private readonly isTerminal = process.stderr.isTTY;
  private printedAt = this.isTerminal ? 0 : Date.now();

  show(name: string, { total, finished, failed, waiting }: EvalProgress): void {
    if (Date.now() - this.printedAt < (this.isTerminal ? TERMINAL_MS : LOG_MS)) return;
    this.printedAt = Date.now();
    const line = `${name}: ${finished} of ${total}, ${failed} failed, ${waiting} to upload`;
    process.stderr.write(this.isTerminal ? `\r\u001b[K${line}` : `${line}\n`);
  }

  /** Removes the line, so that something else can be written. */
  clear(): void {
    if (this.isTerminal) process.stderr.write('\r\u001b[K');
  }
}

/** Prints progress to standard error and the result to standard output. */
function printerOf(name: string): Reporter {
  const line = new ProgressLine();
  return {
    progress: (progress) => line.show(name, progress),
    ended: (summary) => {
      line.clear();
      process.stdout.write(`${summary.toString()}\n`);
    },
  };
}
