import { isUtf8 } from 'node:buffer';
import { TimeSlice } from '#platform/concurrency';
import type { SpooledFile } from '#platform/http';
import { CaseSize, CellFault, faultOfTags, JsonMetadata, PARSED_CELL_BYTES, tagsOf } from './csv.case';
import {
  columnsOf,
  type CsvLayout,
  type CsvOptions,
  DelimiterCheck,
  HEADER_KEEP,
  isLonger,
  layoutOf,
  SHORT_TEXT_BYTES,
  quoteShort,
} from './csv.columns';
import { CsvFault, type CsvRecord, CsvScanner } from './csv.scanner';

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
  for await (const chunk of file.chunks(CHUNK_BYTES, Buffer.allocUnsafeSlow(CHUNK_BYTES))) {
    reading.beginChunk();
    for await (const piece of piecesOf(chunk)) reading.push(piece);
  }
  return reading.end();
}

/** Yields the pieces of a chunk, and yields to the event loop every few milliseconds. */
export async function* piecesOf(chunk: Buffer): AsyncGenerator<Buffer, void, undefined> {
  const slice = new TimeSlice();
  for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
    yield chunk.subarray(at, at + PIECE_BYTES);
    if (slice.isOver()) await slice.yield();
  }
}

/** One reading of a file, piece by piece. */
class CsvReading {
  private readonly input = new CsvInput((record) => this.take(record));
  private readonly chunks: ChunkPlace[] = [];
  private layout: CsvLayout | undefined;
  private size: CaseSize | undefined;
  private delimiter: DelimiterCheck | undefined;
  private idAt = -1;
  private tagsAt: number[] = [];
  private json: JsonMetadata | undefined;
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

  push(piece: Buffer): void {
    this.input.push(piece);
  }

  end(): CsvContent {
    this.input.end();
    this.delimiter?.end();
    if (!this.layout) throw missingHeader();
    return {
      layout: this.layout,
      rowCount: this.rowCount,
      caseIds: this.idAt < 0 ? null : [...this.caseIds.keys()],
      chunks: this.chunks,
    };
  }

  private take(record: CsvRecord): void {
    if (this.layout) this.takeRow(record, this.layout);
    else this.takeHeader(record);
  }

  private takeHeader(record: CsvRecord): void {
    const { cells, fieldCount, line } = record;
    const names = columnsOf(cells, fieldCount, line);
    const layout = layoutOf(names, this.options);
    const { columns, caseIdColumn, mapping } = layout;
    this.layout = layout;
    this.idAt = caseIdColumn === null ? -1 : columns.indexOf(caseIdColumn);
    this.tagsAt = mapping.tags.map((column) => columns.indexOf(column));
    this.json = new JsonMetadata(layout);
    const keep: number[] = [];
    if (this.json.at >= 0) keep[this.json.at] = PARSED_CELL_BYTES;
    if (this.idAt >= 0) keep[this.idAt] = SHORT_TEXT_BYTES;
    for (const at of this.tagsAt) keep[at] = PARSED_CELL_BYTES;
    this.delimiter = new DelimiterCheck(names, record, this.options);
    // A row with a longer cell is rejected anyway.
    if (this.delimiter.isOpen) keep[0] = this.caseBytes;
    this.input.scanner.keep = keep;
    this.size = new CaseSize(layout);
    this.input.scanner.exactOver = this.size.cellsWithin(this.caseBytes);
  }

  private takeRow(record: CsvRecord, { columns }: CsvLayout): void {
    const { cells, fieldCount, line, at } = record;
    this.rowCount++;
    if (this.rowCount > ROWS_MAX)
      throw new CsvFault(line, `is row ${this.rowCount}. A file can have at most ${ROWS_MAX} rows`);
    if (fieldCount !== columns.length) {
      throw new CsvFault(
        line,
        `has ${counted(fieldCount, 'field')}, but the header names ${counted(columns.length, 'column')}${this.delimiter!.hint}`,
      );
    }
    if (this.idAt >= 0) this.takeCaseId(cells[this.idAt]!, line);
    if (record.isCut && (this.tagsAt.length > 0 || this.json!.at >= 0)) {
      throw new CsvFault(
        line,
        `has tags or metadata of more than ${PARSED_CELL_BYTES / 1024} KiB in one field`,
      );
    }
    const tags = this.tagsAt.length > 0 ? this.takeTags(record) : [];
    const members = this.json!.at >= 0 ? this.takeMetadata(record) : '';
    if (record.jsonBytes > this.input.scanner.exactOver) this.takeSize(record, tags, members);
    if (this.delimiter!.isOpen) this.takeDelimiter(this.delimiter!, record);
    this.place(at);
  }

  private takeDelimiter(delimiter: DelimiterCheck, record: CsvRecord): void {
    delimiter.take(record);
    // A file with one column has no separate ids, tags or metadata.
    if (!delimiter.isOpen) this.input.scanner.keep = [];
  }

  private takeTags({ cells, line }: CsvRecord): string[] {
    const tags = tagsOf(this.tagsAt.map((column) => cells[column]!));
    const fault = faultOfTags(tags);
    if (fault) throw new CsvFault(line, fault);
    return tags;
  }

  /** Returns the members of the metadata, as `JsonMetadata` does. */
  private takeMetadata({ cells, line }: CsvRecord): string {
    try {
      return this.json!.membersOf(cells[this.json!.at]!);
    } catch (error) {
      throw error instanceof CellFault ? new CsvFault(line, error.detail) : error;
    }
  }

  private takeSize(record: CsvRecord, tags: string[], members: string): void {
    const bytes = this.size!.of(record, this.rowCount, tags, members);
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

/**
 * Scans a file from its header on, piece by piece: CSV in UTF-8, with or without a byte order mark, and without NUL
 * characters, which PostgreSQL cannot store. Errors: `CsvFault` with the first faulty line.
 */
export class CsvInput {
  readonly scanner: CsvScanner;
  private isFirst = true;
  /** The first bytes of a character that continues in the next piece. */
  private partial: Buffer = Buffer.alloc(0);

  constructor(take: (record: CsvRecord) => void) {
    this.scanner = new CsvScanner(HEADER_KEEP, take);
  }

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

/** Returns the fault of an empty file. */
export const missingHeader = (): CsvFault =>
  new CsvFault(1, 'is missing: a header row with the names of the columns is required');

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
