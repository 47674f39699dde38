import type { ElementCounter } from './element.counter';
import { longDigits } from './exact-json';
import { OtlpDecodeError } from './otlp.types';
import type { AttributeOwner, OtlpAttributes, OtlpValue } from './otlp.types';
import { MALFORMED_ID, MAX_VALUE_DEPTH, setMember, storableDouble, storableText } from './stored-value';

/** A parsed JSON object whose members are not yet checked. */
export type JsonObject = Readonly<Record<string, unknown>>;

const UINT32_MAX = 0xffff_ffff;
const INT32_MIN = -0x8000_0000;
const INT32_MAX = 0x7fff_ffff;

/** The bounds of an integer type. */
export type IntegerRange = readonly [least: bigint, greatest: bigint];

export const UINT64: IntegerRange = [0n, 0xffff_ffff_ffff_ffffn];
export const INT64: IntegerRange = [-0x8000_0000_0000_0000n, 0x7fff_ffff_ffff_ffffn];

const INTEGER = /^-?\d{1,20}$/;
/** Slightly more than the longest decimal form of a double. On much longer texts, V8's matching overflows its stack. */
const DECIMAL_LENGTH_MAX = 2_000;
const DECIMAL = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;
const DOUBLE_NAMES = new Set(['NaN', 'Infinity', '-Infinity']);

const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;
const HEXADECIMAL = /^[0-9a-fA-F]*$/;

/** JSON escapes of a NUL character or a lone surrogate. Raw bytes cannot contain either. */
const UNSTORABLE_ESCAPES = ['\\u0000', '\\ud', '\\uD'];

/**
 * Reads fields by the JSON mapping of protobuf as restricted by OTLP (OTLP specification, "JSON Protobuf Encoding"). It is more
 * lenient: 64-bit integers may be strings or numbers, enumerations may be names, and a field may have its original name
 * (`start_time_unix_nano`). null means the default, and unknown members are ignored.
 *
 * For a malformed value, returns the default and records a fault that names the field, see {@link takeFault}.
 */
export class JsonValueReader {
  private readonly clean: (text: string) => string;
  private fault: string | undefined;

  /** @param bytes the document, to check whether its strings need cleaning */
  constructor(
    bytes: Buffer,
    readonly counter: ElementCounter,
  ) {
    const suspect = UNSTORABLE_ESCAPES.some((escape) => bytes.includes(escape));
    this.clean = suspect ? storableText : (text) => text;
  }

  /** Returns and clears the first fault. */
  takeFault(): string | undefined {
    const fault = this.fault;
    this.fault = undefined;
    return fault;
  }

  object(value: unknown, field: string): JsonObject {
    if (value === null || value === undefined) return {};
    return this.element(value, field);
  }

  /** Reads a member of a list, where null is not a default. */
  element(value: unknown, field: string): JsonObject {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (!isObject || longDigits(value) !== undefined) return this.fail(`${field} must be an object`, {});
    return value as JsonObject;
  }

  list(value: unknown, field: string): readonly unknown[] {
    if (value === null || value === undefined) return [];
    if (!Array.isArray(value)) return this.fail(`${field} must be a list`, []);
    return value;
  }

  text(value: unknown, field: string): string {
    if (value === null || value === undefined) return '';
    if (typeof value !== 'string') return this.fail(`${field} must be a string`, '');
    return this.clean(value);
  }

  /** Reads an id of `length` bytes as lower-case hexadecimal digits. Returns '' if empty, {@link MALFORMED_ID} if malformed. */
  id(value: unknown, length: number, field: string): string {
    const text = this.text(value, field);
    if (text === '') return text;
    return text.length === 2 * length && HEXADECIMAL.test(text) ? text.toLowerCase() : MALFORMED_ID;
  }

  uint32(value: unknown, field: string): number {
    return this.integer32(value, 0, UINT32_MAX, field);
  }

  int32(value: unknown, field: string): number {
    return this.integer32(value, INT32_MIN, INT32_MAX, field);
  }

  private integer32(value: unknown, least: number, greatest: number, field: string): number {
    if (value === null || value === undefined) return 0;
    const integer = smallInteger(value, least, greatest);
    return integer ?? this.fail(`${field} must be an integer from ${least} to ${greatest}`, 0);
  }

  uint64(value: unknown, field: string): bigint {
    if (value === null || value === undefined) return 0n;
    const integer = largeInteger(value, UINT64);
    return integer ?? this.fail(`${field} must be an unsigned 64-bit integer, as a string or a number`, 0n);
  }

  /** Reads a 64-bit integer: a number if exact, else its decimal text. */
  integer(value: unknown, range: IntegerRange, field: string): number | string {
    if (value === null || value === undefined) return 0;
    const what = range === UINT64 ? 'an unsigned' : 'a';
    const integer = storableInteger(value, range);
    return integer ?? this.fail(`${field} must be ${what} 64-bit integer, as a string or a number`, 0);
  }

  /** Reads a double: a number if it is finite, else its name. */
  double(value: unknown, field: string): number | string {
    if (value === null || value === undefined) return 0;
    return doubleOf(value) ?? this.fail(`${field} must be a number, "NaN", "Infinity" or "-Infinity"`, 0);
  }

  boolean(value: unknown, field: string): boolean {
    if (value === null || value === undefined) return false;
    return typeof value === 'boolean' ? value : this.fail(`${field} must be true or false`, false);
  }

  /**
   * Reads an enumeration by number or by name. The standard name is `prefix` plus one of `names` in upper case. The prefix is
   * optional, and the case is ignored. Returns the first of `names` for unknown values.
   */
  enumeration<Name extends string>(
    value: unknown,
    names: readonly [Name, ...Name[]],
    prefix: string,
    field: string,
  ): Name {
    if (value === null || value === undefined) return names[0];
    if (typeof value === 'number' || longDigits(value) !== undefined) {
      return names[value as number] ?? names[0];
    }
    if (typeof value !== 'string') return this.fail(`${field} must be a number or a name`, names[0]);
    if (/^\d+$/.test(value)) return names[Number(value)] ?? names[0];
    const upper = value.toUpperCase();
    const name = upper.startsWith(prefix) ? upper.slice(prefix.length) : upper;
    return names.find((one) => name === one.toUpperCase()) ?? names[0];
  }

  /** Reads the attributes of an object, and the number of attributes that the SDK or the limits dropped. */
  attributesOf(source: JsonObject): Required<AttributeOwner> {
    const { counter } = this;
    const droppedBefore = counter.droppedValues;
    const attributes = this.attributes(source.attributes);
    const reported = source.droppedAttributesCount ?? source.dropped_attributes_count;
    const droppedAttributesCount =
      this.uint32(reported, 'droppedAttributesCount') + counter.droppedValues - droppedBefore;
    return { attributes, droppedAttributesCount };
  }

  /** Reads a list of KeyValue into one object, up to the limit. */
  attributes(value: unknown): OtlpAttributes {
    const attributes: OtlpAttributes = {};
    for (const [index, entry] of this.list(value, 'attributes').entries()) {
      if (this.counter.keepsValue(index)) this.keyValue(attributes, entry, 0);
    }
    return attributes;
  }

  /** Reads one KeyValue. `depth` counts the lists around it. */
  private keyValue(target: OtlpAttributes, entry: unknown, depth: number): void {
    const keyValue = this.element(entry, 'an attribute');
    setMember(target, this.text(keyValue.key, 'key'), this.value(keyValue.value, depth));
  }

  /** Reads an AnyValue. If it has several members, the first in the following order counts. */
  value(value: unknown, depth = 0): OtlpValue {
    const any = this.object(value, 'value');
    const text = any.stringValue ?? any.string_value;
    if (text !== undefined && text !== null) return this.text(text, 'stringValue');
    const integer = any.intValue ?? any.int_value;
    if (integer !== undefined && integer !== null) return this.integer(integer, INT64, 'intValue');
    const truth = any.boolValue ?? any.bool_value;
    if (truth !== undefined && truth !== null) return this.boolean(truth, 'boolValue');
    const number = any.doubleValue ?? any.double_value;
    if (number !== undefined && number !== null) return this.double(number, 'doubleValue');
    const array = any.arrayValue ?? any.array_value;
    if (array !== undefined && array !== null) {
      this.checkDepth(depth + 1);
      const { values } = this.object(array, 'arrayValue');
      const items: OtlpValue[] = [];
      for (const item of this.list(values, 'values')) {
        if (this.counter.keepsValue()) items.push(this.value(item, depth + 1));
      }
      return items;
    }
    const members = any.kvlistValue ?? any.kvlist_value;
    if (members !== undefined && members !== null) {
      this.checkDepth(depth + 1);
      const target: OtlpAttributes = {};
      for (const entry of this.list(this.object(members, 'kvlistValue').values, 'attributes')) {
        if (this.counter.keepsValue()) this.keyValue(target, entry, depth + 1);
      }
      return target;
    }
    const bytes = any.bytesValue ?? any.bytes_value;
    return bytes === undefined || bytes === null ? null : this.base64(bytes);
  }

  private checkDepth(depth: number): void {
    if (depth > MAX_VALUE_DEPTH) {
      throw new OtlpDecodeError(`A value is nested deeper than ${MAX_VALUE_DEPTH} levels.`);
    }
  }

  /** Reads base64 in both alphabets of RFC 4648, padded or not. Returns the standard alphabet with padding. */
  private base64(value: unknown): string {
    if (typeof value !== 'string' || !BASE64.test(value)) return this.fail('bytesValue must be base64', '');
    return Buffer.from(value, 'base64').toString('base64');
  }

  /** Records a fault, and returns the fallback. Faults never quote the body. */
  private fail<T>(fault: string, fallback: T): T {
    this.fault ??= fault;
    return fallback;
  }
}

/** Returns the digits of a 64-bit integer, from a string or from the object that replaces a long number. */
function digitsOf(value: unknown): string | undefined {
  const text = longDigits(value) ?? value;
  return typeof text === 'string' && INTEGER.test(text) ? text : undefined;
}

/** Returns an integer that a double represents exactly, from a string or a number; undefined for other values. */
function smallInteger(value: unknown, least: number, greatest: number): number | undefined {
  const number = typeof value === 'number' ? value : Number(digitsOf(value) ?? NaN);
  return Number.isInteger(number) && number >= least && number <= greatest ? number + 0 : undefined;
}

/**
 * Returns a 64-bit integer from a string or a number; undefined for other values. A number with a fraction or an exponent has
 * the precision of a double.
 */
function largeInteger(value: unknown, [least, greatest]: IntegerRange): bigint | undefined {
  const exact = typeof value === 'number' && Number.isInteger(value) ? value : digitsOf(value);
  if (exact === undefined) return undefined;
  const integer = BigInt(exact);
  return integer >= least && integer <= greatest ? integer : undefined;
}

/** Like `largeInteger`: a number if exact, else its decimal text. */
function storableInteger(value: unknown, range: IntegerRange): number | string | undefined {
  // Most integers are exact as numbers, which are much faster than bigints.
  const least = range === UINT64 ? 0 : Number.MIN_SAFE_INTEGER;
  return smallInteger(value, least, Number.MAX_SAFE_INTEGER) ?? largeInteger(value, range)?.toString();
}

/** Returns a double from a number, its text, or the name of NaN or an infinity. */
function doubleOf(value: unknown): number | string | undefined {
  if (typeof value === 'number') return storableDouble(value);
  const text = longDigits(value) ?? value;
  if (typeof text !== 'string' || text.length > DECIMAL_LENGTH_MAX) return undefined;
  return DECIMAL.test(text) || DOUBLE_NAMES.has(text) ? storableDouble(Number(text)) : undefined;
}
