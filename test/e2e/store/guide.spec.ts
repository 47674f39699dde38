import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
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
    const directory = await mkdtemp(path.join(os.tmpdir(), 'guide-'));
    try {
      const commands = commandsOf('docs/publish-and-install.md')
        // the guide runs in the checkout, where its downloads would stay
        .replaceAll('$PWD/${DATA_DIR:-.data}', service.directory)
        .replaceAll('./clients/', `${process.cwd()}/clients/`);
      const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', commands], { cwd: directory });
      expect(stdout).toContain('is verified: 3 files, 1 components.');
      expect(stdout).toContain('Signed by the publisher');
      expect(stdout).toContain("'release-notes: updated'");
      expect(stdout.trim().endsWith('false')).toBe(true);
    } finally {
      await service.stop();
      await rm(directory, { recursive: true });
    }
  }, 120_000);
});
