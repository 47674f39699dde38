/**
 * JavaScript objects list array indexes ("0" to "4294967294") before all other names, in ascending order,
 * whatever order they were written in. JSON text has an order of its own, and clients get it back. The few
 * objects whose order JavaScript would change carry it under this key, which nothing else can see: neither
 * enumeration nor serialisation nor comparison. (A WeakMap would do the same, but the garbage collector
 * takes seconds over one with hundreds of thousands of entries, which a single body can ask for.)
 */
const MEMBER_ORDER = Symbol('order of the members as JSON');
let anyRecorded = false;

interface Ordered {
  readonly [MEMBER_ORDER]?: readonly string[];
}

/** Whether any object had its member order recorded since the process started. */
export function isAnyOrderRecorded(): boolean {
  return anyRecorded;
}

/** Whether the order of this object's members was recorded, because JavaScript would change it. */
export function hasRecordedOrder(object: object): boolean {
  return (object as Ordered)[MEMBER_ORDER] !== undefined;
}

/**
 * The names of an object's own enumerable members in the order in which they came as JSON. Members that
 * were removed since are left out, later ones follow at the end.
 */
export function memberNames(object: object): readonly string[] {
  const names = (object as Ordered)[MEMBER_ORDER];
  const present = Object.keys(object);
  if (names === undefined) return present;
  if (names.length === present.length && names.every((name) => Object.hasOwn(object, name))) return names;
  return [...new Set([...names.filter((name) => Object.hasOwn(object, name)), ...present])];
}

/**
 * Makes an object of members in the given order and records that order where JavaScript would change it. Of
 * members with one name the last value counts, at the place of the first, as with `JSON.parse`. `__proto__`
 * becomes an ordinary own member.
 */
export function objectOf(names: readonly string[], values: readonly unknown[]): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  let isOrderAtStake = false;
  for (let place = 0; place < names.length; place++) {
    const name = names[place] as string;
    setMember(object, name, values[place]);
    isOrderAtStake ||= isDigit(name.charCodeAt(0));
  }
  if (isOrderAtStake) recordOrder(object, names);
  return object;
}

function recordOrder(object: object, names: readonly string[]): void {
  if (Object.keys(object).every((name, place) => name === names[place])) return;
  Object.defineProperty(object, MEMBER_ORDER, { value: names });
  anyRecorded = true;
}

/** Assigning to `__proto__` would replace the prototype instead of adding a member. */
function setMember(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__') {
    Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true });
  } else {
    object[name] = value;
  }
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}
