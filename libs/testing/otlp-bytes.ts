/** Hand-made protobuf messages, for bodies that no exporter sends. */
import { Writer } from 'protobufjs/minimal';

export const TRACE_ID = Buffer.from('0af7651916cd43dd8448eb211c80319c', 'hex');
export const SPAN_ID = Buffer.from('b7ad6b7169203331', 'hex');

/** A field of wire type 2. */
export function bytes(field: number, content: Uint8Array | string): Buffer {
  const writer = Writer.create().uint32(field * 8 + 2);
  return Buffer.from(writer.bytes(Buffer.from(content)).finish());
}

/** A field of wire type 0; negative numbers take ten bytes, as protobuf writes int64. */
export function varint(field: number, value: number | bigint): Buffer {
  const digits: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  do {
    digits.push(Number(rest & 0x7fn) | (rest > 0x7fn ? 0x80 : 0));
    rest >>= 7n;
  } while (rest > 0n);
  const tag = Writer.create().uint32(field * 8);
  return Buffer.concat([tag.finish(), Buffer.from(digits)]);
}

/** A field of wire type 1, with a field number below 16. */
export function fixed64(field: number, value: bigint): Buffer {
  const content = Buffer.alloc(9);
  content[0] = field * 8 + 1;
  content.writeBigUInt64LE(value, 1);
  return content;
}

/** A field of wire type 1, with a field number below 16. */
export function double(field: number, value: number): Buffer {
  const content = Buffer.alloc(9);
  content[0] = field * 8 + 1;
  content.writeDoubleLE(value, 1);
  return content;
}

/** A submessage. */
export function message(field: number, ...fields: Buffer[]): Buffer {
  return bytes(field, Buffer.concat(fields));
}

/** The fields of a KeyValue. */
export function keyValue(key: string, ...anyValue: Buffer[]): Buffer[] {
  return [bytes(1, key), message(2, ...anyValue)];
}

/** An attribute of a span. */
export function attribute(key: string, ...anyValue: Buffer[]): Buffer {
  return message(9, ...keyValue(key, ...anyValue));
}

/** The trace id and the span id of a span or link. */
export const IDS = [bytes(1, TRACE_ID), bytes(2, SPAN_ID)];

/** A span of a ScopeSpans. */
export function span(...fields: Buffer[]): Buffer {
  return message(2, ...fields);
}

/** An ExportTraceServiceRequest with one resource and one scope, both unknown. */
export function request(...spans: Buffer[]): Buffer {
  return message(1, message(2, ...spans));
}

/** Nests an AnyValue in this many lists (or maps with the key "k"), in time proportional to their number. */
export function nested(levels: number, kind: 'list' | 'map', innermost: Buffer): Buffer {
  const parts = [innermost];
  let length = innermost.length;
  const prepend = (part: Buffer) => {
    parts.push(part);
    length += part.length;
  };
  const wrap = (field: number) => {
    const writer = Writer.create().uint32(field * 8 + 2);
    prepend(Buffer.from(writer.uint32(length).finish()));
  };
  for (let level = 0; level < levels; level += 1) {
    if (kind === 'map') {
      wrap(2); // value of the KeyValue
      prepend(bytes(1, 'k'));
    }
    wrap(1); // values of the list
    wrap(kind === 'list' ? 5 : 6); // array_value, kvlist_value
  }
  return Buffer.concat(parts.reverse());
}
