/** Bodies of up to 16 MiB that are cheap to create and were expensive to read. */
import { bytes, message } from '../../../libs/testing/otlp-bytes';
import { type ExportOptions, JSON_MEDIA } from './otlp.harness';

export interface HostileBody {
  body: Buffer;
  options?: ExportOptions;
}

const MIB = 1024 * 1024;
const LIMIT = 16 * MIB;
const IDS = Buffer.concat([bytes(1, Buffer.alloc(16, 1)), bytes(2, Buffer.alloc(8, 2))]);

/** Repeats a field as often as fits into a body. */
const filled = (field: Buffer, size = LIMIT - 1_024): Buffer =>
  Buffer.alloc(Math.floor(size / field.length) * field.length, field);
const spanWith = (fields: Buffer): Buffer => message(1, message(2, message(2, IDS, fields)));
const attributesOf = (field: number, count: number): Buffer =>
  Buffer.concat(
    Array.from({ length: count }, (_, index) => message(field, bytes(1, `k${index.toString(36)}`))),
  );
const nested = (values: Buffer): Buffer =>
  spanWith(message(9, bytes(1, 'a'), message(2, message(5, values))));
const json = (text: string): HostileBody => ({ body: Buffer.from(text), options: { media: JSON_MEDIA } });
const inSpans = (spans: string): HostileBody =>
  json(`{"resourceSpans":[{"scopeSpans":[{"spans":[${spans}]}]}]}`);

/** The bodies by their content. Created one at a time, because together they take a gigabyte. */
export const HOSTILE_BODIES: Record<string, () => HostileBody> = {
  '900,000 attributes in one span': () => ({ body: spanWith(attributesOf(9, 900_000)) }),
  'eight million empty attributes': () => ({ body: spanWith(filled(message(9))) }),
  '1,024 events with 800 attributes each': () => ({
    body: spanWith(filled(message(11, attributesOf(3, 800)), 1_024 * 8_000)),
  }),
  'a million empty spans': () => ({ body: message(1, message(2, Buffer.alloc(2_000_000, message(2)))) }),
  '100,000 spans without attributes': () => ({
    body: message(
      1,
      message(
        2,
        Buffer.concat(
          Array.from({ length: 99_000 }, (_, index) => {
            const id = Buffer.alloc(8, 3);
            id.writeUInt32BE(index);
            return message(2, bytes(1, Buffer.alloc(16, 4)), bytes(2, id));
          }),
        ),
      ),
    ),
  }),
  'millions of unknown fields': () => ({ body: filled(Buffer.from([0x78, 0])) }),
  'millions of unknown groups in a span': () => ({
    body: spanWith(filled(Buffer.from([0xa3, 0x06, 0xa4, 0x06]))),
  }),
  'a list of millions of values': () => ({ body: nested(filled(bytes(1, ''), 8 * MIB)) }),
  'a list of millions of lists': () => ({ body: nested(filled(message(1, message(5)))) }),
  'an input that is a list of millions of objects': () => ({
    body: spanWith(
      message(9, bytes(1, 'input.value'), message(2, bytes(1, `[${'{},'.repeat(5_000_000)}{}]`))),
    ),
  }),
  'a list of objects in JSON': () => json(`[${'{},'.repeat(5_000_000)}{}]`),
  'a list of objects in JSON that is cut off': () => json(`[${'{},'.repeat(5_000_000)}`),
  'repeated numeric members in JSON': () => json(`{${'"1":0,"0":0,'.repeat(1_300_000)}"2":0}`),
  'distinct members in JSON': () =>
    json(`{${Array.from({ length: 600_000 }, (_, index) => `"x${index}":0`).join(',')}}`),
  'deeply nested JSON': () => json('['.repeat(8_000_000) + ']'.repeat(8_000_000)),
  'five million spans in JSON': () => inSpans(`${'{},'.repeat(5_000_000)}{}`),
  'long integers in JSON': () => json(`[${'1234567890123456789,'.repeat(800_000)}1]`),
  '300,000 attributes in one span in JSON': () => {
    const attributes = Array.from(
      { length: 300_000 },
      (_, index) => `{"key":"k${index}","value":{"intValue":1}}`,
    );
    return inSpans(
      `{"traceId":"${'05'.repeat(16)}","spanId":"${'06'.repeat(8)}","attributes":[${attributes.join()}]}`,
    );
  },
};
