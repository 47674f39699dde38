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
  /** Reads the records in batches. May be called again. Errors: 400 for a fault that ends the reading. */
  lines(): AsyncIterable<ImportLine[]>;
  /** Throws if the request has ended. */
  checkOpen(): void;
}

/** The pointer of a fault in a line. */
export const pointerOf = (line: number, member = ''): string => `/lines/${line}${member}`;

const LF = 10;
/** A blank line: JSON whitespace only. */
const BLANK = /^[ \t\r]*$/;

/** JSON Lines: a JSON object (RFC 8259) on each line. Blank lines are skipped. */
export class JsonLinesSource implements ImportSource {
  /** @param lineBytes maximum size of a line, in bytes */
  constructor(
    private readonly file: SpooledFile,
    private readonly lineBytes: number,
  ) {}

  async *lines(): AsyncGenerator<ImportLine[], void, undefined> {
    let line = 0;
    for await (const texts of this.texts()) {
      const found: ImportLine[] = [];
      for (const text of texts) {
        line++;
        if (text === null) throw this.tooLong(line);
        const read = readLine(text, line);
        if (read) found.push(read);
      }
      yield found;
    }
  }

  checkOpen(): void {
    this.file.checkOpen();
  }

  /** Yields the lines of each chunk; null for a line that is too long. */
  private async *texts(): AsyncGenerator<(Buffer | null)[], void, undefined> {
    let begun: Buffer[] = [];
    let bytesBegun = 0;
    for await (const chunk of this.file.chunks()) {
      const texts: (Buffer | null)[] = [];
      let from = 0;
      for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, from)) {
        const last = chunk.subarray(from, end);
        texts.push(begun.length > 0 ? Buffer.concat([...begun, last]) : last);
        if (texts.at(-1)!.length > this.lineBytes) texts[texts.length - 1] = null;
        begun = [];
        bytesBegun = 0;
        from = end + 1;
      }
      begun.push(chunk.subarray(from));
      bytesBegun += chunk.length - from;
      if (bytesBegun > this.lineBytes) texts.push(null);
      yield texts;
    }
    if (bytesBegun > 0) yield [Buffer.concat(begun)];
  }

  private tooLong(line: number): Problem {
    const detail = `has more than ${this.lineBytes} bytes, the maximum size of a record`;
    return problem.invalidFields([{ pointer: pointerOf(line), detail }]);
  }
}

function readLine(text: Buffer, line: number): ImportLine | null {
  if (text.length < 64 && BLANK.test(text.toString('latin1'))) return null;
  try {
    return { line, value: parseJson(text), fault: null, size: text.length };
  } catch (error) {
    if (!(error instanceof JsonInputError)) throw error;
    return { line, value: null, fault: faultOf(error, line), size: 0 };
  }
}

/** Replaces the body, which the parser's message mentions, with the line. */
function faultOf({ pointer, detail }: JsonInputError, line: number): Problem {
  const ofLine = detail.replace(/^The body/, 'The line').replace(/ at line \d+, column/, ' at column');
  return problem.invalidFields([{ pointer: pointerOf(line, pointer), detail: ofLine }]);
}
