import { ServerFailure } from './server-failure';

/** The maximum nesting of a message, which may contain schemas of 64 levels. Recursive code fails at a few thousand levels. */
const DEPTH_MAX = 128;
/**
 * The maximum number of lines of event streams and messages of batches in one operation. The SDK takes up to 20 µs to parse
 * a line and up to 60 µs to check a message. A message takes three lines.
 */
const LINES_MAX = 5_000;

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_ARRAY = 91;
const BACKSLASH = 92;
const CLOSE_ARRAY = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;
const DATA = Buffer.from('data:');

/**
 * Limits the cost of parsing the responses of one operation, before the SDK parses them. Without limits, small JSON could
 * take many times its size in memory, and short lines of an event stream much time.
 */
export class ResponseLimits {
  private lines = 0;
  private structuralChars = 0;

  /**
   * @param maxStructuralChars the maximum number of structural characters (`[`, `{`, `,` and `:`) outside of strings: about
   *   one for each value and name
   */
  constructor(private readonly maxStructuralChars: number) {}

  /** Returns a function that checks the chunks of one body. The function throws a `ServerFailure`. */
  scanner(contentType: string | null): (chunk: Uint8Array) => void {
    const scan = new BodyScan(isEventStream(contentType));
    return (chunk) => {
      scan.read(chunk);
      this.lines += scan.lines;
      this.structuralChars += scan.structuralChars;
      if (this.lines > LINES_MAX) throw failure('have too many lines or messages');
      if (this.structuralChars > this.maxStructuralChars) throw failure('are too complex');
      if (scan.deepest > DEPTH_MAX) throw failure('are nested too deeply');
    };
  }
}

export const isEventStream = (contentType: string | null): boolean =>
  /^\s*text\/event-stream/i.test(contentType ?? '');

const failure = (reason: string): ServerFailure =>
  new ServerFailure('protocol', `The responses of the server ${reason}.`);

/**
 * Counts lines, structural characters and nesting in the bytes of one body. Tracks the position in the JSON exactly while
 * the JSON is valid. JSON strings contain no line ends, so each line starts outside of a string.
 */
class BodyScan {
  /** The counts of the last chunk. */
  lines = 0;
  structuralChars = 0;
  deepest = 0;
  private depth = 0;
  private isBatch = false;
  private isInString = false;
  private isEscaped = false;
  private last = 0;
  /** The bytes of `data:` that the line of an event stream matches so far, or -1. The rest of a data line is JSON. */
  private matched = 0;

  constructor(private readonly isEventStream: boolean) {}

  read(chunk: Uint8Array): void {
    this.lines = 0;
    this.structuralChars = 0;
    for (let i = 0; i < chunk.length; i += 1) {
      const byte = chunk[i]!;
      if (byte === LINE_FEED || byte === CARRIAGE_RETURN) this.endLine(byte);
      else if (this.isEventStream && this.matched < DATA.length) this.matchField(byte);
      else if (this.isInString) this.readString(byte);
      else this.readOutsideString(byte);
      this.last = byte;
    }
  }

  private endLine(byte: number): void {
    this.isInString = false;
    this.isEscaped = false;
    this.matched = 0;
    if (this.isEventStream && !(byte === LINE_FEED && this.last === CARRIAGE_RETURN)) this.lines += 1;
  }

  /** A byte order mark may precede the field. */
  private matchField(byte: number): void {
    if (this.matched === 0 && byte >= 0x80) return;
    this.matched = byte === DATA[this.matched] ? this.matched + 1 : -1;
  }

  private readString(byte: number): void {
    if (this.isEscaped) this.isEscaped = false;
    else if (byte === BACKSLASH) this.isEscaped = true;
    else if (byte === QUOTE) this.isInString = false;
  }

  private readOutsideString(byte: number): void {
    switch (byte) {
      case QUOTE:
        this.isInString = true;
        break;
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        if (this.depth === 0) this.isBatch = byte === OPEN_ARRAY;
        this.structuralChars += 1;
        this.depth += 1;
        this.deepest = Math.max(this.deepest, this.depth);
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        this.depth = Math.max(this.depth - 1, 0);
        break;
      case COMMA:
        if (this.isBatch && this.depth === 1) this.lines += 1;
        this.structuralChars += 1;
        break;
      case COLON:
        this.structuralChars += 1;
    }
  }
}
