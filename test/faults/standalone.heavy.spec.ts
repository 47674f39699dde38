import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { until } from '#testing';
import { closedDirectory, endNodes, NodeWithServer, serverPid } from './embedded-postgres.harness';

const apiKeyOf = (bootstrap: string): unknown => (JSON.parse(bootstrap) as { api_key: unknown }).api_key;

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

  /** Starts a standalone process, and collects its output. */
  function startStandalone(): { child: ChildProcess; output: () => string; exited: Promise<unknown[]> } {
    const child = spawn(process.execPath, [path.resolve('dist/src/standalone.js')], {
      env: { PATH: process.env.PATH, DATA_DIR: directory, PORT: '0' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    started.push(child);
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    return { child, output: () => output, exited: once(child, 'exit') };
  }

  it('creates no key in a directory that is in use', async () => {
    const database = path.join(directory, 'postgres');
    mkdirSync(database);
    const other = new NodeWithServer(database);
    await other.url();
    const { exited, output } = startStandalone();
    expect(await exited).toEqual([1, null]);
    expect(output()).toContain(`is in use by process ${other.pid}`);
    expect(readdirSync(directory)).toEqual(['postgres']);
    await other.stop();
  });

  it('ends with code 1 when its database dies, and restarts with the data', async () => {
    const first = startStandalone();
    await until(() => first.output().includes('Try it:'));
    const key = readFileSync(path.join(directory, 'bootstrap.json'), 'utf8');
    process.kill(serverPid(path.join(directory, 'postgres')), 'SIGINT');
    expect(await first.exited).toEqual([1, null]);
    expect(first.output()).toContain('PostgreSQL has ended unexpectedly');

    const second = startStandalone();
    await until(() => second.output().includes('Try it:'));
    expect(apiKeyOf(readFileSync(path.join(directory, 'bootstrap.json'), 'utf8'))).toBe(apiKeyOf(key));
    second.child.kill('SIGTERM');
    expect(await second.exited).toEqual([0, null]);
  }, 120_000);
});
