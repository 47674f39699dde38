import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

/** A check of a scenario, as the runner stores it. */
export interface Check {
  id: string;
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'INFO' | 'SKIPPED';
  errorMessage?: string;
}

const RUNNER = path.resolve('node_modules/@modelcontextprotocol/conformance/dist/index.js');
const TIMEOUT_MS = 150_000;

/** Loads the runner on Node 20, whose `fs` lacks `globSync`. Only another command of the runner calls it. */
const HOOK = `export async function load(url, context, next) {
  const loaded = await next(url, context);
  if (!url.includes('@modelcontextprotocol/conformance/dist/')) return loaded;
  return { ...loaded, source: String(loaded.source).replace(/globSync as (\\w+),/, '') };
}`;
const dataUrl = (source: string): string => `data:text/javascript,${encodeURIComponent(source)}`;
const LOADER = dataUrl(`import { register } from 'node:module'; register(${JSON.stringify(dataUrl(HOOK))});`);

/** Runs the official conformance runner against a server. Returns the checks of each scenario that it ran. */
export async function runConformance(
  url: string,
  selection: readonly string[],
): Promise<Map<string, Check[]>> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'conformance-'));
  try {
    const args = ['--import', LOADER, RUNNER, 'server', '--url', url, '-o', directory, ...selection];
    const output = await outputOf(args);
    const results = new Map<string, Check[]>();
    for (const name of await readdir(directory)) {
      const scenario = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(name)?.[1];
      const checks = await readFile(path.join(directory, name, 'checks.json'), 'utf8');
      results.set(scenario ?? name, JSON.parse(checks) as Check[]);
    }
    if (results.size === 0) throw new Error(`The runner stored no results: ${output}`);
    return results;
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** Returns the runner's output. The exit code is ignored, because it also counts expected failures. */
function outputOf(args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { timeout: TIMEOUT_MS, maxBuffer: 64 * 1024 * 1024 };
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
      if (error?.killed) reject(new Error('The runner took too long.'));
      else resolve(stdout + stderr);
    });
  });
}

export const failuresOf = (results: ReadonlyMap<string, Check[]>): string[] =>
  [...results].flatMap(([scenario, checks]) => [
    ...new Set(checks.filter(({ status }) => status === 'FAILURE').map(({ id }) => `${scenario}: ${id}`)),
  ]);
