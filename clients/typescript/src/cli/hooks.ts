import { readFileSync } from 'node:fs';
import * as module from 'node:module';

/** How TypeScript is read: by Node, by tsx, or by this file in versions of Node that do not read it themselves. */
export type TypeScript = 'node' | 'tsx' | 'here';

let reader: TypeScript = 'here';

/** Sets how TypeScript is read. Node calls it with the data of `register`. */
export function initialize(chosen: TypeScript): void {
  reader = chosen;
}

/** Only what is used of the results of hooks, which may be promises. */
type Loaded = module.LoadFnOutput | Promise<module.LoadFnOutput>;

/**
 * Loads a TypeScript file with `import` or `export` as an ES module, whatever the type of its package: `npm init` sets
 * `commonjs`, and top-level await would not work.
 */
export function load<Result extends Loaded>(
  url: string,
  context: module.LoadHookContext,
  next: (url: string, context?: Partial<module.LoadHookContext>) => Result,
): Result | module.LoadFnOutput {
  const path = /^file:[^?#]*\.m?ts(?=$|\?)/.exec(url)?.[0];
  if (path === undefined || path.includes('/node_modules/')) return next(url, context);
  const text = readFileSync(new URL(path), 'utf8');
  if (!/^(import|export)\b/m.test(text)) return next(url, context);
  if (reader === 'tsx') return next(url, { ...context, format: 'module' });
  if (reader === 'node') return { format: 'module-typescript', source: text, shortCircuit: true };
  return { format: 'module', source: withoutTypes(text), shortCircuit: true };
}

/** Removes the types. Node 20 cannot, and then runs only files without any. */
function withoutTypes(text: string): string {
  if (typeof module.stripTypeScriptTypes !== 'function') return text;
  const emitWarning = process.emitWarning;
  process.emitWarning = () => undefined; // that the function is experimental
  try {
    return module.stripTypeScriptTypes(text);
  } finally {
    process.emitWarning = emitWarning;
  }
}
