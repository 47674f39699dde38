import fc from 'fast-check';
import { formatSse, type SseEvent, SseReader, SseTooLarge } from './sse';

/** Reads a stream that arrives in chunks of these sizes, and the rest in one chunk. */
function read(bytes: Buffer, sizes: readonly number[] = [], maxEventBytes?: number): SseEvent[] {
  const reader = new SseReader(maxEventBytes);
  const events: SseEvent[] = [];
  let at = 0;
  for (const size of [...sizes, bytes.length]) {
    events.push(...reader.push(bytes.subarray(at, at + size)));
    at += size;
  }
  return [...events, ...reader.end()];
}

const fields = (events: readonly SseEvent[]) => events.map(({ event, data }) => [event, data]);
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
    const reader = new SseReader();
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
    expect(() => new SseReader(10).push(Buffer.from(': endless comment'))).toThrow(SseTooLarge);
  });

  it('returns the events before one that is too large', () => {
    const reader = new SseReader(20);
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
