import { appendFileSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { inspect } from 'node:util';
import type { EvalRun } from '../evaluate/options.js';
import { ProgressLine } from '../evaluate/report.js';
import type { EvalSummary } from '../evaluate/summary.js';
import { EXIT, type ExitStatus, statusOfError, worstOf } from './exit.js';
import { hintOf, importFile } from './load.js';
import { toJson, toJUnit, toMarkdown } from './reports.js';

/** The reports that can be printed or written to a file. */
export const REPORTERS = ['junit', 'markdown', 'json'] as const;
export type Reporter = (typeof REPORTERS)[number];
export const isReporter = (name: string): name is Reporter => (REPORTERS as readonly string[]).includes(name);

export interface RunOptions {
  overrides: NonNullable<EvalRun['options']>;
  reporter: Reporter | undefined;
  /** The file of the report. */
  output: string | undefined;
}

/** How a call of `evaluate` ended: with a summary, or with an error. */
export interface Evaluation {
  name: string;
  status: ExitStatus;
  summary?: EvalSummary;
  error?: unknown;
}

const RUN = Symbol.for('agent-registry.run');

/** The status after a second Ctrl-C, which ends the process at once. */
const INTERRUPTED = 130;

/** Runs files with evaluations, one after the other, and reports their outcomes. @returns the worst exit status */
export async function runFiles(files: readonly string[], options: RunOptions): Promise<ExitStatus> {
  const problem = problemWith(files, options);
  if (problem !== null) {
    process.stderr.write(`${problem}\n`);
    return EXIT.usage;
  }
  const session = new Session(files, options);
  try {
    const status = await session.run();
    const text = report(session.evaluations, options);
    await new Promise<void>((resolve) => process.stdout.write(text, () => resolve()));
    return status;
  } finally {
    session.close();
  }
}

/** Returns what is wrong with the files, before anything runs. */
function problemWith(files: readonly string[], { output }: RunOptions): string | null {
  const missing = files.find((file) => !statSync(file, { throwIfNoEntry: false })?.isFile());
  if (missing !== undefined) return `There is no file ${missing}.`;
  try {
    if (output !== undefined) {
      mkdirSync(path.dirname(output), { recursive: true });
      writeFileSync(output, '');
    }
    return null;
  } catch (error) {
    return `${output} cannot be written: ${(error as Error).message}`;
  }
}

/** The evaluations of all files, and what they share. */
class Session {
  readonly evaluations: Evaluation[] = [];
  private readonly interruption = new AbortController();
  private readonly progress = new ProgressLine();
  private readonly pending = new Set<Promise<void>>();
  private readonly statuses: ExitStatus[] = [];
  /** The index of the file that runs, and of its first evaluation. */
  private position = { file: 0, evaluation: 0 };
  private readonly onSignal = (): void => this.interrupt();
  private readonly onExit = (code: number): void => this.exit(code);

  constructor(
    private readonly files: readonly string[],
    private readonly options: RunOptions,
  ) {
    const run: EvalRun = {
      options: { ...options.overrides, signal: this.signal },
      started: (name, summary) => this.add(name, summary),
      onProgress: (name, progress) => this.progress.show(name, progress),
    };
    Object.assign(globalThis, { [RUN]: run });
    process.on('SIGINT', this.onSignal).on('SIGTERM', this.onSignal).once('exit', this.onExit);
  }

  get signal(): AbortSignal {
    return this.interruption.signal;
  }

  close(): void {
    process.off('SIGINT', this.onSignal).off('SIGTERM', this.onSignal).off('exit', this.onExit);
    delete (globalThis as { [RUN]?: EvalRun })[RUN];
  }

  /** Runs all files, and returns the worst status. */
  async run(): Promise<ExitStatus> {
    for (const [index, file] of this.files.entries()) {
      this.position = { file: index, evaluation: this.evaluations.length };
      this.statuses.push(this.signal.aborted ? EXIT.incomplete : await this.runFile(file));
    }
    this.progress.clear();
    process.off('exit', this.onExit);
    return worstOf(this.statuses);
  }

  /** Imports a file, and waits for all of its evaluations, also for those that it does not await. */
  private async runFile(file: string): Promise<ExitStatus> {
    let thrown: { error: unknown } | undefined;
    await importFile(path.resolve(file)).catch((error: unknown) => (thrown = { error }));
    while (this.pending.size > 0) await Promise.all(this.pending);
    const own = this.evaluations.slice(this.position.evaluation);
    const statuses = own.map(({ status }) => status);
    if (thrown && !own.some(({ error }) => error === thrown?.error)) {
      this.say(thrown.error, file);
      statuses.push(this.statusOf(thrown.error));
    } else if (own.length === 0) {
      process.stderr.write(`${file} does not call evaluate().\n`);
      statuses.push(EXIT.usage);
    }
    return worstOf(statuses);
  }

  private add(name: string, summary: Promise<EvalSummary>): void {
    // Both happen in one step, because a file that awaits the summary may end the process right after.
    const end = (evaluation: Evaluation): void => {
      this.evaluations.push(evaluation);
      this.pending.delete(ended);
    };
    const ended: Promise<void> = summary.then(
      (value) => end({ name, status: EXIT_OF[value.status], summary: value }),
      (error: unknown) => {
        this.say(error, name);
        end({ name, status: this.statusOf(error), error });
      },
    );
    this.pending.add(ended);
  }

  /** Reports and sets the status if a file ends the process, so that it cannot pass before all evaluations have ended. */
  private exit(code: number): void {
    if (code === INTERRUPTED) return;
    const { file, evaluation } = this.position;
    const own = this.evaluations.slice(evaluation).map(({ status }) => status);
    const isLast = file === this.files.length - 1;
    const hasEnded = own.length > 0 && this.pending.size === 0 && (isLast || this.signal.aborted);
    this.progress.clear();
    if (hasEnded) process.stdout.write(report(this.evaluations, this.options));
    if (this.signal.aborted) {
      process.exitCode = EXIT.incomplete;
    } else if (hasEnded) {
      process.exitCode = worstOf([...this.statuses, ...own]) || (code === 0 ? EXIT.passed : EXIT.unexpected);
    } else {
      process.stderr.write('The process ended before the evaluations did.\n');
      process.exitCode = EXIT.unexpected;
    }
  }

  private statusOf(error: unknown): ExitStatus {
    return this.signal.aborted && error === this.signal.reason ? EXIT.incomplete : statusOfError(error);
  }

  private say(error: unknown, source: string): void {
    this.progress.clear();
    const isKnown = this.statusOf(error) !== EXIT.unexpected;
    const text = error instanceof Error && isKnown ? error.message : inspect(error);
    process.stderr.write(`${source}: ${text}\n`);
    const hint = hintOf(error);
    if (hint !== null) process.stderr.write(`${hint}\n`);
  }

  private interrupt(): void {
    if (this.signal.aborted) process.exit(INTERRUPTED);
    this.progress.clear();
    process.stderr.write('Stopping. Finished results are uploaded; press Ctrl-C again to end at once.\n');
    this.interruption.abort(new DOMException('The run was interrupted.', 'AbortError'));
  }
}

const EXIT_OF = {
  passed: EXIT.passed,
  completed: EXIT.passed,
  failed: EXIT.failed,
  incomplete: EXIT.incomplete,
} as const;

/** Writes the reports that go to files. Returns the text for standard output. */
function report(evaluations: readonly Evaluation[], { reporter, output }: RunOptions): string {
  const text = reporter === undefined ? '' : FORMATS[reporter](evaluations);
  if (output !== undefined) writeFileSync(output, text);
  const table = evaluations.flatMap(({ summary }) => (summary ? [`${summary.toString().trimEnd()}\n`] : []));
  const stepSummary = process.env['GITHUB_STEP_SUMMARY'];
  try {
    if (stepSummary) appendFileSync(stepSummary, toMarkdown(evaluations));
  } catch (error) {
    process.stderr.write(`GITHUB_STEP_SUMMARY cannot be written: ${(error as Error).message}\n`);
  }
  return reporter !== undefined && output === undefined ? text : table.join('\n');
}

const FORMATS: Record<Reporter, (evaluations: readonly Evaluation[]) => string> = {
  junit: toJUnit,
  markdown: toMarkdown,
  json: toJson,
};
