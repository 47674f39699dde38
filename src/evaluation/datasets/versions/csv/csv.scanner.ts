/** A fault in a CSV file, with its line. */
export class CsvFault extends Error {
  /** @param line counted from 1, by line feeds, including those within quotes, as an editor does */
  constructor(
    readonly line: number,
    readonly detail: string,
  ) {
    super(`line ${line}: ${detail}`);
    this.name = 'CsvFault';
  }
}

const LF = 10;
const CR = 13;
const QUOTE = 34;
const COMMA = 44;
const TAB = 9;
const SPACE = 32;
const SEMICOLON = 59;
const BACKSLASH = 92;

/** Whether a byte ends an unquoted field or is invalid in one. No such byte is greater than a comma. */
const ENDS_TEXT = Array.from({ length: COMMA + 1 }, (_, byte) => [LF, CR, QUOTE, COMMA].includes(byte));

/**
 * Extra bytes for each byte of a field when the field becomes a JSON string: `\\` and line breaks take two bytes, other
 * control characters six. Quotes add nothing, because quotes within a field are doubled in the file too.
 */
const ADDED_BY_JSON = Uint8Array.from({ length: 256 }, (_, byte) => {
  const isShort = byte === BACKSLASH || (byte < SPACE && '\b\t\n\f\r'.includes(String.fromCharCode(byte)));
  return isShort ? 1 : byte < SPACE ? 5 : 0;
});
const JSON_BYTES_PER_BYTE = 6;

/** States of the scanner. */
const RECORD = 0;
const FIELD = 1;
const PLAIN = 2;
const QUOTED = 3;
const AFTER_QUOTE = 4;
const AFTER_CR = 5;

/** A complete record. */
export interface CsvRecord {
  /** The texts of the fields to keep, by index. Other elements are empty. */
  readonly cells: readonly (string | undefined)[];
  readonly fieldCount: number;
  /** Number of quoted fields. */
  readonly quotedCount: number;
  /** Whether one of these fields was cut. */
  readonly isCut: boolean;
  /** The line on which the record begins. */
  readonly line: number;
  /** The offset in the file at which the record begins. */
  readonly at: number;
  /**
   * Size of the fields as JSON strings with quotes, in bytes. Exact above `exactOver`, and an upper bound otherwise.
   */
  readonly jsonBytes: number;
}

/**
 * The number of bytes of the file to keep of each field of a record. If absent or 0, none are kept. Longer fields are cut,
 * so that memory stays bounded.
 */
export type KeptBytes = readonly (number | undefined)[];

/**
 * Scans CSV strictly by RFC 4180: commas between fields, line breaks (CRLF or LF) between records, quotes only around
 * whole fields, and doubled within. Takes pieces of any size in one pass, and decodes only the fields to keep, so that
 * the cost depends on the bytes and not on the number of cells. Errors: `CsvFault`.
 */
export class CsvScanner {
  private state = RECORD;
  private offset = 0;
  private lineNumber = 1;
  private fieldCount = 0;
  private cells: (string | undefined)[] = [];
  private recordLine = 1;
  private recordAt = 0;
  private quoteLine = 1;
  /** Start of the current field in the current piece, and its bytes from earlier pieces. */
  private fieldAt = 0;
  private buffered: Buffer[] = [];
  private bytesBefore = 0;
  private isCut = false;
  /** Start of the current record in the current piece, and the extra JSON bytes of its earlier pieces. */
  private recordFrom = 0;
  private addedBefore = 0;
  private quotedCount = 0;

  /**
   * @param keep the bytes to keep of the next record; may change between records
   * @param take receives each record
   */
  constructor(
    public keep: KeptBytes,
    private readonly take: (record: CsvRecord) => void,
  ) {}

  /** Size as JSON strings, in bytes, above which `jsonBytes` is exact. */
  exactOver = Infinity;

  /** The line of the next byte. */
  get line(): number {
    return this.lineNumber;
  }

  /** Skips bytes at the start of the file. */
  skip(bytes: number): void {
    this.offset += bytes;
  }

  /** @param piece is not retained, so that its buffer may be reused */
  push(piece: Buffer): void {
    let state = this.state;
    const { length } = piece;
    for (let i = 0; i < length; i++) {
      let byte = piece[i]!;
      if (state === PLAIN) {
        // Hot path: most bytes pass through this loop and the next.
        while (byte > COMMA || !ENDS_TEXT[byte]) {
          if (++i === length) break;
          byte = piece[i]!;
        }
        if (i === length) break;
        if (byte === QUOTE) {
          throw this.fault(
            'has a quote within a field. Enclose the whole field in quotes, and double the quotes in it' +
              hintOf(piece[i - 1]),
          );
        }
      } else if (state === QUOTED) {
        while (byte !== QUOTE) {
          if (byte === LF) this.lineNumber++;
          if (++i === length) break;
          byte = piece[i]!;
        }
        if (i < length) state = AFTER_QUOTE;
        continue;
      } else if (state === AFTER_QUOTE) {
        if (byte === QUOTE) {
          state = QUOTED;
          continue;
        }
        if (byte !== COMMA && byte !== LF && byte !== CR) {
          throw this.fault(
            `has text after the quote that ends a field. Double the quotes within a field${hintOf(byte)}`,
          );
        }
      } else if (state === AFTER_CR) {
        if (byte !== LF) throw this.loneCr();
        this.endRecord(piece, i, 1);
        state = RECORD;
        continue;
      } else {
        if (state === RECORD) {
          this.recordLine = this.lineNumber;
          this.recordAt = this.offset + i;
          this.recordFrom = i;
        }
        this.fieldAt = i;
        if (byte === QUOTE) {
          this.quotedCount++;
          this.quoteLine = this.lineNumber;
          state = QUOTED;
          continue;
        }
        if (byte !== COMMA && byte !== LF && byte !== CR) {
          state = PLAIN;
          continue;
        }
      }
      // Any byte that gets here ends a field.
      this.endField(piece, i);
      if (byte === COMMA) state = FIELD;
      else if (byte === CR) state = AFTER_CR;
      else {
        this.endRecord(piece, i, 0);
        state = RECORD;
      }
    }
    if (state !== RECORD) this.addedBefore += addedByJson(piece, this.recordFrom, length);
    this.recordFrom = 0;
    if (state === PLAIN || state === QUOTED || state === AFTER_QUOTE) this.buffer(piece);
    this.fieldAt = 0;
    this.offset += length;
    this.state = state;
  }

  /** Ends the input. The last record may have no line break. */
  end(): void {
    const { state } = this;
    if (state === RECORD) return;
    if (state === QUOTED) throw new CsvFault(this.quoteLine, 'opens a quote that is never closed');
    if (state === AFTER_CR) throw this.loneCr();
    this.endField(NOTHING, 0);
    this.endRecord(NOTHING, 0, 0);
    this.state = RECORD;
  }

  private fault(detail: string): CsvFault {
    return new CsvFault(this.lineNumber, detail);
  }

  private loneCr(): CsvFault {
    return this.fault(
      'has a carriage return without a line feed. End lines with CRLF or LF, or quote the field',
    );
  }

  private endField(piece: Buffer, end: number): void {
    const limit = this.keep[this.fieldCount];
    if (limit) this.cells[this.fieldCount] = this.textOf(piece.subarray(this.fieldAt, end), limit);
    this.fieldCount++;
  }

  /** @param crs number of carriage returns in its line break */
  private endRecord(piece: Buffer, end: number, crs: number): void {
    this.lineNumber++;
    const { cells, fieldCount, quotedCount, isCut, recordLine: line, recordAt: at } = this;
    const jsonBytes = this.jsonBytesOf(piece, end, crs);
    this.cells = [];
    this.fieldCount = 0;
    this.isCut = false;
    this.quotedCount = 0;
    this.addedBefore = 0;
    this.take({ cells, fieldCount, quotedCount, isCut, line, at, jsonBytes });
  }

  private jsonBytesOf(piece: Buffer, end: number, crs: number): number {
    const { fieldCount, quotedCount } = this;
    const bytes = this.offset + end - this.recordAt - crs;
    const atMost = JSON_BYTES_PER_BYTE * bytes + 2 * fieldCount;
    if (atMost <= this.exactOver) return atMost;
    const added = this.addedBefore + addedByJson(piece, this.recordFrom, end) - crs;
    const commas = fieldCount - 1;
    return bytes - commas + 2 * (fieldCount - quotedCount) + added;
  }

  private buffer(piece: Buffer): void {
    const limit = this.keep[this.fieldCount] ?? 0;
    if (limit === 0) return;
    const part = piece.subarray(this.fieldAt);
    const room = limit - this.bytesBefore;
    if (room > 0) this.buffered.push(Buffer.from(part.subarray(0, room)));
    this.bytesBefore += part.length;
  }

  private textOf(last: Buffer, limit: number): string {
    let bytes = last;
    if (this.bytesBefore + last.length > limit) this.isCut = true;
    if (this.buffered.length > 0) {
      bytes = Buffer.concat([...this.buffered, last]);
      this.buffered = [];
    }
    this.bytesBefore = 0;
    const end = Math.min(bytes.length, limit);
    if (bytes[0] !== QUOTE) return bytes.toString('utf8', 0, end);
    const text = bytes.toString('utf8', 1, end - 1);
    return text.includes('"') ? unescapeQuotes(bytes.subarray(1, end - 1)) : text;
  }
}

/** Returns the text between quotes, with each doubled quote as one. `replaceAll` takes seconds for millions of them. */
function unescapeQuotes(bytes: Buffer): string {
  const result = Buffer.allocUnsafe(bytes.length);
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    result[length++] = bytes[at]!;
    if (bytes[at] === QUOTE) at++;
  }
  return result.toString('utf8', 0, length);
}

/** @param byte next to the misplaced quote */
const hintOf = (byte: number | undefined): string =>
  byte === SEMICOLON || byte === TAB ? '. Fields are separated by commas, not by semicolons or tabs' : '';

function addedByJson(bytes: Buffer, from: number, to: number): number {
  let added = 0;
  for (let i = from; i < to; i++) added += ADDED_BY_JSON[bytes[i]!]!;
  return added;
}

const NOTHING = Buffer.alloc(0);
