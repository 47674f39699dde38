import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

interface Package {
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

const packageIn = (folder: string): Package =>
  JSON.parse(readFileSync(path.resolve(folder, 'package.json'), 'utf8')) as Package;

/** Returns the packages that a file imports or requires. */
const importsOf = (file: string): string[] =>
  [
    ...readFileSync(file, 'utf8').matchAll(
      /(?:from|import|require|import\(|require\(|resolve\()\s*'([^'.#][^']*)'/g,
    ),
  ].map(([, module]) => /^(@[^/]+\/)?[^/]+/.exec(module!)![0]);

/** The image contains all packages that the service needs, and no others. */
describe('the packages in the image', () => {
  const { dependencies = {}, optionalDependencies = {}, devDependencies = {} } = packageIn('.');
  const files = ['src', 'libs', 'scripts'].flatMap((folder) =>
    readdirSync(path.resolve(folder), { recursive: true, encoding: 'utf8' })
      .map((file) => path.join(folder, file))
      .filter(
        (file) => /\.(ts|mjs)$/.test(file) && !/\.(spec|fixture|child)\.ts$|^libs\/testing\//.test(file),
      ),
  );

  it('are the imported packages and their dependencies', () => {
    const imported = new Set(files.flatMap(importsOf));
    const peers = Object.keys(dependencies).flatMap((name) =>
      Object.keys(packageIn(`node_modules/${name}`).peerDependencies ?? {}),
    );
    const needed = new Set([...imported, ...peers]);
    expect(Object.keys(dependencies).filter((name) => !needed.has(name))).toEqual([]);
  });

  it('include every package that the service imports', () => {
    const imported = new Set(files.filter((file) => /^(src|libs)/.test(file)).flatMap(importsOf));
    const omitted = [...Object.keys(devDependencies), ...Object.keys(optionalDependencies)];
    expect(omitted.filter((name) => imported.has(name))).toEqual([]);
  });
});
