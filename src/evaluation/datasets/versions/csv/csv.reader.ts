import { isUtf8 } from 'node:buffer';
import { TimeSlice } from '#platform/concurrency';
import type { SpooledFile } from '#platform/http';
import { CaseSize, CellFault, faultOfTags, PARSED_CELL_BYTES, tagsOf } from './csv.case';
import {
  columnsOf,
  type CsvLayout,
  type CsvOptions,
  DelimiterCheck,
  HEADER_KEEP,
  isDelimiterLine,
  isLonger,
  layoutOf,
  SHORT_TEXT_BYTES,
  quoteShort,
} from './csv.columns';
import { CsvFault, type CsvRecord, CsvScanner, type KeptBytes } from './csv.scanner';

export const ROWS_MAX = 100_000;
const CASE_ID_MAX = 255;

/** Size of the chunks in which a file is stored, in bytes. */
export const CHUNK_BYTES = 256 * 1024;

/** Number of bytes that are scanned without a pause. With the shortest rows, they take some milliseconds. */
const PIECE_BYTES = 16 * 1024;

/** Where rows begin in a chunk. */
export interface ChunkPlace {
  /** Number of rows that begin in earlier chunks. */
  rowsBefore: number;
  /** Offset of the first row that begins in this chunk. Null if none does. */
  rowOffset: number | null;
}

/** The content of a checked file. */
export interface CsvContent {
  layout: CsvLayout;
  rowCount: number;
  /** In row order. Null if row numbers are the case ids. */
  caseIds: string[] | null;
  chunks: ChunkPlace[];
}

/**
 * Reads and checks a whole file, and keeps only its case ids in memory. Yields to the event loop between pieces. Errors:
 * `CsvFault` with the first faulty line, and `LayoutFault` for options that do not fit the header.
 *
 * @param caseBytes maximum size of a case as JSON, in bytes
 */
export async function readCsv(
  file: SpooledFile,
  options: CsvOptions,
  caseBytes: number,
): Promise<CsvContent> {
  const reading = new CsvReading(options, caseBytes);
  const input = new CsvInput(reading, options, caseBytes);
  for await (const chunk of file.chunks(CHUNK_BYTES, Buffer.allocUnsafeSlow(CHUNK_BYTES))) {
    reading.beginChunk();
    for await (const piece of piecesOf(chunk)) input.push(piece);
  }
  input.end();
  return reading.content();
}

/** Yields the pieces of a chunk, and yields to the event loop every few milliseconds. */
export async function* piecesOf(chunk: Buffer): AsyncGenerator<Buffer, void, undefined> {
  const slice = new TimeSlice();
  for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
    yield chunk.subarray(at, at + PIECE_BYTES);
    if (slice.isOver()) await slice.yield();
  }
}

/** Checks a file, and records its case ids and where its rows begin. */
class CsvReading implements CsvRows {
  private readonly chunks: ChunkPlace[] = [];
  private layout!: CsvLayout;
  private size!: CaseSize;
  private rowCount = 0;
  /** Case id to line. */
  private readonly caseIds = new Map<string, number>();

  constructor(
    private readonly options: CsvOptions,
    private readonly caseBytes: number,
  ) {}

  beginChunk(): void {
    this.chunks.push({ rowsBefore: this.rowCount, rowOffset: null });
  }

  content(): CsvContent {
    const { layout, rowCount, caseIds, chunks } = this;
    return { layout, rowCount, caseIds: this.size.idAt < 0 ? null : [...caseIds.keys()], chunks };
  }

  header(columns: string[]): KeptParts {
    this.layout = layoutOf(columns, this.options);
    this.size = new CaseSize(this.layout);
    const { idAt, tagsAt, json } = this.size;
    const keep: number[] = [];
    if (json.at >= 0) keep[json.at] = PARSED_CELL_BYTES;
    if (idAt >= 0) keep[idAt] = SHORT_TEXT_BYTES;
    for (const at of tagsAt) keep[at] = PARSED_CELL_BYTES;
    return { keep, exactOver: this.size.cellsWithin(this.caseBytes) };
  }

  row(record: CsvRecord): void {
    const { cells, line, at } = record;
    const { idAt, tagsAt, json } = this.size;
    this.rowCount++;
    if (this.rowCount > ROWS_MAX)
      throw new CsvFault(line, `is row ${this.rowCount}. A file can have at most ${ROWS_MAX} rows`);
    if (idAt >= 0) this.takeCaseId(cells[idAt]!, line);
    if (record.isCut && (tagsAt.length > 0 || json.at >= 0)) {
      throw new CsvFault(
        line,
        `has tags or metadata of more than ${PARSED_CELL_BYTES / 1024} KiB in one field`,
      );
    }
    const tags = tagsAt.length > 0 ? this.takeTags(record) : [];
    const members = json.at >= 0 ? this.takeMetadata(record) : '';
    this.checkSize(record, tags, members);
    this.place(at);
  }

  private takeTags({ cells, line }: CsvRecord): string[] {
    const tags = tagsOf(this.size.tagsAt.map((column) => cells[column]!));
    const fault = faultOfTags(tags);
    if (fault) throw new CsvFault(line, fault);
    return tags;
  }

  /** Returns the members of the metadata, as `JsonMetadata` does. */
  private takeMetadata({ cells, line }: CsvRecord): string {
    const { json } = this.size;
    try {
      return json.membersOf(cells[json.at]!);
    } catch (error) {
      throw error instanceof CellFault ? new CsvFault(line, error.detail) : error;
    }
  }

  private checkSize(record: CsvRecord, tags: string[], members: string): void {
    if (record.jsonBytes <= this.size.cellsWithin(this.caseBytes)) return;
    const bytes = this.size.of(record, this.rowCount, tags, members);
    if (bytes <= this.caseBytes) return;
    throw new CsvFault(
      record.line,
      `makes a case of ${bytes} bytes as escaped JSON. A case can have at most ${this.caseBytes}`,
    );
  }

  private takeCaseId(caseId: string, line: number): void {
    if (caseId === '') throw new CsvFault(line, 'has no case id');
    if (isLonger(caseId, CASE_ID_MAX)) {
      throw new CsvFault(line, `has a case id of more than ${CASE_ID_MAX} characters`);
    }
    const before = this.caseIds.get(caseId);
    if (before !== undefined) {
      throw new CsvFault(line, `has the case id ${quoteShort(caseId)}, which line ${before} already has`);
    }
    this.caseIds.set(caseId, line);
  }

  /** Records where a row begins, if it is the first of its chunk. It may end several chunks later. */
  private place(at: number): void {
    const ordinal = Math.floor(at / CHUNK_BYTES);
    const chunk = this.chunks[ordinal]!;
    if (chunk.rowOffset === null) {
      chunk.rowOffset = at % CHUNK_BYTES;
      chunk.rowsBefore = this.rowCount - 1;
    }
    for (let later = ordinal + 1; later < this.chunks.length; later++) {
      this.chunks[later]!.rowsBefore = this.rowCount;
    }
  }
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

const LF = 10;

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** The parts of each row that a reader of rows needs. */
interface KeptParts {
  keep: KeptBytes;
  /** See `CsvScanner`. */
  exactOver?: number;
}

/** Reads the rows of a file. */
export interface CsvRows {
  header(columns: string[]): KeptParts;
  /** @param record with as many fields as the header @param row its number, from 1 */
  row(record: CsvRecord, row: number): void;
}

/**
 * Reads a file from its header on, piece by piece: CSV in UTF-8, with or without a byte order mark and a line `sep=,`, and without NUL
 * characters, which PostgreSQL cannot store. Errors: `CsvFault` with the first faulty line, also for a file with another
 * delimiter, and for a row with more or fewer fields than the header.
 */
export class CsvInput {
  private readonly scanner = new CsvScanner(HEADER_KEEP, (record) => this.take(record));
  private isFirst = true;
  /** The first bytes of a character that continues in the next piece. */
  private partial: Buffer = Buffer.alloc(0);
  private delimiter: DelimiterCheck | undefined;
  private keep: KeptBytes = [];
  private columnCount = 0;
  private rowCount = 0;

  /** @param fieldBytes size of a field in the file, in bytes, above which `rows` rejects its row */
  constructor(
    private readonly rows: CsvRows,
    private readonly options: CsvOptions,
    private readonly fieldBytes: number,
  ) {}

  push(piece: Buffer): void {
    const { length } = BYTE_ORDER_MARK;
    const hasMark = this.isFirst && piece.subarray(0, length).equals(BYTE_ORDER_MARK);
    this.isFirst = false;
    if (hasMark) this.scanner.skip(length);
    const bytes = hasMark ? piece.subarray(length) : piece;
    const encodingFault = this.encodingFaultIn(bytes);
    try {
      this.scanner.push(bytes);
    } catch (error) {
      throw error instanceof CsvFault && encodingFault && encodingFault.line <= error.line
        ? encodingFault
        : error;
    }
    if (encodingFault) throw encodingFault;
  }

  end(): void {
    if (this.partial.length > 0) throw notUtf8(this.scanner.line);
    this.scanner.end();
    if (!this.delimiter) {
      throw new CsvFault(1, 'is missing: a header row with the names of the columns is required');
    }
    this.delimiter.end();
  }

  private take(record: CsvRecord): void {
    const { cells, fieldCount, line } = record;
    if (!this.delimiter) {
      if (line === 1 && isDelimiterLine(record)) return;
      return this.takeHeader(record, columnsOf(cells, fieldCount, line));
    }
    if (fieldCount !== this.columnCount) {
      throw new CsvFault(
        line,
        `has ${counted(fieldCount, 'field')}, but the header names ${counted(this.columnCount, 'column')}${this.delimiter.hint}`,
      );
    }
    this.rows.row(record, ++this.rowCount);
    if (!this.delimiter.isOpen) return;
    this.delimiter.take(record);
    if (!this.delimiter.isOpen) this.scanner.keep = this.keep;
  }

  private takeHeader(record: CsvRecord, columns: string[]): void {
    const { keep, exactOver = Infinity } = this.rows.header(columns);
    this.columnCount = columns.length;
    this.keep = keep;
    this.delimiter = new DelimiterCheck(columns, record, this.options);
    // The check compares all fields of each row.
    this.scanner.keep = this.delimiter.isOpen ? columns.map(() => this.fieldBytes) : keep;
    this.scanner.exactOver = exactOver;
  }

  /** Returns the first fault of the next piece, or null. */
  private encodingFaultIn(piece: Buffer): CsvFault | null {
    const bytes = this.partial.length > 0 ? Buffer.concat([this.partial, piece]) : piece;
    const length = bytes.length - unfinished(bytes);
    this.partial = Buffer.from(bytes.subarray(length));
    const complete = bytes.subarray(0, length);
    return isUtf8(complete) && !complete.includes(0) ? null : firstFault(complete, this.scanner.line);
  }
}

function firstFault(bytes: Buffer, firstLine: number): CsvFault | null {
  let line = firstLine;
  for (let at = 0; at < bytes.length; line++) {
    const end = bytes.indexOf(LF, at);
    const text = bytes.subarray(at, end < 0 ? bytes.length : end);
    if (!isUtf8(text)) return notUtf8(line);
    if (text.includes(0)) return new CsvFault(line, 'has a NUL character, which cannot be stored');
    at += text.length + 1;
  }
  return null;
}

const notUtf8 = (line: number): CsvFault => new CsvFault(line, 'is not UTF-8');

/** Returns the number of bytes at the end that begin an incomplete character (RFC 3629, section 3). */
function unfinished(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return back < lengthBy(byte) ? back : 0;
  }
  return 0;
}

const lengthBy = (first: number): number => (first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2);
