import { isUtf8 } from 'node:buffer';
import { CsvFault } from './csv.fault';

const LF = 10;

/** Holds a file to UTF-8 without NUL characters, which PostgreSQL cannot store, as it goes by in pieces. */
export class CsvEncoding {
  /** The first bytes of a character that the next piece goes on with. */
  private begun: Buffer = Buffer.alloc(0);

  /** The first fault of the next piece, if it has one. @param line of its first byte */
  faultIn(piece: Buffer, line: number): CsvFault | null {
    const bytes = this.begun.length > 0 ? Buffer.concat([this.begun, piece]) : piece;
    const whole = bytes.length - unfinished(bytes);
    this.begun = Buffer.from(bytes.subarray(whole));
    const complete = bytes.subarray(0, whole);
    const isText = isUtf8(complete);
    if (isText && !complete.includes(0)) return null;
    return firstFault(complete, line);
  }

  /** The fault of a file that ends here, within a character. */
  faultAtEnd(line: number): CsvFault | null {
    return this.begun.length > 0 ? notUtf8(line) : null;
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

/** How many bytes at the end are the beginning of a character (RFC 3629, section 3) that is not complete. */
function unfinished(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return back < lengthBy(byte) ? back : 0;
  }
  return 0;
}

const lengthBy = (first: number): number => (first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2);
