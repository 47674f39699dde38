import { buffer } from 'node:stream/consumers';
import { withoutNullMembers } from './null-members';

/** Filters a body that arrives in chunks of a number of bytes. */
async function filtered(body: string, isEventStream: boolean, chunkSize: number): Promise<string> {
  const bytes = Buffer.from(body);
  const chunks = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (let start = 0; start < bytes.length; start += chunkSize)
        controller.enqueue(bytes.subarray(start, start + chunkSize));
      controller.close();
    },
  });
  return (await buffer(chunks.pipeThrough(withoutNullMembers(isEventStream)))).toString();
}

const MESSAGE =
  '{"id":1,"result":{"é\u2028":"null","_meta":null,"structuredContent":{"x":null}},"error":null}';
const CLEAN = '{"id":1,"result":{"é\u2028":"null","structuredContent":{"x":null}}}';

describe('null members', () => {
  const CASES: [string, boolean, string, string][] = [
    ['a message', false, ` ${MESSAGE}\n`, CLEAN],
    ['a batch', false, `[${MESSAGE},${MESSAGE}]`, `[${CLEAN},${CLEAN}]`],
    ['an error without an id', false, '{"id":null,"error":{"data":null}}', '{"error":{},"id":null}'],
    ['a body that is not JSON', false, '<p>null', '<p>null'],
    ['an empty body', false, '', ''],
    ['an event', true, `event: message\ndata: ${MESSAGE}\n\n`, `event: message\ndata: ${CLEAN}\n\n`],
    ['events with CRLF', true, `:null\r\ndata:${MESSAGE}\r\n\r\n`, `:null\r\ndata:${CLEAN}\r\n\r\n`],
    ['events with CR', true, `data: ${MESSAGE}\rdata: null\r\r`, `data: ${CLEAN}\rdata: null\r\r`],
    ['an event after a byte order mark', true, `\uFEFFdata: ${MESSAGE}\n\n`, `\uFEFFdata: ${CLEAN}\n\n`],
    ['an event without JSON', true, 'data: /null?x=\n\nid: null', 'data: /null?x=\n\nid: null'],
  ];

  it.each(CASES)('are removed from %s, however it is split', async (_, isEventStream, body, expected) => {
    for (const chunkSize of [1, 7, 10_000])
      expect(await filtered(body, isEventStream, chunkSize)).toBe(expected);
  });
});
