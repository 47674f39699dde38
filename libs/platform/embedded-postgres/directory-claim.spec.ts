import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { claimDirectory } from './directory-claim';

const OPTIONS = { patienceMs: 100, silenceMs: 1_000 };

/** As another machine that shares the file system, or as this one before a reboot: the two look the same. */
const ELSEWHERE = 'claim-1-2345_3f0c1bd2-9c0e-4a39-b4cd-5d2e1f0a7b66_4026531836_web-7';

describe('the claim of a directory', () => {
  let directory: string;
  let beat: NodeJS.Timeout | undefined;

  beforeEach(() => {
    directory = mkdtempSync(path.join(os.tmpdir(), 'claim-'));
  });
  afterEach(() => {
    clearInterval(beat);
    rmSync(directory, { recursive: true });
  });

  const file = () => path.join(directory, ELSEWHERE);
  const makePipe = () => void spawnSync('mkfifo', [file()]);
  const makeFile = () => writeFileSync(file(), '');

  it.each([
    ['a pipe', makePipe],
    ['a file, where there are no pipes', makeFile],
  ])(
    'of another machine, %s, holds as long as it is renewed, however far the clocks are apart',
    async (_, make) => {
      make();
      let clock = 1_000_000;
      beat = setInterval(() => utimesSync(file(), clock, ++clock), 200);
      await expect(claimDirectory(directory, OPTIONS)).rejects.toThrow(
        'is in use by process 1 of another container or machine (host name web-7)',
      );
      expect(readdirSync(directory)).toEqual([ELSEWHERE]);
    },
  );

  it.each([
    ['a pipe', makePipe],
    ['a file', makeFile],
  ])(
    'of a machine that has gone, %s, ends when nobody renews it, and says what is waited for',
    async (_, make) => {
      make();
      const log: string[] = [];
      const begun = performance.now();
      const claim = await claimDirectory(directory, { ...OPTIONS, log: (line) => log.push(line) });
      expect(performance.now() - begun).toBeGreaterThan(OPTIONS.silenceMs - 1);
      expect(readdirSync(directory)).not.toContain(ELSEWHERE);
      expect(log).toEqual([expect.stringMatching(/^waiting up to 1 s .*process 1 .*web-7/)]);
      claim.release();
      expect(readdirSync(directory)).toEqual([]);
    },
  );

  it('that is waited for is all that is left when the process that waits is told to end', async () => {
    makePipe();
    const script = `
      process.on('SIGTERM', () => process.exit(143));
      const { claimDirectory } = require(${JSON.stringify(require.resolve('./directory-claim'))});
      void claimDirectory(${JSON.stringify(directory)}, { log: console.log });`;
    const waiting = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(waiting.stdout, 'data');
    const exited = once(waiting, 'exit');
    waiting.kill('SIGTERM');
    expect(await exited).toEqual([143, null]);
    expect(readdirSync(directory)).toEqual([ELSEWHERE]);
  });

  it('is renewed as long as it is held', async () => {
    jest.useFakeTimers({ doNotFake: ['performance'] });
    const claim = await claimDirectory(directory, OPTIONS);
    const [name] = readdirSync(directory);
    utimesSync(path.join(directory, name!), 1, 1);
    jest.advanceTimersByTime(10_000);
    expect(lastRenewal(name!)).toBeGreaterThan(1_000);
    claim.release();
    jest.useRealTimers();
  });

  function lastRenewal(name: string): number {
    return statSync(path.join(directory, name)).mtimeMs;
  }

  it('leaves nothing behind when it is refused', async () => {
    const claim = await claimDirectory(directory, OPTIONS);
    const held = readdirSync(directory);
    await expect(claimDirectory(directory, OPTIONS)).rejects.toThrow('already uses');
    expect(readdirSync(directory)).toEqual(held);
    claim.release();
  });
});
