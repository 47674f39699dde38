const LINE_BREAK = '\r\n';
const HEADER_END = Buffer.from('\r\n\r\n');

/** A longer header is left to whoever parses the form, which refuses it. */
const HEADER_BYTES_MAX = 16 * 1024;

/**
 * Finds the headers of a form's parts (RFC 2046, section 5.1.1) as its bytes go by: what busboy tells of a part leaves
 * the parameters of its media type out.
 */
export class PartHeaders {
  private readonly delimiter: Buffer;
  /** The end of what went by, where a delimiter or a header may have begun. A form may begin with its first boundary. */
  private held: Buffer = Buffer.from(LINE_BREAK);

  /** @param take is given the header of each part, without its last line break */
  constructor(
    boundary: string,
    private readonly take: (header: string) => void,
  ) {
    this.delimiter = Buffer.from(`${LINE_BREAK}--${boundary}`);
  }

  push(chunk: Buffer): void {
    const bytes = Buffer.concat([this.held, chunk]);
    let rest = Math.max(0, bytes.length - this.delimiter.length);
    for (let at = bytes.indexOf(this.delimiter); at >= 0;) {
      const from = at + this.delimiter.length;
      const end = bytes.indexOf(HEADER_END, from);
      const isMissing = end < 0 || end - from > HEADER_BYTES_MAX;
      if (isMissing && bytes.length - from <= HEADER_BYTES_MAX) {
        rest = at;
        break;
      }
      if (!isMissing && bytes.toString('latin1', from, from + 2) === LINE_BREAK) {
        this.take(bytes.toString('latin1', from, end));
      }
      at = bytes.indexOf(this.delimiter, from);
    }
    this.held = Buffer.from(bytes.subarray(rest));
  }
}

/** The boundary that a form's `Content-Type` names; undefined where it names none. */
export function boundaryOf(contentType: string): string | undefined {
  const [, quoted, token] = /;\s*boundary\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/i.exec(contentType) ?? [];
  return quoted?.replace(/\\(.)/g, '$1') ?? token;
}

/** The `Content-Type` in a part's header, as sent; undefined where there is none. */
export const contentTypeIn = (header: string): string | undefined =>
  /\r\ncontent-type:([^\r\n]*(?:\r\n[ \t][^\r\n]*)*)/i.exec(header)?.[1]?.replace(/\r\n/g, '').trim();
