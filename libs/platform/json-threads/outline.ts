import {
  InvalidJson,
  isJsonObject,
  memberNames,
  objectOf,
  type Outline,
  RawJson,
  toJsonText,
  toRawJson,
} from '#platform/json';

/** Maximum number of values of a body that are not free-form. Parsing 100,000 blocks the event loop for some 20 ms. */
export const VALUES_MAX = 100_000;
/** Maximum number of unknown members to keep of an object, because an error names no more. */
const UNKNOWN_MAX = 100;
/** Longer free-form strings travel as JSON text too, so that the event loop need not escape them. */
const SHORT_STRING = 1_024;

/** A body has more than `VALUES_MAX` values outside its free-form members. */
export class TooManyValues extends Error {
  override readonly name = 'TooManyValues';
}

/**
 * A value in the form in which it leaves its thread: scalars unchanged, lists as lists, a `JsonPart` for a value that travels
 * as text, `ObjectParts` for an object, `InvalidPart` for an element that cannot be accepted, and `{}` or `[]` in place of
 * an object or a list where a scalar was expected.
 */
export type Condensed = unknown;

interface JsonPart {
  readonly text: string;
}

interface ObjectParts {
  readonly members: readonly (readonly [name: string, part: Condensed])[];
  readonly unknown: readonly string[];
}

interface InvalidPart {
  readonly invalid: { readonly pointer: string; readonly detail: string };
}

/** Converts a parsed value to the form in which it leaves its thread. Throws `TooManyValues`. */
export function condense(value: unknown, outline: Outline): Condensed {
  let left = VALUES_MAX;
  const take = (count: number): void => {
    left -= count;
    if (left < 0) throw new TooManyValues();
  };
  const condensed = (one: unknown, expected: Outline): Condensed => {
    take(1);
    if (one instanceof InvalidJson) {
      return { invalid: { pointer: one.pointer, detail: one.detail } } satisfies InvalidPart;
    }
    switch (expected.kind) {
      case 'scalar':
        return stubOf(one);
      case 'freeForm':
        return isShort(one) ? one : ({ text: toRawJson(one).text } satisfies JsonPart);
      case 'whole':
        if (typeof one !== 'object' || one === null) return one;
        take(valuesIn(one, left));
        return { text: toJsonText(one) } satisfies JsonPart;
      case 'list':
        return Array.isArray(one)
          ? one.slice(0, expected.max + 1).map((element) => condensed(element, expected.of))
          : stubOf(one);
      case 'object':
        return isJsonObject(one) ? partsOf(one, expected) : stubOf(one);
      case 'map':
        return isJsonObject(one)
          ? ({
              members: memberNames(one).map((name) => [name, condensed(one[name], expected.of)] as const),
              unknown: [],
            } satisfies ObjectParts)
          : stubOf(one);
    }
  };
  const partsOf = (
    object: Record<string, unknown>,
    { members, ignored }: Extract<Outline, { kind: 'object' }>,
  ): ObjectParts => {
    const parts: [string, Condensed][] = [];
    for (const [name, expected] of Object.entries(members)) {
      if (Object.hasOwn(object, name)) parts.push([name, condensed(object[name], expected)]);
    }
    const unknown: string[] = [];
    for (const name in object) {
      if (unknown.length === UNKNOWN_MAX) break;
      if (!Object.hasOwn(members, name) && !ignored.has(name)) unknown.push(name);
    }
    return { members: parts, unknown };
  };
  return condensed(value, outline);
}

/** Reverses `condense`. Returns free-form values as `RawJson`, and null for the values of unknown members. */
export function expand(part: Condensed, outline: Outline): unknown {
  if (typeof part !== 'object' || part === null) return part;
  if ('invalid' in part) {
    const { pointer, detail } = (part as InvalidPart).invalid;
    return new InvalidJson(pointer, detail);
  }
  switch (outline.kind) {
    case 'scalar':
      return part;
    case 'freeForm':
      return new RawJson((part as JsonPart).text);
    case 'whole':
      return wholeOf(new RawJson((part as JsonPart).text), outline.isFreeForm);
    case 'list':
      return Array.isArray(part) ? part.map((element) => expand(element, outline.of)) : part;
    case 'object':
    case 'map': {
      if (!('members' in part)) return part;
      const { members, unknown } = part as ObjectParts;
      const outlineOf = (name: string): Outline =>
        outline.kind === 'map' ? outline.of : outline.members[name]!;
      return objectOf(
        [...members.map(([name]) => name), ...unknown],
        [...members.map(([name, value]) => expand(value, outlineOf(name))), ...unknown.map(() => null)],
      );
    }
  }
}

const wholeOf = (json: RawJson, isFreeForm = false): unknown =>
  isFreeForm ? json.parseExactly() : json.parse();

/** Returns an empty value of the same JSON type for a list or an object, because it is invalid whatever it contains. */
const stubOf = (value: unknown): unknown =>
  typeof value !== 'object' || value === null ? value : Array.isArray(value) ? [] : {};

const isShort = (value: unknown): boolean =>
  typeof value === 'string' ? value.length <= SHORT_STRING : typeof value !== 'object' || value === null;

/** Counts the values inside a list or an object, up to one more than `max`. */
function valuesIn(value: object, max: number): number {
  let count = 0;
  for (const name in value) {
    const inner: unknown = (value as Record<string, unknown>)[name];
    count += 1;
    if (count > max) return count;
    if (typeof inner === 'object' && inner !== null) count += valuesIn(inner, max - count);
  }
  return count;
}
