import { readFileSync } from 'node:fs';
import module, { type LoadFnOutput, type LoadHookContext } from 'node:module';

/** What newer versions of Node have. */
interface NewerModule {
  /** From 22.13 on. */
  stripTypeScriptTypes?: (text: string) => string;
  /** From 22.15 on. Replaces `register`. */
  registerHooks?: (hooks: { load: typeof load }) => void;
}
export const newerModule: NewerModule = module as NewerModule;

/** How TypeScript is read: by Node, by tsx, or by this file in versions of Node that do not read it themselves. */
export type TypeScript = 'node' | 'tsx' | 'here';

let reader: TypeScript = 'here';

/** Sets how TypeScript is read. Node calls it with the data of `register`. */
export function initialize(chosen: TypeScript): void {
  reader = chosen;
}

/** Only what is used of the results of hooks, which may be promises. */
type Loaded = LoadFnOutput | Promise<LoadFnOutput>;

/**
 * Loads a TypeScript file with `import` or `export` as an ES module, whatever the type of its package: `npm init` sets
 * `commonjs`, and top-level await would not work.
 */
export function load<Result extends Loaded>(
  url: string,
  context: LoadHookContext,
  next: (url: string, context?: Partial<LoadHookContext>) => Result,
): Result | LoadFnOutput {
  const path = /^file:[^?#]*\.m?ts(?=$|\?)/.exec(url)?.[0];
  if (path === undefined || path.includes('/node_modules/')) return next(url, context);
  const text = readFileSync(new URL(path), 'utf8');
  if (!/^(import|export)\b/m.test(text)) return next(url, context);
  if (reader === 'tsx') return next(url, { ...context, format: 'module' });
  if (reader === 'node') return { format: 'module-typescript', source: text, shortCircuit: true };
  return { format: 'module', source: withoutTypes(text), shortCircuit: true };
}

/** Removes the types. Node 20 cannot, and then runs only files without any. */
const withoutTypes = (text: string): string => newerModule.stripTypeScriptTypes?.(text) ?? text;
