import { isUtf8 } from 'node:buffer';
import { Reader } from 'protobufjs/minimal';
import type { OtlpSignal } from './response.encoder';
import { SPAN_ID_BYTES, TRACE_ID_BYTES } from './stored-value';

/** The maximum number of fields of a message to look at. */
const FIELDS_MAX = 32;

/** The maximum number of bytes of a name to look at. */
const NAME_MAX = 256;

/** The tags of a message in a field, the number of bytes of an id, a name that is not binary, or null for any other field. */
type Content = readonly number[] | number | 'name' | null;

/** The fields of a record by tag: the field number times 8, plus the wire type. */
interface RecordShape {
  fields: ReadonlyMap<number, Content>;
  /** The tags without which no record is valid. */
  required: readonly number[];
}

const KEY_VALUE = [10, 18];
const shape = (
  required: readonly number[],
  plain: readonly number[],
  others: Readonly<Record<number, Content>>,
): RecordShape => ({
  fields: new Map([
    ...plain.map((tag) => [tag, null] as const),
    ...Object.entries(others).map(([tag, content]) => [Number(tag), content] as const),
  ]),
  required,
});

/** The records by signal (trace.proto, logs.proto, metrics.proto), in the order in which they are tried. */
const SHAPES: Readonly<Record<OtlpSignal, RecordShape>> = {
  logs: shape([], [9, 16, 26, 56, 69, 74, 82, 89, 98], {
    42: [10, 16, 24, 33, 42, 50, 58],
    50: KEY_VALUE,
  }),
  metrics: shape([10], [18, 26], {
    10: 'name',
    42: [10],
    58: [10, 16, 24],
    74: [10, 16],
    82: [10, 16],
    90: [10],
    98: KEY_VALUE,
  }),
  traces: shape([10, 18], [26, 42, 48, 57, 65, 80, 96, 112, 133], {
    10: TRACE_ID_BYTES,
    18: SPAN_ID_BYTES,
    34: SPAN_ID_BYTES,
    74: KEY_VALUE,
    90: [9, 18, 26, 32],
    106: [10, 18, 26, 34, 40, 53],
    122: [18, 24],
  }),
};
const CANDIDATES = Object.entries(SHAPES) as [OtlpSignal, RecordShape][];

interface Field {
  tag: number;
  /** The content, without the length. */
  start: number;
  end: number;
}

/**
 * Returns the other signal that a request in protobuf is of, or null. The requests of all signals have the same envelope, so
 * this looks at the first record: it must contradict the expected signal, and be a complete record of the other one. A field
 * that the protocol adds later contradicts nothing. Takes a few microseconds.
 */
export function otherSignalOf(bytes: Buffer, expected: OtlpSignal): OtlpSignal | null {
  const record = firstRecord(bytes);
  const fields = record && fieldsIn(bytes, record.start, record.end);
  if (!fields || fields.length === 0) return null;
  if (!contradicts(bytes, fields, SHAPES[expected])) return null;
  const other = CANDIDATES.find(
    ([signal, candidate]) =>
      signal !== expected &&
      candidate.required.every((tag) => fields.some((field) => field.tag === tag)) &&
      fields.every(({ tag }) => candidate.fields.has(tag)) &&
      !contradicts(bytes, fields, candidate),
  );
  return other?.[0] ?? null;
}

/** The tags of resources in a request, scopes in a resource, and records in a scope. */
const TAGS_TO_RECORD = [10, 18, 18];

/** Returns the first record of a request, after resources and scopes without records. */
function firstRecord(bytes: Buffer, start = 0, end = bytes.length, level = 0): Field | null {
  for (const field of fieldsIn(bytes, start, end, false) ?? []) {
    if (field.tag !== TAGS_TO_RECORD[level]) continue;
    if (level === TAGS_TO_RECORD.length - 1) return field;
    const record = firstRecord(bytes, field.start, field.end, level + 1);
    if (record) return record;
  }
  return null;
}

/** Returns the first fields of a message, or null if it is malformed. A truncated request still has its first fields. */
function fieldsIn(bytes: Buffer, start: number, end: number, isWhole = true): Field[] | null {
  const reader = Reader.create(bytes);
  reader.pos = start;
  reader.len = end;
  const fields: Field[] = [];
  try {
    while (reader.pos < end && fields.length < FIELDS_MAX) {
      const tag = reader.uint32();
      const isBytes = (tag & 7) === 2;
      const length = isBytes ? reader.uint32() : 0;
      const from = reader.pos;
      if (isBytes) reader.skip(length);
      else reader.skipType(tag & 7);
      fields.push({ tag, start: from, end: reader.pos });
    }
  } catch {
    return isWhole ? null : fields;
  }
  return fields;
}

/** Returns whether a known field has another wire type, or content that it cannot have. */
const contradicts = (bytes: Buffer, fields: readonly Field[], { fields: known }: RecordShape): boolean =>
  fields.some((field) => {
    const content = known.get(field.tag);
    if (content === undefined) return isOtherType(field.tag, [...known.keys()]);
    if (content === null) return false;
    if (typeof content === 'number') {
      const length = field.end - field.start;
      return length > 0 && (length !== content || isText(bytes, field));
    }
    if (content === 'name') return !isText(bytes, field);
    const inner = fieldsIn(bytes, field.start, field.end);
    return !inner || inner.some(({ tag }) => !content.includes(tag) && isOtherType(tag, content));
  });

/** Returns whether the bytes of a field are text without control characters, which the bytes of an id practically never are. */
const isText = (bytes: Buffer, { start, end }: Field): boolean => {
  if (end - start > NAME_MAX) return true; // too long for an id
  const content = bytes.subarray(start, end);
  return isUtf8(content) && content.every((byte) => byte >= 0x20 && byte !== 0x7f);
};

const isOtherType = (tag: number, known: readonly number[]): boolean =>
  known.some((one) => one >>> 3 === tag >>> 3);
