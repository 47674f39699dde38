import { problem, type Problem } from '#platform/problem';

export const MULTIPART_MEDIA = 'multipart/form-data';

const LINE_BREAK = '\r\n';
const HEADER_END = Buffer.from('\r\n\r\n');
const FORM_END = '--';

/** As whoever parses the form has it, too. */
const HEADER_BYTES_MAX = 16 * 1024;

/**
 * Finds the headers of a form's parts (RFC 2046, section 5.1.1) as its bytes go by: what busboy tells of a part leaves
 * the parameters of its media type out. Of a header no more than 16 KiB are searched, and of parts there are only so
 * many, so a form costs what its bytes cost. Errors: 400 for more parts, and for a boundary that begins none and ends
 * none, at which busboy would end a part without a word.
 */
export class PartHeaders {
  private readonly delimiter: Buffer;
  /** The end of what went by, where a delimiter or a header may have begun. A form may begin with its first boundary. */
  private held: Buffer = Buffer.from(LINE_BREAK);
  private parts = 0;
  private hasEnded = false;

  /** @param take is given the header of each part, without its last line break */
  constructor(
    boundary: string,
    private readonly partsMax: number,
    private readonly take: (header: string) => void,
  ) {
    this.delimiter = Buffer.from(`${LINE_BREAK}--${boundary}`);
  }

  push(chunk: Buffer): void {
    if (this.hasEnded) return;
    const bytes = Buffer.concat([this.held, chunk]);
    let rest = Math.max(0, bytes.length - this.delimiter.length + 1);
    for (let at = bytes.indexOf(this.delimiter); at >= 0;) {
      const from = at + this.delimiter.length;
      if (!this.takePart(bytes, from)) {
        rest = at;
        break;
      }
      if (this.hasEnded) return;
      at = bytes.indexOf(this.delimiter, from);
    }
    this.held = Buffer.from(bytes.subarray(rest));
  }

  /** @returns false where more bytes are needed */
  private takePart(bytes: Buffer, from: number): boolean {
    const mark = bytes.toString('latin1', from, from + LINE_BREAK.length);
    if (mark.length < LINE_BREAK.length) return false;
    this.hasEnded = mark === FORM_END;
    if (this.hasEnded) return true;
    if (mark !== LINE_BREAK) {
      throw malformedForm(
        'has its boundary where no part begins or ends: a boundary may not be within a part',
      );
    }
    const searched = bytes.subarray(from, from + HEADER_BYTES_MAX + HEADER_END.length);
    const length = searched.indexOf(HEADER_END);
    if (length < 0) {
      if (searched.length < HEADER_BYTES_MAX + HEADER_END.length) return false;
      throw malformedForm(`has a part with a header of more than ${HEADER_BYTES_MAX} bytes`);
    }
    if (++this.parts > this.partsMax) throw malformedForm(`may have at most ${this.partsMax} parts`);
    this.take(searched.toString('latin1', 0, length));
    return true;
  }
}

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const PARAMETER = new RegExp(`[ \\t]*;[ \\t]*(${TOKEN})=(?:(${TOKEN})|"((?:[^"\\\\]|\\\\.)*)")`, 'gy');

/** No longer than RFC 2046 has it: the search for one takes its length at each byte, at worst. */
const BOUNDARY = /^[ !#-[\]-~]{1,70}$/;

/**
 * The boundary that a form's `Content-Type` names. Errors: 400 for none, for two, of which parsers take this or that
 * one, and for one of more than 70 characters or with characters that are written with a backslash.
 */
export function boundaryOf(contentType: string): string {
  const parameters = contentType.slice(MULTIPART_MEDIA.length).matchAll(PARAMETER);
  const boundaries = [...parameters].filter(([, name]) => name!.toLowerCase() === 'boundary');
  const [, , token, quoted] = boundaries[0] ?? [];
  const boundary = token ?? quoted;
  if (boundaries.length !== 1 || boundary === undefined || !BOUNDARY.test(boundary)) {
    throw malformedForm('must name one boundary in Content-Type, of 1 to 70 characters of ASCII');
  }
  return boundary;
}

/** The `Content-Type` in a part's header, as sent; undefined where there is none. */
export const contentTypeIn = (header: string): string | undefined =>
  /\r\ncontent-type:([^\r\n]*(?:\r\n[ \t][^\r\n]*)*)/i.exec(header)?.[1]?.replace(/\r\n/g, '').trim();

export const malformedForm = (detail: string, cause?: unknown): Problem =>
  problem.invalidRequest(`The ${MULTIPART_MEDIA} body ${detail}.`, { cause });
