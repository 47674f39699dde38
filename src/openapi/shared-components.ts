import { canonicalJson } from '#platform/json';
import { pascalCase } from './names';
import type { Components, Document, Operation, Parameter, Response, Schema } from './operation';
import { nameOfStatus } from './responses';

/** A place that can refer to a component instead of containing it. */
interface Use {
  /** The name of the component, unless a different one has it. */
  name: string;
  value: object;
  /** Words that distinguish this use from uses of other components with the same name, the best first. */
  users: readonly string[];
  replace: (reference: { $ref: string }) => void;
}

type Kind = keyof Components;

/**
 * Moves parameters, headers, responses and types of members that occur several times into the components, and refers to them.
 * The most frequent one of several with the same name keeps it. The others are named after their users as well, such as
 * `SortOfListScores`.
 */
export function shareComponents(document: Document): void {
  const { components } = document;
  share(components, 'headers', headersOf(document));
  share(components, 'parameters', parametersOf(document));
  share(components, 'responses', responsesOf(document));
  share(components, 'schemas', memberTypesOf(document));
  for (const kind of ['headers', 'parameters', 'responses', 'schemas'] as const) {
    components[kind] = Object.fromEntries(
      Object.entries(components[kind] ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)),
    ) as never;
  }
}

/** Replaces values that are used at least twice. */
function share(components: Components, kind: Kind, uses: readonly Use[]): void {
  const shared = (components[kind] ??= {}) as Record<string, object>;
  const groups = new Map<string, Use[]>();
  for (const use of uses) {
    const key = `${use.name} ${canonicalJson(use.value)}`;
    groups.set(key, [...(groups.get(key) ?? []), use]);
  }
  const repeated = [...groups.values()].filter((group) => group.length > 1);
  for (const group of repeated.sort((a, b) => b.length - a.length)) {
    const name = freeName(group, shared);
    shared[name] = group[0]!.value;
    for (const use of group) use.replace({ $ref: `#/components/${kind}/${name}` });
  }
}

/** Returns the first name for a component that no other component has. */
function freeName(group: readonly Use[], taken: object): string {
  const { name, users } = group[0]!;
  const common = users.filter((user) => group.every((use) => use.users.includes(user)));
  const first = group.map((use) => use.users.at(-1)!).sort()[0]!;
  const names = [name, ...[...common, first].map((user) => `${name}Of${pascalCase(user)}`)];
  const free = names.find((one) => !Object.hasOwn(taken, one));
  if (free === undefined) throw new Error(`Several components have the name ${names.at(-1)}.`);
  return free;
}

const operationsOf = ({ paths }: Document): Operation[] =>
  Object.values(paths).flatMap((methods) => Object.values(methods));

const usersOf = ({ tags = [], operationId = '' }: Operation): string[] => [...tags, operationId];

function headersOf(document: Document): Use[] {
  const uses = (response: Response | { $ref: string }, users: string[]): Use[] =>
    '$ref' in response
      ? []
      : Object.entries(response.headers ?? {}).flatMap(([name, value]) =>
          '$ref' in value
            ? []
            : [
                {
                  name: pascalCase(name.replace(/^X-(?:Service-)?/, '')),
                  value,
                  users,
                  replace: (reference: object) => Object.assign(response.headers!, { [name]: reference }),
                },
              ],
        );
  return [
    ...operationsOf(document).flatMap((operation) =>
      Object.values(operation.responses).flatMap((response) => uses(response, usersOf(operation))),
    ),
    ...Object.entries(document.components.responses ?? {}).flatMap(([name, response]) => uses(response, [name])),
  ];
}

/** The words before or after the names of parameters, because a path, a query and a header can have the same. */
const PARAMETER_NAMES: Record<string, (name: string) => string> = {
  path: (name) => `${name}InPath`,
  query: (name) => name,
  header: (name) => `${name}Header`,
};

const parametersOf = (document: Document): Use[] =>
  operationsOf(document).flatMap((operation) =>
    ((operation.parameters ?? []) as Parameter[]).map((value, index, all) => ({
      name: PARAMETER_NAMES[value.in]!(pascalCase(value.name.replace(/^X-(?:Service-)?/, ''))),
      value,
      users: usersOf(operation),
      replace: (reference) => void (all[index] = reference as never),
    })),
  );

const responsesOf = (document: Document): Use[] =>
  operationsOf(document).flatMap((operation) =>
    Object.entries(operation.responses).flatMap(([status, value]) =>
      '$ref' in value
        ? []
        : [
            {
              name: nameOfResponse(status, value),
              value,
              users: usersOf(operation),
              replace: (reference: { $ref: string }) => void (operation.responses[status] = reference),
            },
          ],
    ),
  );

/** Words for statuses that succeed. */
const SUCCESS: Record<string, string> = {
  201: 'Created',
  202: 'Accepted',
  204: 'NoContent',
  206: 'Part',
  '2XX': 'AnySuccess',
  default: 'AnyOther',
};

function nameOfResponse(status: string, { content = {} }: Response): string {
  const [schema] = Object.values(content).flatMap((media) => {
    const { $ref } = media.schema as Schema;
    return $ref === undefined ? [] : [$ref.split('/').at(-1)!];
  });
  return nameOfStatus(status) ?? `${schema ?? ''}${SUCCESS[status] ?? 'Response'}`;
}

/** Smaller types are not worth a name, in characters. */
const TYPE_MIN = 70;

/** Returns the types of members that deserve a name: enumerations, arrays, objects and unions. */
const memberTypesOf = ({ components: { schemas = {} } }: Document): Use[] =>
  Object.entries(schemas).flatMap(([schema, { properties = {} }]) =>
    Object.entries(properties)
      .filter(
        ([, { type, enum: values, items, anyOf }]) =>
          values ?? items ?? anyOf ?? (type === 'object' || type?.includes('object')),
      )
      .filter(([, value]) => JSON.stringify(value).length >= TYPE_MIN)
      .map(([name, value]) => ({
        name: pascalCase(name),
        value,
        users: [schema],
        replace: (reference) => void (properties[name] = reference),
      })),
  );
