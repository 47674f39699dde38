import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';

interface Cruise {
  modules: {
    source: string;
    dependencies: { module: string; resolved: string; couldNotResolve: boolean }[];
  }[];
  summary: {
    violations: { rule: { name: string }; from: string; to: string; cycle?: { name: string }[] }[];
  };
}

/** Folders of src/ that are no areas: they compose the areas, or serve them. */
const COMPOSITION = ['database', 'openapi'];

/** Runs dependency-cruiser, which is an ES module that jest cannot load, on the compiled code. */
function cruise(): Cruise {
  const bin = path.resolve('node_modules/dependency-cruiser/bin/dependency-cruise.mjs');
  const output = execFileSync(
    process.execPath,
    [bin, '--config', '.dependency-cruiser.mjs', '--output-type', 'json', 'dist/src', 'dist/libs'],
    { encoding: 'utf8', maxBuffer: 256 * 1024 * 1024 },
  );
  return JSON.parse(output) as Cruise;
}

describe('the stairs', () => {
  const result = cruise();

  it('are read: the imports of the code, also those of its libraries, are resolved', () => {
    const imports = result.modules.flatMap((module) => module.dependencies);
    const ofPlatform = imports.filter((one) => one.module.startsWith('#platform/'));
    expect(ofPlatform.length).toBeGreaterThan(50);
    expect(ofPlatform.filter((one) => !/^dist\/libs\/platform\//.test(one.resolved))).toEqual([]);
  });

  it('have a place for every area of src/', () => {
    const folders = readdirSync(path.resolve('src'), { withFileTypes: true }).filter((entry) =>
      entry.isDirectory(),
    );
    const placed = execFileSync(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `import { FLOORS } from './.dependency-cruiser.mjs'; console.log(FLOORS.flat().join())`,
      ],
      { encoding: 'utf8' },
    ).trim();
    const known = [...placed.split(','), ...COMPOSITION];
    expect(folders.map((entry) => entry.name).filter((name) => !known.includes(name))).toEqual([]);
  });

  it('are climbed only downwards, through indexes, and never in a circle', () => {
    // the OpenAPI plugin makes DTO files import themselves, for the types of their members
    const real = result.summary.violations.filter(({ from, to }) => from !== to);
    const violations = real.map(
      ({ rule, from, to, cycle }) =>
        `${rule.name}: ${from} -> ${to}${cycle ? ` (${cycle.map((one) => one.name).join(' -> ')})` : ''}`,
    );
    expect(violations).toEqual([]);
  });
});
