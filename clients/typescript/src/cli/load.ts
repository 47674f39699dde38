import { existsSync } from 'node:fs';
import module, { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { initialize, load, newerModule, type TypeScript } from './hooks.js';

/**
 * Imports a file in this process with the user's own Node. Nothing is bundled. TypeScript is read by tsx if the project has
 * it, else by Node. Node 20 has no support for types, so there a `.ts` file without types runs, and one with types needs tsx.
 */
export async function importFile(file: string): Promise<void> {
  const url = pathToFileURL(file);
  await prepare(url);
  await import(url.href);
}

/** Says what to do about an error that is due to how the file was loaded, or returns null. */
export function hintOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const { code = '', name, message }: NodeJS.ErrnoException = error;
  if (code === 'ERR_MODULE_NOT_FOUND' && message.includes("package 'agent-registry'"))
    return 'Install the client next to the file: npm install <address of the service>/docs/clients/agent-registry.tgz';
  if (reader === 'tsx') return null;
  const isUnreadable =
    /^ERR_(UNKNOWN_FILE_EXTENSION|UNSUPPORTED_|INVALID_TYPESCRIPT)/.test(code) ||
    (code === 'ERR_MODULE_NOT_FOUND' && message.startsWith('Cannot find module')) ||
    (reader === 'here' && name === 'SyntaxError');
  return isUnreadable
    ? 'If this is TypeScript that Node cannot run, install tsx in your project (npm install --save-dev tsx). The command then uses it.'
    : null;
}

/** Whether this version of Node strips types by itself: from 22.18 on. */
const stripsTypes = Boolean((process.features as { typescript?: string | false }).typescript);

/** How TypeScript is read. Undefined before the first file. */
let reader: TypeScript | undefined;

async function prepare(url: URL): Promise<void> {
  if (reader || typeof module.register !== 'function') return; // Deno and Bun read TypeScript themselves
  reader = await chooseReader(url);
  if (newerModule.registerHooks) {
    initialize(reader);
    newerModule.registerHooks({ load });
  } else {
    module.register('./hooks.js', import.meta.url, { data: reader });
  }
}

async function chooseReader(url: URL): Promise<TypeScript> {
  const tsx = resolveFrom(url, 'tsx/esm');
  if (tsx !== null) {
    await import(pathToFileURL(tsx).href);
    return 'tsx';
  }
  return stripsTypes ? 'node' : 'here';
}

/** Returns the path of a package's file if the package is installed where a file can import it. */
function resolveFrom(url: URL, specifier: string): string | null {
  try {
    const path = createRequire(url).resolve(specifier);
    return existsSync(path) ? path : null;
  } catch {
    return null;
  }
}
