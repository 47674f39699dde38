import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { builtFiles, runToEnd, temporaryDirectory } from './start.harness';

const INPUTS = [
  'src',
  'libs',
  'scripts',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
];

describe('a build that does not check types, as npm start makes it,', () => {
  const checkout = temporaryDirectory();

  const run = (script: string, ...args: string[]) =>
    runToEnd([process.execPath, script, ...args], { cwd: checkout });

  beforeAll(async () => {
    for (const input of INPUTS) cpSync(input, path.join(checkout, input), { recursive: true });
    symlinkSync(path.resolve('node_modules'), path.join(checkout, 'node_modules'));
    writeFileSync(path.join(checkout, 'src/wrong.ts'), "export const wrong: number = '';\n");
    expect(await run('scripts/build.mjs', 'tsconfig.build.json', '--no-check')).toMatchObject({ code: 0 });
  }, 300_000);
  afterAll(() => rmSync(checkout, { recursive: true }));

  it('writes the same files', () => {
    const differing = builtFiles().filter(
      (file) => readFileSync(file, 'utf8') !== readFileSync(path.join(checkout, file), 'utf8'),
    );
    expect(differing).toEqual([]);
  });

  it('is not packed', async () => {
    const { code, stderr } = await run('scripts/prepack.mjs');
    expect(code).toBe(1);
    expect(stderr).toContain('src/wrong.ts');
  }, 300_000);
});
