/** What is wrong with a CSV file, and where. */
export class CsvFault extends Error {
  /** @param line counted from 1, by line feeds, those within quotes too: as an editor shows it. */
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

/** What a field without quotes cannot go on with; none of it is above a comma. */
const ENDS_TEXT = Array.from({ length: COMMA + 1 }, (_, byte) => [LF, CR, QUOTE, COMMA].includes(byte));

/**
 * What a byte of a field adds when the field becomes a string of JSON: `\\` and line breaks are written with two bytes,
 * other control characters with six. A quote adds nothing, as it is doubled already, nor do quotes around the field.
 */
const ADDED_BY_JSON = Uint8Array.from({ length: 256 }, (_, byte) => {
  const isShort = byte === BACKSLASH || (byte < SPACE && '\b\t\n\f\r'.includes(String.fromCharCode(byte)));
  return isShort ? 1 : byte < SPACE ? 5 : 0;
});
const JSON_BYTES_PER_BYTE = 6;

/** Where the scanner stands between two bytes. */
const RECORD = 0;
const FIELD = 1;
const PLAIN = 2;
const QUOTED = 3;
const AFTER_QUOTE = 4;
const AFTER_CR = 5;

/** One record, as it ends. */
export interface CsvRecord {
  /** The texts of the fields that are kept, at their places; of the others there is nothing. */
  readonly cells: readonly (string | undefined)[];
  readonly fieldCount: number;
  /** How many of its fields are in quotes. */
  readonly quotedCount: number;
  /** Whether of a field that is kept some was left out. */
  readonly isCut: boolean;
  /** The line on which it begins. */
  readonly line: number;
  /** The byte at which it begins. */
  readonly at: number;
  /**
   * How many bytes its fields are as strings of JSON, in quotes. Where they are no more than `exactOver` surely, this is
   * what they are at most.
   */
  readonly jsonBytes: number;
}

/**
 * For each field of a record, how many bytes of it are kept as it stands in the file; absent or 0: none. Of a longer
 * one the rest is left out, so that memory stays bounded whatever a file holds.
 */
export type KeptBytes = readonly (number | undefined)[];

/**
 * Finds the records of CSV as RFC 4180 has it, strictly: fields between commas, records between line breaks (CRLF or a
 * line feed alone), quotes around a whole field or nowhere, doubled within. Takes the bytes in pieces of any size and
 * in one pass, and makes text only of the fields that are asked for, so a file costs what its bytes cost, however many
 * cells they make. Errors: `CsvFault`.
 */
export class CsvScanner {
  private state = RECORD;
  private offset: number;
  private lineNumber: number;
  private fieldCount = 0;
  private cells: (string | undefined)[] = [];
  private recordLine = 1;
  private recordAt = 0;
  private quoteLine = 1;
  /** Where the present field begins in the present piece, and what came of it in pieces before. */
  private fieldAt = 0;
  private held: Buffer[] = [];
  private bytesBefore = 0;
  private isCut = false;
  /** The same of the present record, for its length as JSON. */
  private recordFrom = 0;
  private addedBefore = 0;
  private quotedCount = 0;

  /**
   * @param keep of the next record; to be changed between records
   * @param take is given each record
   * @param offset of the first byte in the file, and the line that it is on
   */
  constructor(
    public keep: KeptBytes,
    private readonly take: (record: CsvRecord) => void,
    { offset = 0, line = 1 } = {},
  ) {
    this.offset = offset;
    this.lineNumber = line;
  }

  /** Records whose fields may be more bytes than this as strings of JSON are counted exactly. */
  exactOver = Infinity;

  /** The line of the next byte. */
  get line(): number {
    return this.lineNumber;
  }

  /** @param piece of which nothing is kept, so that its buffer may be used again */
  push(piece: Buffer): void {
    let state = this.state;
    const { length } = piece;
    for (let i = 0; i < length; i++) {
      let byte = piece[i]!;
      if (state === PLAIN) {
        // most of a file goes by in this loop and the next
        while (byte > COMMA || !ENDS_TEXT[byte]) {
          if (++i === length) break;
          byte = piece[i]!;
        }
        if (i === length) break;
        if (byte === QUOTE) {
          throw this.fault(
            'has a quote within a field; a field with quotes is quoted whole, and its quotes are doubled' +
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
            `has text after the quote that ends a field; quotes within a field are doubled${hintOf(byte)}`,
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
      // what is left here ends a field
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
    if (state === PLAIN || state === QUOTED || state === AFTER_QUOTE) this.hold(piece);
    this.fieldAt = 0;
    this.offset += length;
    this.state = state;
  }

  /** Says that there are no more bytes. The last record may end without a line break. */
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
      'has a carriage return without a line feed; end lines with CRLF or LF, or quote the field',
    );
  }

  private endField(piece: Buffer, end: number): void {
    const limit = this.keep[this.fieldCount];
    if (limit) this.cells[this.fieldCount] = this.textOf(piece.subarray(this.fieldAt, end), limit);
    this.fieldCount++;
  }

  /** @param crs carriage returns of its line break */
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

  private hold(piece: Buffer): void {
    const limit = this.keep[this.fieldCount] ?? 0;
    if (limit === 0) return;
    const part = piece.subarray(this.fieldAt);
    const room = limit - this.bytesBefore;
    if (room > 0) this.held.push(Buffer.from(part.subarray(0, room)));
    this.bytesBefore += part.length;
  }

  private textOf(last: Buffer, limit: number): string {
    let bytes = last;
    if (this.bytesBefore + last.length > limit) this.isCut = true;
    if (this.held.length > 0) {
      bytes = Buffer.concat([...this.held, last]);
      this.held = [];
    }
    this.bytesBefore = 0;
    const end = Math.min(bytes.length, limit);
    if (bytes[0] !== QUOTE) return bytes.toString('utf8', 0, end);
    const text = bytes.toString('utf8', 1, end - 1);
    return text.includes('"') ? withQuotesOnce(bytes.subarray(1, end - 1)) : text;
  }
}

/** What stands between quotes, with each doubled one once. `replaceAll` takes seconds for millions of them. */
function withQuotesOnce(bytes: Buffer): string {
  const once = Buffer.allocUnsafe(bytes.length);
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    once[length++] = bytes[at]!;
    if (bytes[at] === QUOTE) at++;
  }
  return once.toString('utf8', 0, length);
}

/** @param byte beside the quote that is in a wrong place */
const hintOf = (byte: number | undefined): string =>
  byte === SEMICOLON || byte === TAB ? ', and fields are separated by commas, not by semicolons or tabs' : '';

function addedByJson(bytes: Buffer, from: number, to: number): number {
  let added = 0;
  for (let i = from; i < to; i++) added += ADDED_BY_JSON[bytes[i]!]!;
  return added;
}

const NOTHING = Buffer.alloc(0);
