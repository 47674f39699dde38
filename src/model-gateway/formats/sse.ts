import { formatBytes } from '#platform/problem';
import { JsonOutline } from './json-outline';

/** One server-sent event. */
export interface SseEvent {
  /** The name of the event. Events of OpenAI's chat completions have no name. */
  event?: string;
  data: string;
  /**
   * The exact bytes of the event. A blank line that is missing at the end of the stream is added. They may share memory with the
   * chunk that contained them. For a large event, only its last bytes.
   */
  raw: Buffer;
  /** Size of a large event that is passed on as it arrives. Its data is then an outline (see `JsonOutline`). */
  largeBytes?: number;
}

/** A part of a large event, without its end. */
export interface SsePart {
  raw: Buffer;
  isPart: true;
}

export const isPart = (event: SseEvent | SsePart): event is SsePart => 'isPart' in event;

const PING = /^\s*\{\s*"type"\s*:\s*"ping"\s*\}\s*$/;
/** Maximum characters of a ping. Longer data need not be searched. */
const PING_MAX = 64;

/** Tells whether an event only keeps the connection alive. Anthropic and some other servers send it. */
export const isPing = ({ event, data }: SseEvent): boolean =>
  event === 'ping' || (data.length <= PING_MAX && PING.test(data));

/** The error for an event or a comment that is larger than the reader accepts. */
export class SseTooLarge extends Error {
  constructor(readonly maxEventBytes: number) {
    super(`An event of the stream has more than ${formatBytes(maxEventBytes)}.`);
    this.name = 'SseTooLarge';
  }
}

const LF = 0x0a;
const CR = 0x0d;
const BOM = '\uFEFF';
const LINE_END = /\r\n|\n|\r/;
const NOTHING = Buffer.alloc(0);
/** Ends an event, whether its last line has ended or not. */
const BLANK_LINE = Buffer.from('\n\n');

export interface SseLimits {
  /** Maximum bytes of one event with its comments and its blank line. */
  maxEventBytes: number;
  /** Maximum bytes of larger events that are returned in parts, as they arrive. Default: none are. */
  maxLargeBytes?: number;
}

/**
 * Splits a byte stream into server-sent events (WHATWG HTML, 9.2). The events do not depend on how the stream is split into
 * chunks. Leaves out comments and events without data.
 *
 * A blank line that ends with CR is only processed once the next byte has arrived, because an LF would belong to the line.
 */
export class SseReader {
  /** The start of an event whose end has not arrived. The buffer doubles when it is full, so that small chunks cost linear time. */
  #buffer: Buffer = NOTHING;
  #bufferedBytes = 0;
  #isLineEmpty = true;
  /** Whether the last byte was a CR, so that a following LF belongs to the same line end. */
  #isAfterCr = false;
  /** Whether the CR ended a blank line, so that the event ends before the next byte other than LF. */
  #isBlankAfterCr = false;
  #isFirst = true;
  #failure: SseTooLarge | undefined;
  /** The current event if it is large, and its bytes were returned. */
  #large: LargeEvent | undefined;

  constructor(private readonly limits: SseLimits) {}

  /** Bytes of memory. */
  get heldBytes(): number {
    return this.#buffer.length + (this.#large?.outline.heldBytes ?? 0);
  }

  /** Bytes of the current event in memory. */
  get bufferedBytes(): number {
    return this.#bufferedBytes;
  }

  /**
   * Adds a chunk, and returns the events that it completes.
   *
   * @throws SseTooLarge if an event is too large. If there are events before it, they are returned, and the next call throws
   */
  push(chunk: Buffer): (SseEvent | SsePart)[] {
    if (this.#failure) throw this.#failure;
    const events: (SseEvent | SsePart)[] = [];
    try {
      this.#split(chunk, events);
    } catch (error) {
      if (!(error instanceof SseTooLarge)) throw error;
      this.#failure = error;
      if (events.length === 0) throw error;
    }
    return events;
  }

  /**
   * Returns the last event if its blank line is missing. Browsers discard such an event, but some servers omit the line.
   *
   * @throws SseTooLarge if the last event is too large
   */
  end(): (SseEvent | SsePart)[] {
    if (this.#failure) throw this.#failure;
    const events: (SseEvent | SsePart)[] = [];
    if (this.#bufferedBytes > 0 || this.#large) this.#finish(NOTHING, events);
    return events.map((event) => ({ ...event, raw: Buffer.concat([event.raw, BLANK_LINE]) }));
  }

  /** Splits a chunk at line ends. Each search starts after the previous result, so no byte is searched twice. */
  #split(chunk: Buffer, events: (SseEvent | SsePart)[]): void {
    let start = this.#afterCr(chunk, events);
    let line = start;
    let lf = chunk.indexOf(LF, line);
    let cr = chunk.indexOf(CR, line);
    while (lf !== -1 || cr !== -1) {
      const isCr = lf === -1 || (cr !== -1 && cr < lf);
      const at = isCr ? cr : lf;
      const isBlank = at === line && this.#isLineEmpty;
      const end = isCr && chunk[at + 1] === LF ? at + 2 : at + 1;
      this.#isLineEmpty = true;
      line = end;
      if (isCr && end === chunk.length && end === at + 1) {
        this.#isAfterCr = true;
        this.#isBlankAfterCr = isBlank;
      } else if (isBlank) {
        this.#finish(chunk.subarray(start, end), events);
        start = end;
      }
      if (lf !== -1 && lf < end) lf = chunk.indexOf(LF, end);
      if (cr !== -1 && cr < end) cr = chunk.indexOf(CR, end);
    }
    if (line < chunk.length) this.#isLineEmpty = false;
    this.#append(chunk.subarray(start), events);
  }

  /** Completes a line end whose CR was the last byte. Returns the index of the first byte that is not processed yet. */
  #afterCr(chunk: Buffer, events: (SseEvent | SsePart)[]): number {
    if (!this.#isAfterCr || chunk.length === 0) return 0;
    const start = chunk[0] === LF ? 1 : 0;
    this.#isAfterCr = false;
    if (this.#isBlankAfterCr) this.#finish(chunk.subarray(0, start), events);
    else this.#append(chunk.subarray(0, start), events);
    this.#isBlankAfterCr = false;
    return start;
  }

  #append(bytes: Buffer, events: (SseEvent | SsePart)[]): void {
    if (bytes.length === 0) return;
    if (this.#large) return this.#pass(bytes, events);
    const length = this.#bufferedBytes + bytes.length;
    if (length > this.limits.maxEventBytes) return this.#beginLarge(bytes, events);
    if (length > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(2 * length, 256));
      this.#buffer.copy(larger, 0, 0, this.#bufferedBytes);
      this.#buffer = larger;
    }
    bytes.copy(this.#buffer, this.#bufferedBytes);
    this.#bufferedBytes = length;
  }

  /** Returns the buffered bytes of an event that is too large to be buffered, and the next ones. */
  #beginLarge(bytes: Buffer, events: (SseEvent | SsePart)[]): void {
    const { maxEventBytes, maxLargeBytes = 0 } = this.limits;
    if (maxLargeBytes === 0) throw new SseTooLarge(maxEventBytes);
    const buffered = this.#take();
    const large = new LargeEvent(eventOf(buffered, this.#isFirst)?.event);
    this.#large = large;
    const parts: SsePart[] = [];
    for (const part of [buffered, bytes]) if (part.length > 0) this.#pass(part, parts);
    // a large comment has no use
    if (!large.hasData) throw new SseTooLarge(maxEventBytes);
    events.push(...parts);
  }

  #pass(bytes: Buffer, events: (SseEvent | SsePart)[]): void {
    const { maxLargeBytes = 0 } = this.limits;
    this.#large!.add(bytes);
    if (this.#large!.bytes > maxLargeBytes) throw new SseTooLarge(maxLargeBytes);
    events.push({ raw: bytes, isPart: true });
  }

  #take(): Buffer {
    const bytes = this.#buffer.subarray(0, this.#bufferedBytes);
    this.#buffer = NOTHING;
    this.#bufferedBytes = 0;
    return bytes;
  }

  #finish(rest: Buffer, events: (SseEvent | SsePart)[]): void {
    const length = this.#bufferedBytes + rest.length;
    if (!this.#large && length > this.limits.maxEventBytes) this.#beginLarge(rest, events);
    else if (this.#large || this.#bufferedBytes > 0) this.#append(rest, events);
    const raw = this.#bufferedBytes > 0 ? this.#take() : rest;
    const event = this.#large ? this.#large.end(events) : eventOf(raw, this.#isFirst);
    this.#large = undefined;
    this.#isFirst = false;
    if (event) events.push(event);
  }
}

const DATA = 'data:';

/** Reads the data of an event whose bytes are passed on. */
class LargeEvent {
  readonly outline = new JsonOutline();
  bytes = 0;
  hasData = false;
  /** The start of the current line, until its field is known. */
  private field = '';
  private line: 'start' | 'data' | 'other' = 'start';

  constructor(private readonly name: string | undefined) {}

  add(bytes: Buffer): void {
    this.bytes += bytes.length;
    for (let at = 0; at < bytes.length;) {
      if (this.line === 'start') {
        this.readField(bytes[at++]!);
        continue;
      }
      const lf = bytes.indexOf(LF, at);
      const line = bytes.subarray(at, lf === -1 ? bytes.length : lf);
      const cr = line.indexOf(CR);
      const end = cr === -1 ? at + line.length : at + cr;
      if (this.line === 'data') this.outline.write(bytes.subarray(at, end));
      at = end;
      if (end < bytes.length) this.line = 'start';
    }
  }

  /** Takes back the last part, which may end the answer. */
  end(parts: (SseEvent | SsePart)[]): SseEvent {
    const last = parts.at(-1);
    const raw = last && isPart(last) ? last.raw : NOTHING;
    if (raw !== NOTHING) parts.pop();
    const event = { data: this.outline.text(), raw, largeBytes: this.bytes };
    return this.name === undefined ? event : { event: this.name, ...event };
  }

  private readField(byte: number): void {
    if (byte === LF || byte === CR) {
      this.field = '';
      return;
    }
    this.field += String.fromCharCode(byte);
    if (this.field === DATA) this.begin('data');
    else if (!DATA.startsWith(this.field)) this.begin('other');
  }

  private begin(line: 'data' | 'other'): void {
    this.line = line;
    this.field = '';
    this.hasData ||= line === 'data';
  }
}

/** Reads the fields of one event. Returns undefined if it has no data. */
function eventOf(raw: Buffer, isFirst: boolean): SseEvent | undefined {
  const decoded = raw.toString('utf8');
  const text = isFirst && decoded.startsWith(BOM) ? decoded.slice(1) : decoded;
  let name = '';
  let data: string | undefined;
  for (const line of text.includes('\r') ? text.split(LINE_END) : text.split('\n')) {
    const [field, value] = fieldOf(line);
    if (field === 'event') name = value;
    else if (field === 'data') data = data === undefined ? value : `${data}\n${value}`;
  }
  if (data === undefined) return undefined;
  return name === '' ? { data, raw } : { event: name, data, raw };
}

function fieldOf(line: string): [name: string, value: string] {
  const colon = line.indexOf(':');
  if (colon === -1) return [line, ''];
  return [line.slice(0, colon), line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)];
}

/** Writes one event. Data with several lines becomes several `data` lines, which readers join with LF. */
export function formatSse(data: string, event?: string): string {
  const name = event === undefined ? '' : `event: ${event.split(LINE_END).join(' ')}\n`;
  const lines = /[\r\n]/.test(data) ? data.split(LINE_END) : [data];
  return `${name}${lines.map((line) => `data: ${line}\n`).join('')}\n`;
}
