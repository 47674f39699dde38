import { closestNames } from '#platform/json';
import { Problem } from '#platform/problem';
import { type Components, type Document, type Operation, operationsOf } from './operation';

/** Maximum number of operations that the problem for an unknown one suggests. */
const SUGGESTIONS_MAX = 3;

/**
 * Returns a document with one operation, and only the components and tags that it uses. Throws 404 for an unknown operation,
 * with the closest ids.
 */
export function documentOf(document: Document, operationId: string): Document {
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      if (operation.operationId !== operationId) continue;
      return {
        ...document,
        tags: document.tags!.filter(({ name }) => operation.tags?.includes(name)),
        paths: { [path]: { [method]: operation } },
        components: componentsOf(document, operation),
      };
    }
  }
  const ids = operationsOf(document).map((operation) => operation.operationId!);
  const closest = closestNames(operationId, ids, SUGGESTIONS_MAX);
  throw new Problem(
    'not_found',
    `The API has no operation ${operationId}. The closest are ${closest.join(', ')}. GET /llms.txt lists all operations.`,
  );
}

/** Returns the components to which an operation refers, directly or through others, and the security schemes. */
function componentsOf(document: Document, operation: Operation): Components {
  const { components } = document;
  const used = new Set<string>();
  const visit = (part: unknown): void => {
    // discriminators map values to references
    if (typeof part === 'string') return visitReference(part);
    if (typeof part === 'object' && part !== null) Object.values(part).forEach(visit);
  };
  const visitReference = (text: string): void => {
    const [, kind = '', name = ''] = /^#\/components\/(\w+)\/(\w+)$/.exec(text) ?? [];
    const target = (components[kind as keyof Components] as Record<string, object> | undefined)?.[name];
    if (target === undefined || used.has(text)) return;
    used.add(text);
    visit(target);
  };
  visit(operation);
  const kept = Object.entries(components).map(([kind, all]) => [
    kind,
    Object.fromEntries(
      Object.entries(all as object).filter(([name]) => used.has(`#/components/${kind}/${name}`)),
    ),
  ]);
  return {
    ...Object.fromEntries(kept.filter(([, all]) => Object.keys(all as object).length > 0)),
    ...schemesOf(document, operation),
  } as Components;
}

const schemesOf = ({ components }: Document, { security }: Operation): object =>
  security?.length === 0
    ? {}
    : { securitySchemes: (components as { securitySchemes?: object }).securitySchemes };
