import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { claimDirectory } from './directory-claim';

const TIMEOUT_MS = 300;

describe('the claim of a directory', () => {
  let directory: string;
  let child: ChildProcess | undefined;

  beforeEach(() => {
    directory = mkdtempSync(path.join(os.tmpdir(), 'claim-'));
  });
  afterEach(() => {
    child?.kill('SIGKILL');
    rmSync(directory, { recursive: true });
  });

  /** Starts a process that claims the directory and keeps the claim. Resolves once it has the claim. */
  async function claimingProcess(): Promise<ChildProcess> {
    const script = `
      const { claimDirectory } = require(${JSON.stringify(require.resolve('./directory-claim'))});
      claimDirectory(${JSON.stringify(directory)}).then(() => { console.log('claimed'); setInterval(() => 0, 1e9); });`;
    child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout!, 'data');
    return child;
  }

  it('excludes other contenders, and leaves none of their files', async () => {
    const release = await claimDirectory(directory);
    const claims = readdirSync(directory);
    await expect(claimDirectory(directory, TIMEOUT_MS)).rejects.toThrow(
      `The database directory ${directory} is in use by process ${process.pid}. Stop that process first`,
    );
    expect(readdirSync(directory)).toEqual(claims);
    release();
    expect(readdirSync(directory)).toEqual([]);
  });

  it('ends when its process is killed, but not when it is paused', async () => {
    const { pid } = await claimingProcess();
    process.kill(pid!, 'SIGSTOP');
    await expect(claimDirectory(directory, TIMEOUT_MS)).rejects.toThrow(`is in use by process ${pid}`);
    process.kill(pid!, 'SIGKILL');
    const release = await claimDirectory(directory);
    expect(readdirSync(directory)).toHaveLength(1);
    release();
  });

  it('waits for a process that is about to exit', async () => {
    const release = await claimDirectory(directory);
    setTimeout(release, 50);
    (await claimDirectory(directory))();
  });

  it('goes to exactly one of several contenders, among claims of dead processes', async () => {
    for (const left of ['claim-1-0123abcd@web-7', 'claim-2345-678_9_0_web-7']) {
      spawnSync('mkfifo', [path.join(directory, left)]);
    }
    const contenders = Array.from({ length: 5 }, () => claimDirectory(directory, 1_500));
    const outcomes = await Promise.allSettled(contenders);
    expect(outcomes.map(({ status }) => status).sort()).toEqual([
      'fulfilled',
      ...Array<string>(4).fill('rejected'),
    ]);
    expect(readdirSync(directory)).toHaveLength(1);
    for (const outcome of outcomes) if (outcome.status === 'fulfilled') outcome.value();
  });

  it('reports the host of a process in another container', async () => {
    const claim = path.join(directory, 'claim-7-0123abcd@web-7');
    spawnSync('mkfifo', [claim]);
    child = spawn('sh', ['-c', 'exec 3<>"$0"; echo; read -r line', claim], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    await once(child.stdout!, 'data');
    await expect(claimDirectory(directory, TIMEOUT_MS)).rejects.toThrow(
      'is in use by process 7 on host web-7.',
    );
  });

  it('fails without write permission, and reports the remedy', async () => {
    await expect(claimDirectory('/proc/self', TIMEOUT_MS)).rejects.toThrow(
      /cannot be used: .*choose another DATA_DIR/,
    );
  });
});
