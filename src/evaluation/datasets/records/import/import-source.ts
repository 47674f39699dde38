import { TimeSlice } from '#platform/concurrency';
import type { SpooledFile } from '#platform/http';
import { JsonInputError, parseJson } from '#platform/json';
import { type Problem, problem } from '#platform/problem';

/** Maximum number of records in an import. */
export const IMPORT_LINES_MAX = 100_000;

/** One record to import. */
export interface ImportLine {
  /** Line number, counted from 1. */
  line: number;
  /** The record as parsed, not yet validated. Null where the text of the line has a fault. */
  value: unknown;
  fault: Problem | null;
  /** Approximate size in bytes. */
  size: number;
}

/** The records of an import, in any format. */
export interface ImportSource {
  /** Reads the records in batches. Can be called repeatedly. Errors: 400 for a fault that ends the reading. */
  lines(): AsyncIterable<ImportLine[]>;
  /** Throws if the request has ended. */
  checkOpen(): void;
}

/** The pointer of a fault in a line. */
export const pointerOf = (line: number, member = ''): string => `/lines/${line}${member}`;

const LF = 10;
/** A blank line: JSON whitespace only. */
const BLANK = /^[ \t\r]*$/;
/** Maximum number of blank lines that are skipped, so that a file of only blank lines costs little. */
const BLANK_LINES_MAX = IMPORT_LINES_MAX;
/** Maximum number of lines in a batch. */
const BATCH_LINES = 500;

/** JSON Lines: a JSON object (RFC 8259) on each line. Up to 100,000 blank lines are skipped. */
export class JsonLinesSource implements ImportSource {
  /** @param lineBytes maximum size of a line, in bytes */
  constructor(
    private readonly file: SpooledFile,
    private readonly lineBytes: number,
  ) {}

  async *lines(): AsyncGenerator<ImportLine[], void, undefined> {
    const slice = new TimeSlice();
    let line = 0;
    let blank = 0;
    let batch: ImportLine[] = [];
    for await (const texts of textsOf(this.file, this.lineBytes)) {
      for (const text of texts) {
        line++;
        if (text === null) throw this.tooLong(line);
        if (!isBlank(text)) batch.push(readLine(text, line));
        else if (++blank > BLANK_LINES_MAX) throw tooManyBlank(line);
        if (batch.length === BATCH_LINES) {
          yield batch;
          batch = [];
        }
        if (slice.isOver()) await slice.yield();
      }
      yield batch;
      batch = [];
    }
  }

  checkOpen(): void {
    this.file.checkOpen();
  }

  private tooLong(line: number): Problem {
    const detail = `has more than ${this.lineBytes} bytes, the maximum size of a record`;
    return problem.invalidField(pointerOf(line), detail);
  }
}

function readLine(text: Buffer, line: number): ImportLine {
  try {
    return { line, value: parseJson(text), fault: null, size: text.length };
  } catch (error) {
    if (!(error instanceof JsonInputError)) throw error;
    return { line, value: null, fault: faultOf(error, line), size: 0 };
  }
}

/**
 * Yields the lines of each chunk of a file, which must be read before the next chunk. A line that is too long is null.
 *
 * @param lineBytes maximum size of a line, in bytes
 */
export async function* textsOf(
  file: SpooledFile,
  lineBytes: number,
): AsyncGenerator<Iterable<Buffer | null>, void, undefined> {
  let partial: Buffer[] = [];
  let partialBytes = 0;
  function* linesOf(chunk: Buffer): Generator<Buffer | null> {
    let from = 0;
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, from)) {
      const last = chunk.subarray(from, end);
      yield partialBytes + last.length > lineBytes ? null : joined(partial, last);
      partial = [];
      partialBytes = 0;
      from = end + 1;
    }
    partial.push(chunk.subarray(from));
    partialBytes += chunk.length - from;
    if (partialBytes > lineBytes) yield null;
  }
  for await (const chunk of file.chunks()) yield linesOf(chunk);
  if (partialBytes > 0) yield [Buffer.concat(partial)];
}

const joined = (partial: readonly Buffer[], last: Buffer): Buffer =>
  partial.length > 0 ? Buffer.concat([...partial, last]) : last;

const isBlank = (text: Buffer): boolean => text.length < 64 && BLANK.test(text.toString('latin1'));

function tooManyBlank(line: number): Problem {
  const detail = `is blank line ${BLANK_LINES_MAX + 1}. An import can have at most ${BLANK_LINES_MAX} blank lines`;
  return problem.invalidField(pointerOf(line), detail);
}

/** Returns the problem of a line. Replaces the mention of the body in the parser's message with the line. */
function faultOf({ pointer, detail }: JsonInputError, line: number): Problem {
  const lineDetail = detail.replace(/^The body/, 'The line').replace(/ at line \d+, column/, ' at column');
  return problem.invalidField(pointerOf(line, pointer), lineDetail);
}
