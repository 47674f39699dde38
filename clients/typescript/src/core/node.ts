interface NodeModules {
  crypto: typeof import('node:crypto');
  events: typeof import('node:events');
  fs: typeof import('node:fs');
  os: typeof import('node:os');
  path: typeof import('node:path');
}

/** Returns a module of Node, or null in a browser. An import would keep bundlers for browsers from loading this file. */
export function nodeModule<K extends keyof NodeModules>(name: K): NodeModules[K] | null {
  if (typeof process === 'undefined') return null;
  return (process.getBuiltinModule?.(`node:${name}`) as NodeModules[K] | undefined) ?? null;
}

/** Like {@link nodeModule}, but throws where there are no files. */
export function needNodeModule<K extends keyof NodeModules>(name: K): NodeModules[K] {
  const found = nodeModule(name);
  if (!found) throw new Error('Files can be read and written only in Node, Deno and Bun.');
  return found;
}
