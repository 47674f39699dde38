/** Something that a task or a scorer did wrong. The message alone explains it. */
export class Fault extends Error {
  override name = 'Fault';
}

/** Returns the JSON of a value; `undefined` becomes null. Throws a `Fault` for anything that JSON would change or drop. */
export function toJson(value: unknown): string {
  try {
    return JSON.stringify(value, checkMember) ?? 'null';
  } catch (error) {
    if (error instanceof Fault) throw error;
    if (error instanceof RangeError) throw new Fault('is too large or nested too deeply for JSON');
    const reason = error instanceof Error ? error.message : String(error);
    throw new Fault(/circular|cyclic/i.test(reason) ? 'is circular' : `cannot be written as JSON: ${reason}`);
  }
}

function checkMember(key: string, value: unknown): unknown {
  const fault = faultOf(value);
  if (fault === null) return value;
  throw new Fault(
    key === '' ? `is ${fault}` : `has ${fault} in its member ${JSON.stringify(key.slice(0, 64))}`,
  );
}

/** Returns what a value is if JSON has no form for it, else null. */
function faultOf(value: unknown): string | null {
  switch (typeof value) {
    case 'function':
      return 'a function';
    case 'symbol':
      return 'a symbol';
    case 'bigint':
      return 'a BigInt';
    case 'number':
      return Number.isFinite(value) ? null : String(value);
    case 'object':
      return value === null ? null : faultOfObject(value);
    default:
      return null;
  }
}

/** Names objects that JSON would write as `{}` although they hold something, such as a Map or a Promise, and binary data. */
function faultOfObject(value: object): string | null {
  const isBinary = ArrayBuffer.isView(value);
  if (!isBinary && (Array.isArray(value) || Object.keys(value).length > 0)) return null;
  const kind = Object.prototype.toString.call(value).slice(8, -1);
  const prototype: unknown = Object.getPrototypeOf(value);
  const isPlain = kind === 'Object' && (prototype === null || Object.getPrototypeOf(prototype) === null);
  if (isPlain || kind === 'String' || kind === 'Number' || kind === 'Boolean') return null;
  const name = (value.constructor as { name?: string } | undefined)?.name || kind;
  return `${/^(?:[AEIO]|U(?!int))/.test(name) ? 'an' : 'a'} ${name}, which JSON cannot hold`;
}

/** Returns a copy of the members of a case that are objects, so that who gets it cannot change the case of others. */
export function copyOf<T extends object>(one: T): T {
  const copies = Object.entries(one).map(([member, value]: [string, unknown]) => [
    member,
    typeof value === 'object' ? structuredClone(value) : value,
  ]);
  return Object.fromEntries(copies) as T;
}

const encoder = new TextEncoder();

/** Returns the size of a text in UTF-8. */
export const bytesOf = (text: string): number => encoder.encode(text).length;

/** Returns the hexadecimal SHA-256 of bytes or of a text in UTF-8. */
export async function sha256(content: string | Uint8Array<ArrayBuffer>): Promise<string> {
  const bytes = typeof content === 'string' ? encoder.encode(content) : content;
  const digest = await globalThis.crypto.subtle.digest('SHA-256', bytes);
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Returns a random number of so many bytes in hexadecimal. */
export function randomHex(bytes: number): string {
  const random = globalThis.crypto.getRandomValues(new Uint8Array(bytes));
  return Array.from(random, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Returns the name and message of anything that was thrown, cut at 4,000 characters. */
export function messageOf(thrown: unknown): string {
  const message = describe(thrown);
  return message.length > 4000 ? `${message.slice(0, 4000)}…` : message;
}

function describe(thrown: unknown): string {
  if (typeof thrown !== 'object' || thrown === null) return String(thrown);
  if (thrown instanceof Fault) return thrown.message;
  try {
    const { name, message, cause } = thrown as { name?: unknown; message?: unknown; cause?: unknown };
    if (typeof message !== 'string') return toJson(thrown);
    const reason = (cause as { message?: unknown } | null | undefined)?.message;
    const text = typeof reason === 'string' && !message.includes(reason) ? `${message} (${reason})` : message;
    return typeof name === 'string' && name !== '' ? `${name}: ${text}` : text;
  } catch {
    return 'a value that has no message';
  }
}
