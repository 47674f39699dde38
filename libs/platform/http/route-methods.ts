interface Layer {
  route?: { methods: Record<string, boolean> };
  match(path: string): boolean;
}

/** The methods that any route of an Express application answers at a path, for `Allow`; empty for an unknown path. */
export function methodsOf(express: unknown, path: string): string[] {
  const { stack } = (express as { router: { stack: Layer[] } }).router;
  const methods = new Set<string>();
  for (const layer of stack) {
    if (layer.route && matches(layer, path)) {
      for (const method of Object.keys(layer.route.methods)) methods.add(method.toUpperCase());
    }
  }
  if (methods.has('GET')) methods.add('HEAD');
  return [...methods].sort();
}

function matches(layer: Layer, path: string): boolean {
  try {
    return layer.match(path);
  } catch {
    return false; // a path that cannot be decoded matches nothing
  }
}
