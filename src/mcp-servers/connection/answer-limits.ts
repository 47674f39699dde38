import { ServerFailure } from './server-failure';

/** Deepest nesting of a message, which holds schemas of 64 levels. Code that recurses fails at some thousand levels. */
const DEPTH_MAX = 128;
/**
 * The most lines of event streams, and messages of batches, in one operation. The parser of the SDK takes up to 20 µs for a
 * line, and its check of a message up to 60 µs. A message takes three lines.
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
 * Limits what the SDK's parsing of the answers of one operation costs, before it parses them: a few bytes of JSON can become
 * many times as much memory, and a line of an event stream much time.
 */
export class AnswerLimits {
  private lines = 0;
  private marks = 0;

  /** @param marksMax the most `[`, `{`, `,` and `:` outside of strings, about one for each value and each name */
  constructor(private readonly marksMax: number) {}

  /** Returns the check of one body, to be called with each chunk. It throws a `ServerFailure`. */
  scanner(contentType: string | null): (chunk: Uint8Array) => void {
    const scan = new BodyScan(/^\s*text\/event-stream/i.test(contentType ?? ''));
    return (chunk) => {
      scan.read(chunk);
      this.lines += scan.lines;
      this.marks += scan.marks;
      if (this.lines > LINES_MAX) throw failure('have too many lines or messages');
      if (this.marks > this.marksMax) throw failure('are too complex');
      if (scan.deepest > DEPTH_MAX) throw failure('are nested too deeply');
    };
  }
}

const failure = (reason: string): ServerFailure =>
  new ServerFailure('protocol', `The answers of the server ${reason}.`);

/**
 * Counts in the bytes of one body. Its place in the JSON is exact until the JSON is invalid. Strings do not contain line
 * ends, so each line begins outside of them.
 */
class BodyScan {
  /** Counts in the last chunk. */
  lines = 0;
  marks = 0;
  deepest = 0;
  private depth = 0;
  private isBatch = false;
  private isInString = false;
  private isEscaped = false;
  private last = 0;
  /** How much of `data:` begins the line of an event stream, or -1 for another line. The rest of a data line is JSON. */
  private matched = 0;

  constructor(private readonly isEventStream: boolean) {}

  read(chunk: Uint8Array): void {
    this.lines = 0;
    this.marks = 0;
    for (let i = 0; i < chunk.length; i += 1) {
      const byte = chunk[i]!;
      if (byte === LINE_FEED || byte === CARRIAGE_RETURN) this.endLine(byte);
      else if (this.isEventStream && this.matched < DATA.length) this.matchField(byte);
      else if (this.isInString) this.readString(byte);
      else this.readMark(byte);
      this.last = byte;
    }
  }

  private endLine(byte: number): void {
    this.isInString = false;
    this.isEscaped = false;
    this.matched = 0;
    if (this.isEventStream && !(byte === LINE_FEED && this.last === CARRIAGE_RETURN)) this.lines += 1;
  }

  /** A byte order mark may come before the field. */
  private matchField(byte: number): void {
    if (this.matched === 0 && byte >= 0x80) return;
    this.matched = byte === DATA[this.matched] ? this.matched + 1 : -1;
  }

  private readString(byte: number): void {
    if (this.isEscaped) this.isEscaped = false;
    else if (byte === BACKSLASH) this.isEscaped = true;
    else if (byte === QUOTE) this.isInString = false;
  }

  private readMark(byte: number): void {
    switch (byte) {
      case QUOTE:
        this.isInString = true;
        break;
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        if (this.depth === 0) this.isBatch = byte === OPEN_ARRAY;
        this.marks += 1;
        this.depth += 1;
        this.deepest = Math.max(this.deepest, this.depth);
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        this.depth = Math.max(this.depth - 1, 0);
        break;
      case COMMA:
        if (this.isBatch && this.depth === 1) this.lines += 1;
        this.marks += 1;
        break;
      case COLON:
        this.marks += 1;
    }
  }
}
