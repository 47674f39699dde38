import { Reader } from 'protobufjs/minimal';
import type { ElementCounter } from './element.counter';
import { KeyCache } from './key.cache';
import { MALFORMED_ID } from './stored-value';
import { OtlpDecodeError } from './otlp.types';
import type { AttributeOwner, OtlpAttributes, OtlpValue } from './otlp.types';
import { MAX_VALUE_DEPTH, setMember, storableDouble, storableInteger, withoutNul } from './stored-value';

/**
 * ASCII strings up to this length are built byte by byte, which is faster than a call into the runtime. V8 builds flat strings
 * from concatenations below 13 characters, and trees from longer concatenations.
 */
const SHORT_TEXT = 12;

/** Reads one field into its message. */
type FieldReader<Message> = (message: Message, values: ProtobufValueReader) => unknown;

/** The fields of a message. Their tags are the encoded ones: the field number times 8, plus the wire type. */
export interface MessageFields<Message> {
  /** The readers by tag. */
  readers: readonly (FieldReader<Message> | undefined)[];
  /** The tag of the attributes, which the limits apply to. */
  attributes: number | undefined;
}

/** Describes a message. @param attributes the tag of its attributes, if it has any */
export function fieldsOf<Message extends object>(
  readers: Readonly<Record<number, FieldReader<Message>>>,
  attributes?: Message extends AttributeOwner ? number : never,
): MessageFields<Message> {
  const tags = Object.keys(readers).map(Number);
  // an array without holes is faster to read than an object
  return { readers: Array.from({ length: Math.max(...tags) + 1 }, (_, tag) => readers[tag]), attributes };
}

const KEY_VALUE_KEY = 10; // field 1, bytes
const KEY_VALUE_VALUE = 18; // field 2, bytes
const LIST_VALUES = 10; // field 1 of ArrayValue and KeyValueList, bytes

/**
 * Reads the messages of common.proto directly into plain JSON, with the reader of protobufjs.
 *
 * `reader.len` is the end of the current message. {@link enter} narrows it to the submessage, so that no field can extend
 * beyond its message. Unknown fields, and known fields with another wire type, are skipped. As protobuf requires, the last
 * value of a singular field wins, and repeated submessages of a singular field are merged.
 */
export class ProtobufValueReader {
  readonly reader: Reader;
  private readonly keys: KeyCache;

  constructor(
    private readonly bytes: Buffer,
    readonly counter: ElementCounter,
  ) {
    this.reader = Reader.create(bytes);
    this.keys = new KeyCache(bytes, (start, end) => withoutNul(bytes.toString('utf8', start, end)));
  }

  /** Enters a submessage. Returns the end of the outer message, for {@link leave}. */
  enter(): number {
    const reader = this.reader;
    const outerEnd = reader.len;
    const length = reader.size();
    if (length > outerEnd - reader.pos) throw new RangeError('a message extends beyond the outer one');
    reader.len = reader.pos + length;
    return outerEnd;
  }

  /** Leaves a submessage that has been read to its end. */
  leave(outerEnd: number): void {
    this.reader.len = outerEnd;
  }

  /** Reads a submessage into an object that has the defaults of protobuf. Skips unknown fields. */
  message<Message extends object>(
    message: Message,
    { readers, attributes }: MessageFields<Message>,
  ): Message {
    const { reader } = this;
    const outerEnd = this.enter();
    let attributeCount = 0;
    while (reader.pos < reader.len) {
      const tag = reader.tag();
      const read = readers[tag];
      if (read) read(message, this);
      else if (tag === attributes) this.attribute(message as AttributeOwner, attributeCount++);
      else this.skip(tag);
    }
    this.leave(outerEnd);
    return message;
  }

  /** Skips a field. */
  skip(tag: number): void {
    this.counter.countElement();
    this.reader.skipType(tag & 7, 0, tag >>> 3);
  }

  /** Reads a string. NUL characters and bytes that are not UTF-8 become U+FFFD. */
  text(): string {
    const reader = this.reader;
    const start = reader.pos;
    const length = reader.size();
    if (length <= SHORT_TEXT && length <= reader.len - reader.pos) {
      const text = this.shortAscii(reader.pos, reader.pos + length);
      if (text !== undefined) {
        reader.pos += length;
        return text;
      }
    }
    reader.pos = start;
    return withoutNul(reader.string());
  }

  /** Reads an id as lower-case hexadecimal digits. Returns '' if empty, {@link MALFORMED_ID} for any other wrong length. */
  id(length: number): string {
    const start = this.skipBytes();
    const end = this.reader.pos;
    return end === start || end - start === length ? this.bytes.toString('hex', start, end) : MALFORMED_ID;
  }

  fixed64(): bigint {
    return this.bytes.readBigUInt64LE(this.fixed64Start());
  }

  private fixed64Start(): number {
    const reader = this.reader;
    const start = reader.pos;
    if (reader.len - start < 8) throw new RangeError('a 64-bit field is truncated');
    reader.pos = start + 8;
    return start;
  }

  /** Reads a double: a number if finite, else its name. */
  double(): number | string {
    return storableDouble(this.reader.double());
  }

  /** Reads a signed 64-bit varint: a number if exact, else its decimal text. */
  int64(): number | string {
    const { high, low } = this.reader.int64();
    return storableInteger(high, low);
  }

  /** Like `int64`, for an unsigned 64-bit varint. */
  uint64(): number | string {
    const { high, low } = this.reader.uint64();
    return storableInteger(high >>> 0, low);
  }

  /** Like `int64`, for an sfixed64. */
  sfixed64Integer(): number | string {
    const start = this.fixed64Start();
    return storableInteger(this.bytes.readInt32LE(start + 4), this.bytes.readInt32LE(start));
  }

  /** Like `int64`, for a fixed64. */
  fixed64Integer(): number | string {
    const start = this.fixed64Start();
    return storableInteger(this.bytes.readUInt32LE(start + 4), this.bytes.readInt32LE(start));
  }

  /** Reads the numbers of a packed repeated field. */
  readPacked<Message>(message: Message, read: FieldReader<Message>): void {
    const outerEnd = this.enter();
    while (this.reader.pos < this.reader.len) {
      read(message, this);
    }
    this.leave(outerEnd);
  }

  /**
   * Reads one KeyValue into the attributes of its owner, or drops it beyond the limit.
   *
   * @param index number of attributes that the owner had before, including dropped ones
   */
  attribute(owner: AttributeOwner, index: number): void {
    const { counter } = this;
    const droppedBefore = counter.droppedValues;
    if (counter.keepsValue(index)) this.keyValue(owner.attributes, 0);
    else this.skipBytes();
    const dropped = counter.droppedValues - droppedBefore;
    if (dropped > 0 && owner.droppedAttributesCount !== undefined) owner.droppedAttributesCount += dropped;
  }

  /** Reads one KeyValue. `depth` counts the lists around it. */
  private keyValue(target: OtlpAttributes, depth: number): void {
    const reader = this.reader;
    const outerEnd = this.enter();
    let key = '';
    let value: OtlpValue = null;
    while (reader.pos < reader.len) {
      const tag = reader.tag();
      if (tag === KEY_VALUE_KEY) {
        const start = this.skipBytes();
        key = this.keys.get(start, reader.pos);
      } else if (tag === KEY_VALUE_VALUE) {
        value = this.value(value, depth);
      } else {
        this.skip(tag);
      }
    }
    this.leave(outerEnd);
    setMember(target, key, value);
  }

  /** Reads an AnyValue. `before` is the value of an earlier part of the same field, which lists are merged with. */
  value(before: OtlpValue = null, depth = 0): OtlpValue {
    const reader = this.reader;
    const outerEnd = this.enter();
    let value = before;
    while (reader.pos < reader.len) {
      const tag = reader.tag();
      switch (tag) {
        case 10: // string_value = 1
          value = this.text();
          break;
        case 16: // bool_value = 2
          value = reader.bool();
          break;
        case 24: // int_value = 3
          value = this.int64();
          break;
        case 33: // double_value = 4
          value = this.double();
          break;
        case 42: // array_value = 5
          value = this.array(value, depth + 1);
          break;
        case 50: // kvlist_value = 6
          value = this.keyValueList(value, depth + 1);
          break;
        case 58: // bytes_value = 7
          value = this.base64();
          break;
        default:
          this.skip(tag);
      }
    }
    this.leave(outerEnd);
    return value;
  }

  private array(before: OtlpValue, depth: number): OtlpValue[] {
    this.checkDepth(depth);
    const reader = this.reader;
    const outerEnd = this.enter();
    const values = Array.isArray(before) ? before : [];
    while (reader.pos < reader.len) {
      const tag = reader.tag();
      if (tag === LIST_VALUES) {
        if (this.counter.keepsValue()) values.push(this.value(null, depth));
        else this.skipBytes();
      } else {
        this.skip(tag);
      }
    }
    this.leave(outerEnd);
    return values;
  }

  private keyValueList(before: OtlpValue, depth: number): OtlpAttributes {
    this.checkDepth(depth);
    const reader = this.reader;
    const outerEnd = this.enter();
    const members = before !== null && typeof before === 'object' && !Array.isArray(before) ? before : {};
    while (reader.pos < reader.len) {
      const tag = reader.tag();
      if (tag === LIST_VALUES) {
        if (this.counter.keepsValue()) this.keyValue(members, depth);
        else this.skipBytes();
      } else {
        this.skip(tag);
      }
    }
    this.leave(outerEnd);
    return members;
  }

  private checkDepth(depth: number): void {
    if (depth > MAX_VALUE_DEPTH) {
      throw new OtlpDecodeError(`A value is nested deeper than ${MAX_VALUE_DEPTH} levels.`);
    }
  }

  private base64(): string {
    const start = this.skipBytes();
    return this.bytes.toString('base64', start, this.reader.pos);
  }

  /** Skips a bytes field. Returns the start of its content, which ends at the new position of the reader. */
  private skipBytes(): number {
    const reader = this.reader;
    const length = reader.size();
    const start = reader.pos;
    if (length > reader.len - start) throw new RangeError('a bytes field is truncated');
    reader.pos = start + length;
    return start;
  }

  private shortAscii(start: number, end: number): string | undefined {
    let text = '';
    for (let position = start; position < end; position += 1) {
      const byte = this.bytes[position] as number;
      if (byte === 0 || byte > 0x7f) return undefined;
      text += String.fromCharCode(byte);
    }
    return text;
  }
}
