import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { builtFiles, runToEnd } from './start.harness';

describe('the package of npm pack', () => {
  let packed: string[];

  beforeAll(async () => {
    const { stdout } = await runToEnd(['npm', 'pack', '--dry-run', '--json', '--ignore-scripts']);
    const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
    packed = files.map((file) => file.path).sort();
  });

  it('has the shipped code, what starts it, the client, and no tests', () => {
    const others = packed.filter((file) => !file.startsWith('dist/'));
    expect(others).toEqual([
      '.env.example',
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'bin/agent-registry-service',
      'clients/typescript/dist/agent-registry.tgz',
      'openapi.json',
      'package.json',
      'scripts/start.mjs',
    ]);
    expect(packed.filter((file) => file.startsWith('dist/'))).toEqual(builtFiles().sort());
  });

  it('can run every process that it has', () => {
    const entries = readdirSync('src').filter(
      (file) => file.endsWith('.ts') && readFileSync(path.join('src', file), 'utf8').includes('\nstart('),
    );
    expect(entries.length).toBeGreaterThan(0);
    const launcher = readFileSync('scripts/start.mjs', 'utf8');
    for (const entry of entries) expect(launcher).toContain(`'${path.basename(entry, '.ts')}'`);
  });
});
