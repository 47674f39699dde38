import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type Bootstrap, until } from '#testing';

const START = 'npm start\n';

/** The commands of the guide for the embedded PostgreSQL: back up, restore, check. */
const [BACK_UP, RESTORE, CHECK] = [
  ...readFileSync('docs/guides/backup.md', 'utf8').matchAll(/^```console\n(.*?)^```$/gms),
].map(([, commands]) => commands!) as [string, string, string];

describe('the guide to backups', () => {
  let directory: string;
  let service: ChildProcess;

  beforeAll(() => {
    directory = mkdtempSync(path.join(os.tmpdir(), 'backup-'));
  });
  afterAll(() => {
    service.kill('SIGKILL');
    rmSync(directory, { recursive: true, maxRetries: 5 });
  });

  /** Does what `npm start` does in a built checkout. */
  async function start(): Promise<void> {
    service = spawn(process.execPath, [path.resolve('dist/src/standalone.js')], {
      cwd: directory,
      env: { PATH: process.env.PATH, PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    service.stdout!.setEncoding('utf8').on('data', (text: string) => (output += text));
    await until(() => output.includes('Try it:'));
  }

  async function stop(): Promise<void> {
    service.kill('SIGTERM');
    await once(service, 'exit');
  }

  /** Runs commands of the guide in the directory of the service. */
  async function follow(commands: string): Promise<string> {
    const host = new URL(bootstrap().base_url).host;
    const script = commands.replace(START, '').replaceAll('localhost:8080', host);
    const printed = execFileSync('bash', ['-euo', 'pipefail', '-c', script], {
      cwd: directory,
      encoding: 'utf8',
    });
    if (commands.includes(START)) await start();
    return printed;
  }

  const bootstrap = (): Bootstrap =>
    JSON.parse(readFileSync(path.join(directory, '.data/bootstrap.json'), 'utf8')) as Bootstrap;

  async function api<Body>(target: string, body?: object): Promise<Body> {
    const { base_url, api_key } = bootstrap();
    const response = await fetch(`${base_url}/registry/v1/${target}`, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${api_key}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    return (await response.json()) as Body;
  }
  const workspaceNames = async (): Promise<string[]> =>
    (await api<{ items: { name: string }[] }>('workspaces')).items.map(({ name }) => name);

  it('restores what was stored before the backup, and the key', async () => {
    await start();
    await api('workspaces', { name: 'before' });
    await stop();
    await follow(BACK_UP);
    await api('workspaces', { name: 'after' });
    expect(await workspaceNames()).toEqual(expect.arrayContaining(['before', 'after']));
    await stop();
    await follow(RESTORE);
    expect(await follow(CHECK)).toContain('default');
    expect(await workspaceNames()).toContain('before');
    expect(await workspaceNames()).not.toContain('after');
    await stop();
  }, 180_000);
});
