import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const CLIENT = path.resolve('clients/typescript');

/** How the command ended. */
export interface CommandEnd {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface StartedCommand {
  child: ChildProcess;
  ended: Promise<CommandEnd>;
}

/** The folder of a user who has installed the client, without a configuration of their own. */
export class EvalFolder {
  readonly path = mkdtempSync(path.join(os.tmpdir(), 'evals-'));
  private readonly children = new Set<ChildProcess>();

  /** @param env variables of the command, such as SERVICE_URL */
  constructor(private readonly env: NodeJS.ProcessEnv) {
    mkdirSync(path.join(this.path, 'node_modules'));
    symlinkSync(CLIENT, path.join(this.path, 'node_modules/agent-registry'));
    this.write('package.json', '{ "type": "commonjs" }'); // what `npm init` writes
  }

  pathOf(name: string): string {
    return path.join(this.path, name);
  }

  write(name: string, text: string): void {
    writeFileSync(this.pathOf(name), text);
  }

  read(name: string): string {
    return readFileSync(this.pathOf(name), 'utf8');
  }

  /** Starts the command. */
  start(args: readonly string[], env?: NodeJS.ProcessEnv): StartedCommand {
    return this.spawn([path.join(CLIENT, 'dist/esm/cli/main.js'), ...args], env);
  }

  /** Runs the command until it ends. */
  run(args: readonly string[], env?: NodeJS.ProcessEnv): Promise<CommandEnd> {
    return this.start(args, env).ended;
  }

  /** Runs a script of the folder until it ends. */
  script(name: string, env?: NodeJS.ProcessEnv): Promise<CommandEnd> {
    return this.spawn([name], env).ended;
  }

  /** Ends the commands that still run, and removes the folder. */
  close(): void {
    for (const child of this.children) child.kill('SIGKILL');
    rmSync(this.path, { recursive: true, maxRetries: 5 });
  }

  private spawn(args: readonly string[], env: NodeJS.ProcessEnv = {}): StartedCommand {
    const child = spawn(process.execPath, args, {
      cwd: this.path,
      env: { PATH: process.env.PATH, HOME: this.path, ...this.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.children.add(child);
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    const ended = new Promise<CommandEnd>((resolve) => {
      child.once('close', (code) => {
        this.children.delete(child);
        resolve({ code, stdout, stderr });
      });
    });
    return { child, ended };
  }
}
