import { isAbsent, type JsonObject, numberOf, objectOf } from './json-shape';

/** The error for a request that the provider's format cannot express. The client has to change the request. */
export class UntranslatableError extends Error {
  /**
   * @param pointer the JSON Pointer (RFC 6901) of the member in the client's request
   * @param message a sentence that tells the client what to do
   */
  constructor(
    readonly pointer: string,
    message: string,
  ) {
    super(message);
    this.name = 'UntranslatableError';
  }
}

/** Returns a member of an object of a request, which must be a string. @param at the JSON Pointer of the object */
export function requiredText(object: JsonObject, member: string, at: string): string {
  const text = object[member];
  if (typeof text === 'string') return text;
  throw new UntranslatableError(`${at}/${member}`, `Set \`${member}\` to a string.`);
}

/** Returns a number of a request, or undefined if it is absent. */
export function optionalNumber(request: JsonObject, name: string): number | undefined {
  if (isAbsent(request[name])) return undefined;
  const value = numberOf(request[name]);
  if (value === undefined) throw new UntranslatableError(`/${name}`, `Set \`${name}\` to a number.`);
  return value;
}

/** Translates the tools of a request. Returns undefined if there are none. */
export function toolsOf(
  tools: unknown,
  toolOf: (tool: JsonObject, at: string) => JsonObject,
): JsonObject[] | undefined {
  if (isAbsent(tools)) return undefined;
  if (!Array.isArray(tools)) throw new UntranslatableError('/tools', 'Set `tools` to an array of tools.');
  return tools.length === 0
    ? undefined
    : tools.map((tool, index) => toolOf(objectOf(tool), `/tools/${index}`));
}

/** A member that changes the answer and that the provider's format cannot express. */
export type UnsupportedMember = readonly [
  name: string,
  isUnsupported: (value: unknown) => boolean,
  message: string,
];

/** Throws for a member that is unsupported. */
export function checkSupported(request: JsonObject, members: readonly UnsupportedMember[]): void {
  for (const [name, isUnsupported, message] of members) {
    const value = request[name];
    if (!isAbsent(value) && isUnsupported(value)) throw new UntranslatableError(`/${name}`, message);
  }
}
