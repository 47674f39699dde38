import { OtlpDecodeError } from './otlp.errors';
import type { OtlpAttributes, OtlpValue } from './otlp.types';
import { MALFORMED_ID } from './span.draft';
import { MAX_VALUE_DEPTH, setMember, storableDouble, storableText } from './stored-value';

/** A parsed JSON object whose members are not yet checked. */
export type JsonObject = Readonly<Record<string, unknown>>;

const UINT64_MAX = 0xffff_ffff_ffff_ffffn;
const INT64_MIN = -0x8000_0000_0000_0000n;
const INT64_MAX = 0x7fff_ffff_ffff_ffffn;
const UINT32_MAX = 0xffff_ffff;

const INTEGER = /^-?\d{1,20}$/;
const DECIMAL = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;
const DOUBLE_NAMES = new Set(['NaN', 'Infinity', '-Infinity']);
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
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
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
    if (value === null || value === undefined) {
      return 0;
    }
    const number = typeof value === 'string' && INTEGER.test(value) ? Number(value) : value;
    if (typeof number !== 'number' || !Number.isInteger(number) || number < 0 || number > UINT32_MAX) {
      return this.fail(`${field} must be an integer from 0 to ${UINT32_MAX}`, 0);
    }
    return number;
  }

  /** A number that is not exact as a double has lost its last digits before it gets here. */
  uint64(value: unknown, field: string): bigint {
    if (value === null || value === undefined) {
      return 0n;
    }
    const integer = integerOf(value);
    if (integer === undefined || integer < 0n || integer > UINT64_MAX) {
      return this.fail(`${field} must be an unsigned 64-bit integer, as a string or a number`, 0n);
    }
    return integer;
  }

  /** The value of an enumeration by its number or by its name, `prefix` and one of `names` in upper case. */
  enumeration<Name extends string>(
    value: unknown,
    names: readonly [Name, ...Name[]],
    prefix: string,
    field: string,
  ): Name {
    if (value === null || value === undefined) {
      return names[0];
    }
    if (typeof value === 'number') {
      return names[value] ?? names[0];
    }
    if (typeof value !== 'string') {
      return this.fail(`${field} must be a number or a name`, names[0]);
    }
    return names.find((name) => value === prefix + name.toUpperCase()) ?? names[0];
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
  private value(value: unknown, depth: number): OtlpValue {
    const any = this.object(value, 'value');
    const text = any.stringValue ?? any.string_value;
    if (text !== undefined && text !== null) {
      return this.text(text, 'stringValue');
    }
    const integer = any.intValue ?? any.int_value;
    if (integer !== undefined && integer !== null) {
      return this.int64(integer);
    }
    const truth = any.boolValue ?? any.bool_value;
    if (truth !== undefined && truth !== null) {
      return this.boolean(truth);
    }
    const number = any.doubleValue ?? any.double_value;
    if (number !== undefined && number !== null) {
      return this.double(number);
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
      throw new OtlpDecodeError(`An attribute value is nested deeper than ${MAX_VALUE_DEPTH} levels.`);
    }
  }

  private int64(value: unknown): number | string {
    // Nearly every integer is exact as a number, and that is much quicker than a bigint.
    const number = typeof value === 'string' && INTEGER.test(value) ? Number(value) : value;
    if (typeof number === 'number' && Number.isSafeInteger(number)) {
      return number === 0 ? 0 : number; // not -0, which protobuf could not have sent
    }
    const integer = integerOf(value);
    if (integer === undefined || integer < INT64_MIN || integer > INT64_MAX) {
      return this.fail('intValue must be a 64-bit integer, as a string or a number', 0);
    }
    return integer.toString();
  }

  private boolean(value: unknown): boolean {
    if (typeof value !== 'boolean') {
      return this.fail('boolValue must be true or false', false);
    }
    return value;
  }

  private double(value: unknown): number | string {
    if (typeof value === 'number') {
      return storableDouble(value);
    }
    if (typeof value === 'string' && (DECIMAL.test(value) || DOUBLE_NAMES.has(value))) {
      return storableDouble(Number(value));
    }
    return this.fail('doubleValue must be a number, "NaN", "Infinity" or "-Infinity"', 0);
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

function integerOf(value: unknown): bigint | undefined {
  if (typeof value === 'string') {
    return INTEGER.test(value) ? BigInt(value) : undefined;
  }
  return typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : undefined;
}
