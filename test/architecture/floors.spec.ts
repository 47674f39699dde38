import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

/**
 * The floors of src/: an area imports only from floors below its own. The parts of evaluation are ordered in the same
 * way. A name without a folder reserves a place.
 */
const FLOORS = [
  ['resources'],
  ['registry'],
  ['files', 'telemetry'],
  ['skills', 'mcp-servers', 'api-proxy', 'model-gateway'],
  ['agents'],
  ['evaluation'],
  ['store'],
  ['mcp-endpoint'],
];
const EVALUATION = [
  'trace-content',
  'statistics',
  'datasets',
  'scorers',
  'scorer-starters',
  'scores',
  'experiments',
  'judges',
  'scoring',
  'annotation-queues',
  'deletion',
  'trace-uses',
];

/** Folders of src/ that compose or serve the areas. */
const COMPOSITION = ['database', 'openapi'];

/** Exports of `#platform/db` that build SQL. */
const SQL_BUILDERS = ['sql', 'raw', 'join', 'prepared'];

interface Import {
  from: string;
  to: string;
}

const isTest = (file: string): boolean => /\.(spec|fixture|child|harness)\.ts$/.test(file);
const sources = ['src', 'libs']
  .flatMap((root) =>
    readdirSync(root, { recursive: true, encoding: 'utf8' }).map((file) => path.join(root, file)),
  )
  .filter((file) => file.endsWith('.ts'));
const imports = sources.flatMap(importsOf);
const shippedImports = imports.filter(({ from }) => !isTest(from) && !from.startsWith('libs/testing/'));

/** Returns the imports of a source file, including types, as paths in the repository or names of packages. */
function importsOf(from: string): Import[] {
  const { importedFiles } = ts.preProcessFile(readFileSync(from, 'utf8'), true, true);
  return importedFiles.map(({ fileName }) => ({ from, to: resolved(from, fileName) }));
}

function resolved(from: string, name: string): string {
  if (name.startsWith('#')) return `libs/${name.slice(1)}/index.ts`;
  if (!name.startsWith('.')) return name;
  // a dynamic import names the compiled file
  const target = path.join(path.dirname(from), name.replace(/\.js$/, ''));
  return existsSync(`${target}.ts`) ? `${target}.ts` : path.join(target, 'index.ts');
}

/** Tells whether a source file imports an export of `#platform/db` that builds SQL. */
const buildsSql = (file: string): boolean =>
  [...readFileSync(file, 'utf8').matchAll(/import (?!type)\{([^}]*)\} from '#platform\/db'/g)].some(
    ([, names = '']) =>
      names.split(',').some((name) => SQL_BUILDERS.includes(name.replace(/ as .*/s, '').trim())),
  );

const areaOf = (file: string): string | undefined => /^src\/([^/]+)\//.exec(file)?.[1];
const partOf = (file: string): string | undefined => /^src\/evaluation\/([^/]+)\//.exec(file)?.[1];
const lines = (selected: readonly Import[]): string[] => selected.map(({ from, to }) => `${from} -> ${to}`);

/** Returns the imports from a higher floor, from another area on the same floor, or past an index. */
function forbiddenImports(names: readonly (readonly string[])[], nameOf: typeof areaOf): string[] {
  const floorOf = new Map(names.flatMap((row, floor) => row.map((name) => [name, floor] as const)));
  return lines(
    shippedImports.filter(({ from, to }) => {
      const [own, other] = [nameOf(from), nameOf(to)];
      if (own === undefined || other === undefined || own === other) return false;
      const [floor, below] = [floorOf.get(own), floorOf.get(other)];
      return (
        floor === undefined || below === undefined || below >= floor || !to.endsWith(`/${other}/index.ts`)
      );
    }),
  );
}

/** Returns the nodes that are part of a cycle. */
function cycles(edges: readonly Import[]): string[] {
  const next = new Map<string, Set<string>>();
  for (const { from, to } of edges) if (from !== to) next.set(from, (next.get(from) ?? new Set()).add(to));
  const reached = (start: string): Set<string> => {
    const seen = new Set<string>();
    const queue = [...(next.get(start) ?? [])];
    for (let one = queue.pop(); one !== undefined; one = queue.pop()) {
      if (seen.has(one)) continue;
      seen.add(one);
      queue.push(...(next.get(one) ?? []));
    }
    return seen;
  };
  return [...next.keys()].filter((node) => reached(node).has(node)).sort();
}

describe('the floors', () => {
  it('cover every import of the sources, including libraries', () => {
    expect(imports.filter(({ to }) => to.startsWith('libs/platform/')).length).toBeGreaterThan(500);
    expect(lines(imports.filter(({ to }) => /^(src|libs)\//.test(to) && !existsSync(to)))).toEqual([]);
  });

  it('list every area', () => {
    const knownAreas = new Set([...FLOORS.flat(), ...COMPOSITION]);
    const areas = sources.flatMap((file) => areaOf(file) ?? []);
    expect([...new Set(areas)].filter((area) => !knownAreas.has(area))).toEqual([]);
  });

  it('allow imports of lower floors only, through an area’s index', () => {
    expect(
      forbiddenImports(FLOORS, (file) => (COMPOSITION.includes(areaOf(file)!) ? undefined : areaOf(file))),
    ).toEqual([]);
  });

  it('order the parts of evaluation in the same way', () => {
    expect(
      forbiddenImports(
        EVALUATION.map((name) => [name]),
        partOf,
      ),
    ).toEqual([]);
  });

  it('contain no cycle of files', () => {
    expect(cycles(imports)).toEqual([]);
  });

  it('contain no cycle of folders', () => {
    // modules and indexes only compose the folders below them
    const folders = shippedImports
      .filter(({ from, to }) => !/(\.module|\/index)\.ts$/.test(from) && /^(src|libs)\//.test(to))
      .map(({ from, to }) => ({ from: path.dirname(from), to: path.dirname(to) }));
    expect(cycles(folders)).toEqual([]);
  });

  it('keep areas out of libraries, and the composition root out of areas', () => {
    const wrong = shippedImports.filter(
      ({ from, to }) =>
        (from.startsWith('libs/') && to.startsWith('src/')) ||
        (FLOORS.flat().includes(areaOf(from) ?? '') && /^src\/([^/]+\.ts$|openapi\/|database\/)/.test(to)),
    );
    expect(lines(wrong)).toEqual([]);
  });

  it('keep tests out of shipped code, and Nest out of otlp', () => {
    const wrong = shippedImports.filter(
      ({ from, to }) =>
        /^(libs\/testing|test|bench|examples)\//.test(to) ||
        (from.startsWith('libs/otlp/') && to.startsWith('@nestjs/')),
    );
    expect(lines(wrong)).toEqual([]);
  });

  it('keep SQL in repositories and migrations', () => {
    const isAllowed = (file: string): boolean =>
      isTest(file) || /\.(repository|sql)\.ts$|\/migrations\//.test(file);
    const builders = sources.filter((file) => file.startsWith('src/') && buildsSql(file));
    expect(builders.length).toBeGreaterThan(50);
    expect(builders.filter((file) => !isAllowed(file)).sort()).toEqual([]);
  });
});
