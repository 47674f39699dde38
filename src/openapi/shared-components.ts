import { canonicalJson } from '#platform/json';
import { pascalCase } from './names';
import {
  type Components,
  type Document,
  type Operation,
  operationsOf,
  type Response,
  type Schema,
} from './operation';
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
  const repeated = [...groups.values()].filter((group) => isWorthSharing(group, kind));
  for (const group of repeated.sort((a, b) => b.length - a.length)) {
    const name = freeName(group, shared, kind === 'schemas' ? BUILT_IN : NO_NAMES);
    shared[name] = group[0]!.value;
    for (const use of group) use.replace({ $ref: `#/components/${kind}/${name}` });
  }
}

/** A type is only shared if its references are shorter. Everything else is easier to compare if it is a component. */
function isWorthSharing(uses: readonly Use[], kind: Kind): boolean {
  const [{ name, value }] = uses as [Use, ...Use[]];
  const saved = JSON.stringify(value).length - `{"$ref":"#/components/${kind}/${name}"}`.length;
  return uses.length > 1 && (kind !== 'schemas' || saved * uses.length > SAVED_MIN + name.length + saved);
}

/** The number of characters that a shared type must save. */
const SAVED_MIN = 30;

/** Built-in types of TypeScript, which a generated type with the same name would hide. */
const BUILT_IN: ReadonlySet<string> = new Set(
  (
    'Array Attr Audio Blob Boolean Cache Client Comment Credential Date Document Element Error ' +
    'Event File Function Headers History Image Iterator Location Lock Map Node Notification Number ' +
    'Object Option Origin Partial Plugin Promise Proxy Range Record Report Request Required Response Screen Selection Set Storage String Symbol Text Touch URL Worker'
  ).split(' '),
);

const NO_NAMES: ReadonlySet<string> = new Set();

/** Returns the first name for a component that no other component has, and that is not reserved. */
function freeName(group: readonly Use[], taken: object, reserved: ReadonlySet<string>): string {
  const { name, users } = group[0]!;
  const common = users.filter((user) => group.every((use) => use.users.includes(user)));
  const first = group.map((use) => use.users.at(-1)!).sort()[0]!;
  const names = [name, ...[...common, first].map((user) => `${name}Of${pascalCase(user)}`)];
  const isFree = (one: string): boolean => !Object.hasOwn(taken, one) && !reserved.has(one);
  const free = names.find(isFree);
  if (free !== undefined) return free;
  for (let index = 2; ; index++) if (isFree(`${names.at(-1)}${index}`)) return `${names.at(-1)}${index}`;
}

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
                  name: nameOfHeader(name),
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
    ...Object.entries(document.components.responses ?? {}).flatMap(([name, response]) =>
      uses(response, [name]),
    ),
  ];
}

const parametersOf = (document: Document): Use[] =>
  operationsOf(document).flatMap((operation) =>
    (operation.parameters ?? []).map((value, index, all) => ({
      name: nameOfHeader(value.name),
      value,
      users: [...(operation.tags ?? []), value.in, operation.operationId ?? ''],
      replace: (reference) => void (all[index] = reference as never),
    })),
  );

/** Returns a name without the prefix of headers that are not in a standard. */
const nameOfHeader = (name: string): string => pascalCase(name.replace(/^X-(?:Service-)?/, ''));

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

/** Words for statuses that succeed, after the name of their content. */
const SUCCESS: Record<string, string> = { 201: 'Created', 202: 'Accepted', 206: 'Range' };

function nameOfResponse(status: string, { content = {} }: Response): string {
  const [media] = Object.entries(content);
  const { $ref } = (media?.[1].schema ?? {}) as Schema;
  const noun = $ref?.split('/').at(-1) ?? (media ? 'Content' : 'Empty');
  return nameOfStatus(status) ?? `${noun}${SUCCESS[status] ?? 'Response'}`;
}

/** Returns the types of members, at any depth of the objects in a schema. */
const memberTypesOf = ({ components: { schemas = {} } }: Document): Use[] =>
  Object.entries(schemas).flatMap(([schema, { properties = {}, oneOf = [], allOf = [] }]) =>
    [properties, ...[...oneOf, ...allOf].map((one) => one.properties ?? {})].flatMap((members) =>
      Object.entries(members).map(([name, value]) => ({
        name: pascalCase(name),
        value,
        users: [schema],
        replace: (reference) => void (members[name] = reference),
      })),
    ),
  );
