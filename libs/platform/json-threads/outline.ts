import { isJsonObject, objectOf, RawJson, toJsonText } from '#platform/json';

/**
 * How the parts of a body are used, so that a thread can return a large body in a small form. Structured clones of large
 * object graphs cost the event loop as much as parsing them, but texts cost next to nothing.
 */
export type Outline =
  | { readonly kind: 'scalar' }
  /** A value that is stored and returned, but not read. It becomes a `RawJson`. */
  | { readonly kind: 'freeForm' }
  /** A value that is read as a whole. */
  | { readonly kind: 'whole' }
  /** @property max elements at most. Of a longer list, one more is kept, so that it still counts as too long */
  | { readonly kind: 'list'; readonly of: Outline; readonly max: number }
  /**
   * An object with known members.
   *
   * @property ignored members that are dropped
   */
  | {
      readonly kind: 'object';
      readonly members: Readonly<Record<string, Outline>>;
      readonly ignored: ReadonlySet<string>;
    };

/** Most values of a body that are not free-form. Parsing 100,000 values blocks the event loop for some 20 ms. */
export const VALUES_MAX = 100_000;
/** Most unknown members of an object that are kept, because an error names no more. */
const UNKNOWN_MAX = 100;
/** Longer free-form strings become texts too, so that the event loop need not escape them. */
const SHORT_STRING = 1_024;

/** A body has more than `VALUES_MAX` values outside its free-form members. */
export class TooManyValues extends Error {
  override readonly name = 'TooManyValues';
}

/**
 * A value in the form in which it leaves its thread: scalars as they are, lists as lists, a `JsonPart` for a value that
 * travels as text, `ObjectParts` for an object with known members, and `{}` or `[]` where a scalar was expected.
 */
export type Condensed = unknown;

interface JsonPart {
  readonly text: string;
}

interface ObjectParts {
  readonly members: readonly (readonly [name: string, part: Condensed])[];
  readonly unknown: readonly string[];
}

/** Returns the form of a parsed value in which it leaves its thread. Throws `TooManyValues`. */
export function condense(value: unknown, outline: Outline): Condensed {
  let left = VALUES_MAX;
  const take = (count: number): void => {
    left -= count;
    if (left < 0) throw new TooManyValues();
  };
  const condensed = (one: unknown, expected: Outline): Condensed => {
    take(1);
    switch (expected.kind) {
      case 'scalar':
        return stubOf(one);
      case 'freeForm':
        return isShort(one) ? one : ({ text: toJsonText(one) } satisfies JsonPart);
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
    }
  };
  const partsOf = (
    object: Record<string, unknown>,
    { members, ignored }: Extract<Outline, { kind: 'object' }>,
  ): ObjectParts => {
    const known: [string, Condensed][] = [];
    for (const [name, expected] of Object.entries(members)) {
      if (Object.hasOwn(object, name)) known.push([name, condensed(object[name], expected)]);
    }
    const unknown: string[] = [];
    for (const name in object) {
      if (unknown.length === UNKNOWN_MAX) break;
      if (!Object.hasOwn(members, name) && !ignored.has(name)) unknown.push(name);
    }
    return { members: known, unknown };
  };
  return condensed(value, outline);
}

/** Returns what `condense` condensed: free-form values as `RawJson`, and null for the values of unknown members. */
export function expand(part: Condensed, outline: Outline): unknown {
  if (typeof part !== 'object' || part === null) return part;
  switch (outline.kind) {
    case 'scalar':
      return part;
    case 'freeForm':
      return new RawJson((part as JsonPart).text);
    case 'whole':
      return new RawJson((part as JsonPart).text).parse();
    case 'list':
      return Array.isArray(part) ? part.map((element) => expand(element, outline.of)) : part;
    case 'object': {
      if (Array.isArray(part)) return part;
      const { members, unknown } = part as ObjectParts;
      return objectOf(
        [...members.map(([name]) => name), ...unknown],
        [
          ...members.map(([name, value]) => expand(value, outline.members[name]!)),
          ...unknown.map(() => null),
        ],
      );
    }
  }
}

/** Returns an empty value of the same JSON type for a list or an object, which is invalid here whatever it holds. */
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
