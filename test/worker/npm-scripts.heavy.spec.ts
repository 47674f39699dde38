import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { sharedApp } from '#testing';

/** Operators start npm, so npm receives the signal. */
describe('npm run', () => {
  const app = sharedApp();
  const started: ChildProcess[] = [];

  afterAll(() => {
    for (const child of started)
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
  });

  /** Starts a script of package.json and waits for its startup message. Returns the npm process and the service's pid. */
  async function npmRun(script: string, sign: string): Promise<{ npm: ChildProcess; pid: number }> {
    const npm = spawn('npm', ['run', '--silent', script], {
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...app.env, LOG_LEVEL: 'info' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    started.push(npm);
    let output = '';
    return new Promise((resolve, reject) => {
      npm.stdout.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        const line = output.split('\n').find((one) => one.includes(sign) && one.endsWith('}'));
        if (line) resolve({ npm, pid: (JSON.parse(line) as { pid: number }).pid });
      });
      npm.once('exit', () => reject(new Error(`${script} ended: ${output}`)));
    });
  }

  const isThere = (pid: number): boolean => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };

  it.each([
    ['start:api', '"the API'],
    ['start:worker', '"the worker is running'],
  ])('%s ends together with the service on SIGTERM', async (script, sign) => {
    const { npm, pid } = await npmRun(script, sign);
    expect(isThere(pid)).toBe(true);
    // The output closes only when no process holds it any more.
    const closed = once(npm, 'close');
    npm.kill('SIGTERM');
    await closed;
    expect(isThere(pid)).toBe(false);
  });
});
