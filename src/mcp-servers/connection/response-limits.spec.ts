import { ResponseLimits } from './response-limits';

const EVENTS = 'text/event-stream; charset=utf-8';
const JSON_TYPE = 'application/json';

/** Scans one body in chunks of one byte, so that every state spans several chunks. */
const scan = (text: string, type = JSON_TYPE, limits = new ResponseLimits(1_000)): void => {
  const read = limits.scanner(type);
  for (const byte of Buffer.from(text)) read(Uint8Array.of(byte));
};
const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

describe('ResponseLimits', () => {
  it('counts the structural characters of all bodies of an operation', () => {
    const limits = new ResponseLimits(6);
    scan('[{},{}]', JSON_TYPE, limits);
    expect(() => scan('[{}]', JSON_TYPE, limits)).not.toThrow();
    expect(() => scan('[]', JSON_TYPE, limits)).toThrow('The responses of the server are too complex.');
  });

  it('does not count structural characters in strings', () => {
    expect(() =>
      scan(`["\\"${'[{,:'.repeat(200)}\\\\","é"]`, JSON_TYPE, new ResponseLimits(2)),
    ).not.toThrow();
  });

  it('admits 128 levels, even in the second event of a stream', () => {
    const tooDeep = 'The responses of the server are nested too deeply.';
    expect(() => scan(nested(128))).not.toThrow();
    expect(() => scan(nested(129))).toThrow(tooDeep);
    expect(() => scan(`data: ${nested(128)}\n\ndata: ${nested(128)}\n\n`, EVENTS)).not.toThrow();
    expect(() => scan(`data: {}\n\ndata: ${nested(129)}\n\n`, EVENTS)).toThrow(tooDeep);
  });

  it.each([
    ['comments with closing brackets', `data: [\n:]\n`],
    ['unknown fields with closing brackets', `data: [\r\nd]: ]\r\n`],
    ['a quotation mark in a comment', `:"\ndata:[\n`],
    ['a byte order mark before each line', `\u{feff}data: [\n`],
  ])('counts nesting that is disguised by %s', (_, line) => {
    expect(() => scan(line.repeat(129), EVENTS)).toThrow('nested too deeply');
  });

  it.each(['a\n', 'a\r', 'a\r\n'])('admits 5,000 lines of an event stream: %j', (line) => {
    expect(() => scan(line.repeat(5_000), EVENTS)).not.toThrow();
    expect(() => scan(line.repeat(5_001), EVENTS)).toThrow('have too many lines or messages');
  });

  it('admits 5,000 messages of a batch, and any list within one', () => {
    const batch = (count: number): string => `[${Array(count).fill('0').join()}]`;
    const limits = () => new ResponseLimits(1_000_000);
    expect(() => scan(batch(5_001), JSON_TYPE, limits())).not.toThrow();
    expect(() => scan(batch(5_002), JSON_TYPE, limits())).toThrow('have too many lines or messages');
    expect(() => scan(`{"result":${batch(6_000)}}`, JSON_TYPE, limits())).not.toThrow();
    expect(() => scan('[\n'.repeat(100), JSON_TYPE)).not.toThrow();
  });
});
