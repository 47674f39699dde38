/**
 * Key of the recorded order of members. JavaScript objects list array indexes ("0" to "4294967294") before all other names,
 * in ascending order, but clients expect the order of their JSON text. The few objects whose order JavaScript would change
 * store it under this key, which enumeration, serialization and comparison ignore. (A WeakMap with hundreds of thousands of
 * entries, which a single body can cause, would keep the garbage collector busy for seconds.)
 */
const MEMBER_ORDER = Symbol('order of the members as JSON');
let anyRecorded = false;

interface Ordered {
  readonly [MEMBER_ORDER]?: readonly string[];
}

/** Tells whether the member order of any object was recorded since the process started. */
export function isAnyOrderRecorded(): boolean {
  return anyRecorded;
}

/** Tells whether the member order of this object was recorded, because JavaScript would change it. */
export function hasRecordedOrder(object: object): boolean {
  return (object as Ordered)[MEMBER_ORDER] !== undefined;
}

/**
 * Returns the names of an object's own enumerable members in the order of its JSON text. Omits members that were removed
 * since, and appends members that were added.
 */
export function memberNames(object: object): readonly string[] {
  const names = (object as Ordered)[MEMBER_ORDER];
  const present = Object.keys(object);
  if (names === undefined) return present;
  if (names.length === present.length && names.every((name) => Object.hasOwn(object, name))) return names;
  return [...new Set([...names.filter((name) => Object.hasOwn(object, name)), ...present])];
}

/**
 * Creates an object with members in the given order, and records that order if JavaScript would change it. If several
 * members have the same name, the last value counts, at the place of the first, as with `JSON.parse`. `__proto__` becomes
 * an ordinary own member.
 */
export function objectOf(names: readonly string[], values: readonly unknown[]): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (let place = 0; place < names.length; place++) setMember(object, names[place]!, values[place]);
  if (names.some(mayBeIndex)) recordOrder(object, names);
  return object;
}

/** Records the order in which members were set, if JavaScript would change it. */
export function recordOrder(object: object, names: readonly string[]): void {
  if (Object.keys(object).every((name, place) => name === names[place])) return;
  Object.defineProperty(object, MEMBER_ORDER, { value: names });
  anyRecorded = true;
}

/** Sets a member. An assignment to `__proto__` would replace the prototype. */
export function setMember(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__') {
    Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true });
  } else {
    object[name] = value;
  }
}

/** Tells whether JavaScript may list a member before others. */
export function mayBeIndex(name: string): boolean {
  const code = name.charCodeAt(0);
  return code >= 0x30 && code <= 0x39;
}
