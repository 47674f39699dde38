import { longDigits } from './exact-json';
import {
  doubleOf,
  INT64,
  type IntegerRange,
  largeInteger,
  smallInteger,
  storableInteger,
  UINT64,
} from './json-number';
import { MALFORMED_ID } from './otlp-id';
import { OtlpDecodeError } from './otlp.errors';
import type { OtlpAttributes, OtlpValue } from './otlp.types';
import { MAX_VALUE_DEPTH, setMember, storableText } from './stored-value';

/** A parsed JSON object whose members are not yet checked. */
export type JsonObject = Readonly<Record<string, unknown>>;

const UINT32_MAX = 0xffff_ffff;
const INT32_MIN = -0x8000_0000;
const INT32_MAX = 0x7fff_ffff;

const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;
const HEXADECIMAL = /^[0-9a-fA-F]*$/;

/** Escapes by which JSON can hold a NUL character or a lone surrogate; the bytes themselves cannot. */
const UNSTORABLE_ESCAPES = ['\\u0000', '\\ud', '\\uD'];

/**
 * Reads fields by the JSON mapping of protobuf, as OTLP narrows it (OTLP specification, "JSON Protobuf Encoding"), and
 * somewhat wider: 64-bit integers are strings or numbers, names of enumeration values are known, and both
 * `startTimeUnixNano` and the original `start_time_unix_nano` name a field. null means the default, and what has an
 * unknown name is ignored.
 *
 * A value of another form reads as the default and leaves a fault behind, which names the field: see {@link takeFault}.
 */
export class JsonValueReader {
  private readonly clean: (text: string) => string;
  private fault: string | undefined;

  /** @param bytes the document, to see whether its strings need cleaning at all */
  constructor(bytes: Buffer) {
    const suspect = UNSTORABLE_ESCAPES.some((escape) => bytes.includes(escape));
    this.clean = suspect ? storableText : (text) => text;
  }

  /** The first fault since it was last asked for. */
  takeFault(): string | undefined {
    const fault = this.fault;
    this.fault = undefined;
    return fault;
  }

  object(value: unknown, field: string): JsonObject {
    if (value === null || value === undefined) {
      return {};
    }
    return this.element(value, field);
  }

  /** A member of a list: there, null does not stand for a default. */
  element(value: unknown, field: string): JsonObject {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (!isObject || longDigits(value) !== undefined) {
      return this.fail(`${field} must be an object`, {});
    }
    return value as JsonObject;
  }

  list(value: unknown, field: string): readonly unknown[] {
    if (value === null || value === undefined) {
      return [];
    }
    if (!Array.isArray(value)) {
      return this.fail(`${field} must be a list`, []);
    }
    return value;
  }

  text(value: unknown, field: string): string {
    if (value === null || value === undefined) {
      return '';
    }
    if (typeof value !== 'string') {
      return this.fail(`${field} must be a string`, '');
    }
    return this.clean(value);
  }

  /** An id of `length` bytes as lower-case hexadecimal digits; empty, or {@link MALFORMED_ID}. */
  id(value: unknown, length: number, field: string): string {
    const text = this.text(value, field);
    if (text === '') {
      return text;
    }
    return text.length === 2 * length && HEXADECIMAL.test(text) ? text.toLowerCase() : MALFORMED_ID;
  }

  uint32(value: unknown, field: string): number {
    return this.integer32(value, 0, UINT32_MAX, field);
  }

  int32(value: unknown, field: string): number {
    return this.integer32(value, INT32_MIN, INT32_MAX, field);
  }

  private integer32(value: unknown, least: number, greatest: number, field: string): number {
    if (value === null || value === undefined) {
      return 0;
    }
    const integer = smallInteger(value, least, greatest);
    return integer ?? this.fail(`${field} must be an integer from ${least} to ${greatest}`, 0);
  }

  uint64(value: unknown, field: string): bigint {
    if (value === null || value === undefined) {
      return 0n;
    }
    const integer = largeInteger(value, UINT64);
    return integer ?? this.fail(`${field} must be an unsigned 64-bit integer, as a string or a number`, 0n);
  }

  /** A 64-bit integer as it is stored: a number while that is exact, else its decimal text. */
  integer(value: unknown, range: IntegerRange, field: string): number | string {
    if (value === null || value === undefined) {
      return 0;
    }
    const what = range === UINT64 ? 'an unsigned' : 'a';
    const integer = storableInteger(value, range);
    return integer ?? this.fail(`${field} must be ${what} 64-bit integer, as a string or a number`, 0);
  }

  /** A double as it is stored: a number where it is finite, else its name. */
  double(value: unknown, field: string): number | string {
    if (value === null || value === undefined) {
      return 0;
    }
    return doubleOf(value) ?? this.fail(`${field} must be a number, "NaN", "Infinity" or "-Infinity"`, 0);
  }

  boolean(value: unknown, field: string): boolean {
    if (value === null || value === undefined) {
      return false;
    }
    return typeof value === 'boolean' ? value : this.fail(`${field} must be true or false`, false);
  }

  /**
   * The value of an enumeration by its number, or by its name: `prefix` and one of `names` in upper case, and also without
   * the prefix or in lower case, as people write it. The first of `names` for one that is not known.
   */
  enumeration<Name extends string>(
    value: unknown,
    names: readonly [Name, ...Name[]],
    prefix: string,
    field: string,
  ): Name {
    if (value === null || value === undefined) {
      return names[0];
    }
    if (typeof value === 'number' || longDigits(value) !== undefined) {
      return names[value as number] ?? names[0];
    }
    if (typeof value !== 'string') {
      return this.fail(`${field} must be a number or a name`, names[0]);
    }
    if (/^\d+$/.test(value)) {
      return names[Number(value)] ?? names[0];
    }
    const upper = value.toUpperCase();
    const name = upper.startsWith(prefix) ? upper.slice(prefix.length) : upper;
    return names.find((one) => name === one.toUpperCase()) ?? names[0];
  }

  /** How many attributes the SDK had dropped from what `source` describes. */
  droppedAttributes(source: JsonObject): number {
    const count = source.droppedAttributesCount ?? source.dropped_attributes_count;
    return this.uint32(count, 'droppedAttributesCount');
  }

  /** A list of KeyValue as one object. `depth` counts the lists around it. */
  attributes(value: unknown, depth = 0): OtlpAttributes {
    const attributes: OtlpAttributes = {};
    for (const entry of this.list(value, 'attributes')) {
      const keyValue = this.element(entry, 'an attribute');
      setMember(attributes, this.text(keyValue.key, 'key'), this.value(keyValue.value, depth));
    }
    return attributes;
  }

  /** An AnyValue. Of several members that should exclude one another, the first in the order below. */
  value(value: unknown, depth = 0): OtlpValue {
    const any = this.object(value, 'value');
    const text = any.stringValue ?? any.string_value;
    if (text !== undefined && text !== null) {
      return this.text(text, 'stringValue');
    }
    const integer = any.intValue ?? any.int_value;
    if (integer !== undefined && integer !== null) {
      return this.integer(integer, INT64, 'intValue');
    }
    const truth = any.boolValue ?? any.bool_value;
    if (truth !== undefined && truth !== null) {
      return this.boolean(truth, 'boolValue');
    }
    const number = any.doubleValue ?? any.double_value;
    if (number !== undefined && number !== null) {
      return this.double(number, 'doubleValue');
    }
    const array = any.arrayValue ?? any.array_value;
    if (array !== undefined && array !== null) {
      this.checkDepth(depth + 1);
      const { values } = this.object(array, 'arrayValue');
      return this.list(values, 'values').map((item) => this.value(item, depth + 1));
    }
    const members = any.kvlistValue ?? any.kvlist_value;
    if (members !== undefined && members !== null) {
      this.checkDepth(depth + 1);
      return this.attributes(this.object(members, 'kvlistValue').values, depth + 1);
    }
    const bytes = any.bytesValue ?? any.bytes_value;
    return bytes === undefined || bytes === null ? null : this.base64(bytes);
  }

  private checkDepth(depth: number): void {
    if (depth > MAX_VALUE_DEPTH) {
      throw new OtlpDecodeError(`A value is nested deeper than ${MAX_VALUE_DEPTH} levels.`);
    }
  }

  /** Both alphabets of RFC 4648 are read, padded or not; the answer is the standard one, padded. */
  private base64(value: unknown): string {
    if (typeof value !== 'string' || !BASE64.test(value)) {
      return this.fail('bytesValue must be base64', '');
    }
    return Buffer.from(value, 'base64').toString('base64');
  }

  /** Notes a fault; returns what to read instead. The texts are those of this class: none quotes the body. */
  private fail<T>(fault: string, instead: T): T {
    this.fault ??= fault;
    return instead;
  }
}
