import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { builtFiles, runToEnd, temporaryDirectory } from './start.harness';

const SCRIPTS = ['scripts', 'package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'];
/** A source with a type error. */
const WRONG = 'src/wrong.ts';

describe('a build that does not check types, as npm start makes it,', () => {
  const checkouts: string[] = [];

  /** Copies these folders and what builds them to a new directory, adds {@link WRONG}, and builds everything there. */
  async function builtCheckout(...folders: string[]): Promise<string> {
    const checkout = temporaryDirectory();
    checkouts.push(checkout);
    for (const input of [...SCRIPTS, ...folders])
      cpSync(input, path.join(checkout, input), { recursive: true });
    mkdirSync(path.join(checkout, 'src'), { recursive: true });
    symlinkSync(path.resolve('node_modules'), path.join(checkout, 'node_modules'));
    writeFileSync(path.join(checkout, WRONG), "export const wrong: number = '';\n");
    expect(await run(checkout, 'scripts/build.mjs', 'tsconfig.build.json', '--no-check')).toMatchObject({
      code: 0,
    });
    return checkout;
  }

  const run = (cwd: string, script: string, ...args: string[]) =>
    runToEnd([process.execPath, script, ...args], { cwd });

  afterAll(() => {
    for (const checkout of checkouts) rmSync(checkout, { recursive: true });
  });

  it('writes the same files', async () => {
    const checkout = await builtCheckout('src', 'libs');
    const differing = builtFiles().filter(
      (file) => readFileSync(file, 'utf8') !== readFileSync(path.join(checkout, file), 'utf8'),
    );
    expect(differing).toEqual([]);
  }, 300_000);

  it('is not packed', async () => {
    const checkout = await builtCheckout();
    const { code, stderr } = await run(checkout, 'scripts/prepack.mjs');
    expect(code).toBe(1);
    expect(stderr).toContain(WRONG);
  }, 300_000);
});
