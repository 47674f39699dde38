import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { closedDirectory, endNodes, NodeWithServer } from './embedded-postgres.harness';

describe('the standalone process', () => {
  let directory: string;
  const started: ChildProcess[] = [];

  beforeEach(() => {
    directory = closedDirectory();
  });
  afterEach(async () => {
    await endNodes();
    for (const child of started) child.kill('SIGKILL');
    rmSync(directory, { recursive: true, maxRetries: 5 });
  });

  /** Starts one, and gathers what it says. */
  function startStandalone(): { child: ChildProcess; said: () => string; exited: Promise<unknown[]> } {
    const child = spawn(process.execPath, [path.resolve('dist/src/standalone.js')], {
      env: { PATH: process.env.PATH, DATA_DIR: directory, PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    started.push(child);
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    return { child, said: () => output, exited: once(child, 'exit') };
  }

  it('that finds its directory in use makes no key there, which the other would take for its own', async () => {
    const database = path.join(directory, 'postgres');
    mkdirSync(database);
    const other = new NodeWithServer(database);
    await other.url();
    const { exited, said } = startStandalone();
    expect(await exited).toEqual([1, null]);
    expect(said()).toContain(`is in use by process ${other.pid}`);
    expect(readdirSync(directory)).toEqual(['postgres']);
    await other.stop();
  });
});
