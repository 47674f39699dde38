import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** The area that serves each API. */
const AREAS: Readonly<Record<string, string>> = {
  registry: 'registry',
  telemetry: 'telemetry',
  file: 'files',
  skill: 'skills',
  mcp: 'mcp-servers',
  model: 'model-gateway',
  agent: 'agents',
  eval: 'evaluation',
  store: 'store',
};

/** Areas whose folders do not follow the paths of their routes yet. */
const EXEMPT: readonly string[] = [];

/** Folders that hold the folders of these routes, and that no path names. Holds for exempt areas too. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  'evaluation/scoring': [
    'scorers/score',
    'scorers/batches',
    'scorers/rules',
    'rules',
    'score-runs',
    'score-batches',
  ],
};

/**
 * Segments with a folder of another name: `/registry/v1/org` is the caller's own organization of `/registry/v1/orgs`, and
 * `/eval/v1/scoring-rules` lists the rules of all scorers, and `/skill/v1/index.json` all skills.
 */
const FOLDERS: Readonly<Record<string, string>> = {
  org: 'orgs',
  'scoring-rules': 'rules',
  'index.json': 'skills',
};

/** The folders of routes whose paths name no area, because a standard or the clients choose them. */
const WITHOUT_AREA: Readonly<Record<string, string>> = {
  '': 'openapi',
  '.well-known/jwks.json': 'registry/tokens',
  '.well-known/oauth-authorization-server': 'registry/tokens',
  '.well-known/oauth-protected-resource': 'mcp-endpoint/transport',
  mcp: 'mcp-endpoint/transport',
};

interface ControllerSource {
  file: string;
  /** The path of the controller. */
  base: string;
  /** Its path and the paths of its routes. */
  paths: string[];
}

const controllers = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'))
  .flatMap(controllersIn);

function controllersIn(file: string): ControllerSource[] {
  const [, ...classes] = readFileSync(path.join('src', file), 'utf8').split(/^@Controller\(/m);
  return classes.map((text) => {
    const base = /^(?:'([^']*)')?\)/.exec(text)?.[1] ?? '';
    const methods = text.matchAll(/^ {2}@(?:Get|Post|Put|Patch|Delete)\((?:'([^']*)')?\)/gm);
    return { file, base, paths: [base, ...[...methods].map(([, route = '']) => `${base}/${route}`)] };
  });
}

/** Returns the names of the folders that a route may use: one for each segment after the version that is no parameter. */
const foldersOf = (route: string): string[] =>
  route
    .split('/')
    .slice(2)
    .filter((segment) => segment !== '' && !segment.startsWith(':'))
    .map((segment) => FOLDERS[segment] ?? segment);

/** Returns the entry of `PARTS` for a controller. */
const partOf = ({ paths }: ControllerSource): string | undefined =>
  Object.keys(PARTS).find((part) =>
    paths.some((route) =>
      PARTS[part]!.some((start) => `${foldersOf(route).join('/')}/`.startsWith(`${start}/`)),
    ),
  );

/** Tells whether the paths of a controller lead to its file. */
function isFound(controller: ControllerSource): boolean {
  const { file, base, paths } = controller;
  const folder = path.dirname(file);
  if (base in WITHOUT_AREA) return folder === WITHOUT_AREA[base];
  const within = partOf(controller);
  if (within !== undefined) {
    const names = paths.flatMap(foldersOf);
    return (
      folder.startsWith(`${within}/`) &&
      path
        .relative(within, folder)
        .split('/')
        .every((name) => names.includes(name))
    );
  }
  const [area, part = '', ...deeper] = folder.split('/');
  const [api = ''] = base.split('/');
  const names = paths.map(foldersOf);
  return (
    area === AREAS[api] &&
    names.some(([first]) => first === part) &&
    deeper.every((name) => names.flat().includes(name))
  );
}

/**
 * `/registry/v1/org/signing-keys` is in `src/registry/orgs/signing-keys/`: the first segment after the version names the
 * folder in the area, and folders below it have names of later segments. Not every segment needs a folder.
 */
describe('the path of a route', () => {
  it('leads to the folder of its controller', () => {
    const checked = controllers.filter(
      (controller) => !EXEMPT.includes(controller.file.split('/')[0]!) || partOf(controller) !== undefined,
    );
    expect(checked.length).toBeGreaterThan(40);
    const misplaced = checked.filter((controller) => !isFound(controller));
    expect(misplaced.map(({ file, base }) => `/${base} in src/${file}`)).toEqual([]);
  });
});
