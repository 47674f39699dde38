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
export function hintOf(error: unknown, file: string): string | null {
  const { code, name, message } = error as NodeJS.ErrnoException;
  if (code === 'ERR_MODULE_NOT_FOUND' && message.includes("package 'agent-registry'"))
    return 'Install the client next to the file: npm install <address of the service>/docs/clients/agent-registry.tgz';
  if (!/\.[cm]?tsx?$/.test(file)) return null;
  const isModuleError = /^ERR_(MODULE_NOT_FOUND|UNSUPPORTED_|UNKNOWN_FILE_EXTENSION|INVALID_TYPESCRIPT)/.test(
    code ?? '',
  );
  return isModuleError || (name === 'SyntaxError' && !stripsTypes)
    ? 'This may be TypeScript that Node cannot run. Install tsx in your project (npm install --save-dev tsx): the command then uses it.'
    : null;
}

/** Whether this version of Node strips types by itself: from 22.18 on. */
const stripsTypes = Boolean((process.features as { typescript?: string | false }).typescript);

let isPrepared = false;

async function prepare(url: URL): Promise<void> {
  if (isPrepared || typeof module.register !== 'function') return; // Deno and Bun read TypeScript themselves
  isPrepared = true;
  const reader = await chooseReader(url);
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
