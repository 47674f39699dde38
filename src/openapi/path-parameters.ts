import type { Document, Operation, Parameter } from './operation';

/** Returns the document with the parameters that all operations of a path share in the path, which makes it smaller. */
export function withPathParameters({ paths, ...document }: Document): object {
  const items = Object.entries(paths).map(([path, methods]): [string, object] => {
    const operations = Object.values(methods);
    const shared = operations.length < 2 ? [] : sharedParameters(operations);
    if (shared.length === 0) return [path, methods];
    const keys = new Set(shared.map((one) => JSON.stringify(one)));
    const own = Object.entries(methods).map(
      ([method, { parameters = [], ...operation }]): [string, object] => {
        const rest = parameters.filter((one) => !keys.has(JSON.stringify(one)));
        return [method, rest.length > 0 ? { ...operation, parameters: rest } : operation];
      },
    );
    return [path, { parameters: shared, ...(Object.fromEntries(own) as object) }];
  });
  return { ...document, paths: Object.fromEntries(items) };
}

function sharedParameters([first, ...others]: Operation[]): Parameter[] {
  const inOthers = others.map(({ parameters = [] }) => new Set(parameters.map((one) => JSON.stringify(one))));
  return (first!.parameters ?? []).filter((one) => inOthers.every((keys) => keys.has(JSON.stringify(one))));
}
