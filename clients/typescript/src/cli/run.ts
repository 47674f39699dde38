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

/** Runs files with evaluations, one after the other, and reports their outcomes. @returns the worst exit status */
export async function runFiles(files: readonly string[], options: RunOptions): Promise<ExitStatus> {
  const problem = problemWith(files, options);
  if (problem !== null) {
    process.stderr.write(`${problem}\n`);
    return EXIT.usage;
  }
  const session = new Session(options.overrides);
  const statuses: ExitStatus[] = [];
  try {
    for (const file of files) {
      if (session.signal.aborted) statuses.push(EXIT.incomplete);
      else statuses.push(await session.run(file));
    }
  } finally {
    session.close();
  }
  await report(session.evaluations, options);
  return worstOf(statuses);
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
  private readonly onSignal = (): void => this.interrupt();
  /** Keeps a file that ends the process early from passing. */
  private readonly onExit = (): void => {
    if (this.signal.aborted) return;
    process.stderr.write('The process ended before the evaluations did.\n');
    process.exitCode = EXIT.unexpected;
  };

  constructor(overrides: RunOptions['overrides']) {
    const run: EvalRun = {
      options: { ...overrides, signal: this.signal },
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
    this.progress.clear();
    process.off('SIGINT', this.onSignal).off('SIGTERM', this.onSignal).off('exit', this.onExit);
    delete (globalThis as { [RUN]?: EvalRun })[RUN];
  }

  /** Imports a file, and waits for all of its evaluations, also for those that it does not await. */
  async run(file: string): Promise<ExitStatus> {
    const first = this.evaluations.length;
    let thrown: { error: unknown } | undefined;
    await importFile(path.resolve(file)).catch((error: unknown) => (thrown = { error }));
    while (this.pending.size > 0) await Promise.all(this.pending);
    const own = this.evaluations.slice(first);
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
    const ended = summary
      .then(
        (value) => this.evaluations.push({ name, status: EXIT_OF[value.status], summary: value }),
        (error: unknown) => {
          this.say(error, name);
          this.evaluations.push({ name, status: this.statusOf(error), error });
        },
      )
      .then(() => void this.pending.delete(ended));
    this.pending.add(ended);
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
    if (this.signal.aborted) process.exit(130);
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

async function report(evaluations: readonly Evaluation[], { reporter, output }: RunOptions): Promise<void> {
  const text = reporter === undefined ? '' : FORMATS[reporter](evaluations);
  if (output !== undefined) writeFileSync(output, text);
  const table = evaluations.flatMap(({ summary }) => (summary ? [`${summary.toString().trimEnd()}\n`] : []));
  const printed = reporter !== undefined && output === undefined ? text : table.join('\n');
  await new Promise<void>((resolve) => process.stdout.write(printed, () => resolve()));
  const stepSummary = process.env['GITHUB_STEP_SUMMARY'];
  if (!stepSummary) return;
  try {
    appendFileSync(stepSummary, toMarkdown(evaluations));
  } catch (error) {
    process.stderr.write(`GITHUB_STEP_SUMMARY cannot be written: ${(error as Error).message}\n`);
  }
}

const FORMATS: Record<Reporter, (evaluations: readonly Evaluation[]) => string> = {
  junit: toJUnit,
  markdown: toMarkdown,
  json: toJson,
};
