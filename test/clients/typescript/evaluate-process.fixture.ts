import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { EvalSummary } from '#client';
import type { ChildEval } from './evaluate.child';
import type { Evals } from './evaluate.fixture';

const CHILD = path.join(__dirname, 'evaluate.child.js');

/** How a child process ended. */
export interface ChildEnd {
  status: number | null;
  signal: NodeJS.Signals | null;
  /** Null if it was killed before it had one. */
  summary: EvalSummary | null;
  stdout: string;
  stderr: string;
}

/** An eval in a process of its own. */
export class EvalProcess {
  private summary: EvalSummary | null = null;
  private stdout = '';
  private stderr = '';
  private readonly exit: Promise<[number | null, NodeJS.Signals | null]>;

  private constructor(
    readonly process: ChildProcess,
    private readonly log: string,
    private readonly callsBefore: number,
  ) {
    this.exit = once(process, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
    process.on('message', (summary: EvalSummary) => (this.summary = summary));
    process.stdout!.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    process.stderr!.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
  }

  /** Starts a child. With `fileBlocks`, files that it writes can have this many blocks of 512 bytes. */
  static start(url: string, evals: Evals, child: ChildEval, fileBlocks?: number): EvalProcess {
    const env = {
      PATH: process.env['PATH'],
      SERVICE_URL: url,
      SERVICE_API_KEY: evals.key,
      SERVICE_WORKSPACE_ID: evals.organization.workspaceId,
    };
    const limited =
      fileBlocks === undefined
        ? {}
        : {
            execPath: '/bin/sh',
            execArgv: ['-c', `ulimit -f ${fileBlocks} && exec "${process.execPath}" "$@"`, 'sh'],
          };
    const forked = fork(CHILD, [JSON.stringify(child)], { env, silent: true, execArgv: [], ...limited });
    return new EvalProcess(forked, child.log, callsIn(child.log).length);
  }

  /** The cases that this process has called the task for. */
  get calls(): string[] {
    return callsIn(this.log).slice(this.callsBefore);
  }

  /** The cases whose calls have ended, in any process with the same log. */
  get finished(): Set<string> {
    return new Set(callsIn(`${this.log}.ended`));
  }

  async end(): Promise<ChildEnd> {
    const [status, signal] = await this.exit;
    const { summary, stdout, stderr } = this;
    return { status, signal, summary, stdout, stderr };
  }

  /** Waits until it has made so many calls or has ended. */
  async made(count: number): Promise<void> {
    while (this.calls.length < count && this.process.exitCode === null) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

function callsIn(log: string): string[] {
  return existsSync(log) ? readFileSync(log, 'utf8').split('\n').slice(0, -1) : [];
}
