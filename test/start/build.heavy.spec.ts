import { cpSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { runToEnd, temporaryDirectory } from './start.harness';

describe('a build that does not check types, as npm start makes it,', () => {
  const checkout = temporaryDirectory();

  afterAll(() => rmSync(checkout, { recursive: true }));

  it('writes the same files', async () => {
    const inputs = [
      'src',
      'libs',
      'scripts',
      'package.json',
      'package-lock.json',
      'tsconfig.json',
      'tsconfig.build.json',
    ];
    for (const input of inputs) cpSync(input, path.join(checkout, input), { recursive: true });
    symlinkSync(path.resolve('node_modules'), path.join(checkout, 'node_modules'));
    const build = [process.execPath, 'scripts/build.mjs', 'tsconfig.build.json', '--no-check'];
    expect(await runToEnd(build, { cwd: checkout })).toMatchObject({ code: 0 });
    const files = readdirSync(path.join(checkout, 'dist'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.js'))
      .map((file) => path.join('dist', file));
    expect(files.length).toBeGreaterThan(1_000);
    const differing = files.filter(
      (file) => readFileSync(file, 'utf8') !== readFileSync(path.join(checkout, file), 'utf8'),
    );
    expect(differing).toEqual([]);
  }, 180_000);
});
