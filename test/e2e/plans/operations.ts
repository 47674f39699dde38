import { committedDocument } from '#testing';

/** An operation of the OpenAPI document. */
export type Operation = {
  operationId: string;
  parameters?: { name: string; in: string; description?: string; schema?: { enum?: string[] } }[];
};
type Schema = { $ref?: string; properties?: Record<string, unknown>; allOf?: Schema[] };

/** Returns the operations below some paths that return a page. */
export function listOperations(...prefixes: string[]): Map<string, Operation> {
  const document = committedDocument();
  const membersOf = (schema: Schema | undefined): string[] => {
    if (schema?.$ref)
      return membersOf(document.components!.schemas![schema.$ref.split('/').at(-1)!] as Schema);
    return [...Object.keys(schema?.properties ?? {}), ...(schema?.allOf ?? []).flatMap(membersOf)];
  };
  const operations = new Map<string, Operation>();
  for (const [path, methods] of Object.entries(document.paths)) {
    if (!prefixes.some((prefix) => path.startsWith(prefix))) continue;
    for (const operation of Object.values(methods as Record<string, any>)) {
      const schema = operation.responses?.['200']?.content?.['application/json']?.schema as Schema;
      if (membersOf(schema).includes('page'))
        operations.set(operation.operationId as string, operation as Operation);
    }
  }
  return operations;
}

const PAGE_PARAMETERS = new Set([
  ...['limit', 'offset', 'cursor', 'sort', 'include_archived', 'total', 'since', 'until'],
]);

/** Returns the parameters of a list, except those of its page and the workspace of a name in its path. */
export const filtersOf = ({ parameters = [] }: Operation): string[] =>
  parameters
    .filter((one) => one.in === 'query' && !PAGE_PARAMETERS.has(one.name))
    .filter(({ description = '' }) => !description.startsWith('The workspace of `name:` in the path.'))
    .map(({ name }) => name);

/** Returns the sort orders of a list, ascending and descending. */
export const sortsOf = ({ parameters = [] }: Operation): string[] =>
  parameters.find((one) => one.in === 'query' && one.name === 'sort')?.schema?.enum ?? [];
