import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { StandaloneService } from '#testing';

const run = promisify(execFile);

/** The commands of a page, in their order. */
const commandsOf = (page: string): string =>
  [...readFileSync(page, 'utf8').matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text]) => text).join('\n');

const hasCurl = spawnSync('curl', ['--version']).status === 0;
if (!hasCurl) process.stderr.write('there is no curl: the test of the guide to publishing is SKIPPED.\n');

(hasCurl ? describe : describe.skip)('the guide to publishing and installing', () => {
  it('runs as written, and verifies what it downloads', async () => {
    const service = await StandaloneService.start();
    try {
      const env = { ...process.env, DATA_DIR: service.directory };
      const commands = commandsOf('docs/publish-and-install.md');
      const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', commands], { env });
      expect(stdout).toContain('is verified: 3 files, 1 components.');
      expect(stdout).toContain('Signed by the publisher');
      expect(stdout).toContain("'release-notes: updated'");
      expect(stdout.trim().endsWith('false')).toBe(true);
    } finally {
      await service.stop();
    }
  }, 120_000);
});
