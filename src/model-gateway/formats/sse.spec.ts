import fc from 'fast-check';
import { formatSse, isPart, type SseEvent, type SsePart, SseReader, SseTooLarge } from './sse';

const MIB = 1024 * 1024;

/** Reads a stream that arrives in chunks of these sizes, and the rest in one chunk. */
function read(bytes: Buffer, sizes: readonly number[] = [], maxEventBytes = 16 * MIB): SseEvent[] {
  return readAll(bytes, sizes, { maxEventBytes }) as SseEvent[];
}

function readAll(
  bytes: Buffer,
  sizes: readonly number[],
  limits: ConstructorParameters<typeof SseReader>[0],
): (SseEvent | SsePart)[] {
  const reader = new SseReader(limits);
  const events: (SseEvent | SsePart)[] = [];
  let at = 0;
  for (const size of [...sizes, bytes.length]) {
    events.push(...reader.push(bytes.subarray(at, at + size)));
    at += size;
  }
  return [...events, ...reader.end()];
}

const fields = (events: readonly (SseEvent | SsePart)[]) =>
  (events as SseEvent[]).map(({ event, data }) => [event, data]);
const readText = (text: string) => fields(read(Buffer.from(text)));
const comparable = (events: readonly SseEvent[]) =>
  events.map(({ event, data, raw }) => [event, data, raw.toString('latin1')]);

describe('SseReader', () => {
  it('reads events with and without a name, with LF, CRLF and CR', () => {
    for (const end of ['\n', '\r\n', '\r']) {
      const lines = ['event: ping', 'data: {}', '', 'data: [DONE]', '', ''];
      expect(readText(lines.join(end))).toEqual([
        ['ping', '{}'],
        [undefined, '[DONE]'],
      ]);
    }
  });

  it('joins data lines, and removes one space after the colon', () => {
    expect(readText('data:a\ndata:  b\ndata\n\n')).toEqual([[undefined, 'a\n b\n']]);
  });

  it('leaves out comments, unknown fields and events without data', () => {
    expect(readText(': keep-alive\n\nevent: empty\n\n\n\nid: 1\nretry: 5\n: x\ndata: y\n\n')).toEqual([
      [undefined, 'y'],
    ]);
  });

  it('ignores a byte order mark only before the first event', () => {
    expect(readText('\uFEFFdata: a\n\n')).toEqual([[undefined, 'a']]);
    expect(readText('data: a\n\n\uFEFFdata: b\n\n')).toEqual([[undefined, 'a']]);
  });

  it('keeps the exact bytes of an event, so that a gateway can pass them on', () => {
    const first = ': hello\r\nevent:x\r\ndata:  é\r\n\r\n';
    const second = 'data: b\n\n';
    expect(read(Buffer.from(first + second)).map(({ raw }) => raw.toString())).toEqual([first, second]);
  });

  it.each(['', '\n', '\r', '\r\n'])('ends a last event that ends with %j', (end) => {
    const [event] = read(Buffer.from(`event: x\r\ndata: a${end}`));
    const next = Buffer.from('data: b\n\n');
    expect(fields(read(Buffer.concat([event!.raw, next])))).toEqual([
      ['x', 'a'],
      [undefined, 'b'],
    ]);
  });

  it('returns a last event without a blank line', () => {
    expect(readText('data: a\n\ndata: [DONE]')).toEqual([
      [undefined, 'a'],
      [undefined, '[DONE]'],
    ]);
  });

  it('returns an event as soon as its blank line has arrived', () => {
    const reader = new SseReader({ maxEventBytes: MIB });
    expect(reader.push(Buffer.from('data: a\n'))).toEqual([]);
    expect(fields(reader.push(Buffer.from('\n')))).toEqual([[undefined, 'a']]);
    expect(fields(reader.push(Buffer.from('data: b\r\n\r\n')))).toEqual([[undefined, 'b']]);
  });

  it('does not depend on how the stream is split into chunks', () => {
    const piece = fc.constantFrom(
      'data: é€😀',
      'data:',
      ': c',
      'event: x',
      'a',
      '\r',
      '\n',
      '\r\n',
      '\n\n',
      '\uFEFF',
    );
    const stream = fc.oneof(
      fc.array(piece, { maxLength: 40 }).map((pieces) => Buffer.from(pieces.join(''))),
      fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
    );
    fc.assert(
      fc.property(stream, fc.array(fc.nat(5), { maxLength: 80 }), (bytes, sizes) => {
        const whole = comparable(read(bytes));
        expect(comparable(read(bytes, sizes))).toEqual(whole);
        expect(comparable(read(bytes, Array<number>(bytes.length).fill(1)))).toEqual(whole);
      }),
      { numRuns: 500 },
    );
  });

  it('reads events that formatSse has written', () => {
    const line = fc.string({ unit: 'binary' }).map((text) => text.replace(/[\r\n]/g, ''));
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.array(line, { minLength: 1 }), line)), (events) => {
        const written = events.map(([lines, name]) => formatSse(lines.join('\n'), name)).join('');
        const wellFormed = (text: string) => Buffer.from(text).toString();
        expect(fields(read(Buffer.from(`: start\n\n${written}`)))).toEqual(
          events.map(([lines, name]) => [wellFormed(name) || undefined, wellFormed(lines.join('\n'))]),
        );
      }),
    );
  });

  it('rejects an event over the limit, however it arrives', () => {
    const event = Buffer.from(`data: ${'x'.repeat(92)}\n\n`);
    expect(event.length).toBe(100);
    for (const sizes of [[], [10, 80], Array<number>(100).fill(1)]) {
      expect(read(event, sizes, 100)).toHaveLength(1);
      expect(() => read(event, sizes, 99)).toThrow(SseTooLarge);
    }
    expect(() => new SseReader({ maxEventBytes: 10 }).push(Buffer.from(': endless comment'))).toThrow(
      SseTooLarge,
    );
  });

  it('returns the events before one that is too large', () => {
    const reader = new SseReader({ maxEventBytes: 20 });
    const chunk = Buffer.from(`data: a\n\ndata: ${'x'.repeat(20)}`);
    expect(fields(reader.push(chunk))).toEqual([[undefined, 'a']]);
    expect(() => reader.push(Buffer.from('y'))).toThrow('An event of the stream has more than 20 bytes.');
    expect(() => reader.end()).toThrow(SseTooLarge);
  });

  it('reads a large event that arrives byte by byte', () => {
    const text = 'x'.repeat(1_000_000);
    const bytes = Buffer.from(`data: ${text}\n\n`);
    const [event] = read(bytes, Array<number>(bytes.length).fill(1));
    expect(event?.data).toBe(text);
  });

  describe('that passes large events on', () => {
    const data = JSON.stringify({
      type: 'response.completed',
      response: {
        id: 'r',
        output: [{ content: [{ text: 'é"\\'.repeat(500) }] }],
        usage: { input_tokens: 3 },
      },
    });
    const outline =
      '{"type":"response.completed","response":{"id":"r","output":[{"content":[]}],"usage":{"input_tokens":3}}}';
    const limits = { maxEventBytes: 100, maxLargeBytes: 100_000 };

    it.each([
      ['one line', `event: response.completed\ndata: ${data}\n\n`],
      ['CRLF', `event: response.completed\r\ndata:${data}\r\n\r\n`],
      ['comments', `: ${'x'.repeat(20)}\ndata: ${data}\nid: 7\n: ${'x'.repeat(200)}\n\n`],
      ['several lines', `event: response.completed\ndata: ${data.replaceAll('{', '\ndata: {')}\n\n`],
      ['no blank line', `data: ${data}`],
    ])('returns all bytes of one with %s, and its outline', (_, text) => {
      const bytes = Buffer.from(`data: 1\n\n${text}`);
      const end = text.endsWith('}') ? '\n\n' : '';
      for (const sizes of [[], [7, 50, 400], Array<number>(bytes.length).fill(1)]) {
        const events = readAll(bytes, sizes, limits);
        expect(Buffer.concat(events.map(({ raw }) => raw)).toString()).toBe(bytes.toString() + end);
        const whole = events.filter((event) => !isPart(event)) as SseEvent[];
        expect(whole.map((event) => event.data)).toEqual(['1', outline]);
        expect(whole[1]!.largeBytes).toBe(Buffer.byteLength(text));
        // the end of the answer can be sent later
        expect(whole[1]!.raw.length).toBeGreaterThan(0);
      }
    });

    it('rejects a large comment, and a larger event', () => {
      const comment = Buffer.from(`: ${'x'.repeat(500)}\n\ndata: a\n\n`);
      const event = Buffer.from(`data: ${'x'.repeat(100_000)}\n\n`);
      for (const sizes of [[], [30, 100], [99, 1]]) {
        expect(() => readAll(comment, sizes, limits)).toThrow('more than 100 bytes');
        expect(() => readAll(event, sizes, limits)).toThrow('more than 100000 bytes');
      }
    });

    it('holds little memory, however large an event is', () => {
      const reader = new SseReader({ maxEventBytes: 64 * 1024, maxLargeBytes: 1024 * MIB });
      const parts = ['data: ', '{"a":1,"b":["', '"x",', '[[[[', '{"a":{', '1', '\ndata:'];
      for (const part of parts) {
        const bytes = Buffer.alloc(64 * 1024, part);
        for (let one = 0; one < 64; one++) reader.push(bytes);
        expect(reader.heldBytes).toBeLessThan(512 * 1024);
      }
    });
  });
});

describe('formatSse', () => {
  it('writes the name and every line of the data', () => {
    expect(formatSse('{}')).toBe('data: {}\n\n');
    expect(formatSse('a\r\nb\rc', 'message_stop')).toBe('event: message_stop\ndata: a\ndata: b\ndata: c\n\n');
  });

  it('does not let a name start another field', () => {
    expect(formatSse('a', 'x\ndata: forged')).toBe('event: x data: forged\ndata: a\n\n');
  });
});
