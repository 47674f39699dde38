import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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

  it('re-encrypts its secrets when secrets.key has a new first line, and does not start without a key in use', async () => {
    const file = path.join(directory, 'secrets.key');
    const stop = async ({ child, exited }: ReturnType<typeof startStandalone>): Promise<void> => {
      child.kill('SIGTERM');
      expect(await exited).toEqual([0, null]);
    };
    const keyWorks = async (): Promise<boolean> => {
      const text = readFileSync(path.join(directory, 'bootstrap.json'), 'utf8');
      const { api_key, base_url } = JSON.parse(text) as { api_key: string; base_url: string };
      const tokens = await fetch(`${base_url}/registry/v1/tokens`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ api_key }),
      });
      return tokens.ok;
    };
    const first = startStandalone();
    await until(() => first.output().includes('Try it:'));
    expect(await keyWorks()).toBe(true); // creates a signing key
    await stop(first);

    const [older, newer] = [readFileSync(file, 'utf8').trim(), randomBytes(32).toString('base64')];
    writeFileSync(file, `${newer}\n${older}\n`);
    const second = startStandalone();
    await until(() => second.output().includes('Try it:'));
    expect(second.output()).toContain('Remove the other keys from secrets.key in DATA_DIR.');
    expect(await keyWorks()).toBe(true);
    await stop(second);

    writeFileSync(file, `${older}\n`);
    const wrong = startStandalone();
    expect(await wrong.exited).toEqual([1, null]);
    expect(wrong.output()).toMatch(
      /^The secrets in the database are encrypted with the key .* DATA_DIR .*\n$/,
    );

    writeFileSync(file, `${newer}\n`);
    const last = startStandalone();
    await until(() => last.output().includes('Try it:'));
    expect(last.output()).not.toContain('Remove the other keys');
    expect(await keyWorks()).toBe(true);
    await stop(last);
  }, 300_000);

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

    // as another database has left it
    const file = path.join(directory, 'bootstrap.json');
    const other = key.replace(/"org_id": ".*"/, '"org_id": "org_other"');
    writeFileSync(file, other);
    const second = startStandalone();
    await until(() => second.output().includes('Try it:'));
    expect(readFileSync(path.join(directory, 'bootstrap-org_other.json'), 'utf8')).toBe(other);
    expect(apiKeyOf(readFileSync(path.join(directory, 'bootstrap.json'), 'utf8'))).toBe(apiKeyOf(key));
    second.child.kill('SIGTERM');
    expect(await second.exited).toEqual([0, null]);
  }, 120_000);
});
