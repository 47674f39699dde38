import { parseExactly } from './exact.parser';
import { isPlainText } from './text.scanner';

/** Matches a member name that may be an array index, in JSON text of any formatting. */
const MAYBE_INDEX_NAME = /"(?:[0-9]|\\u003[0-9])+"[ \t\n\r]*:/;

/** The escape of a NUL character in JSON, and the escape that is stored instead, because PostgreSQL fails to read a NUL. */
const NUL = '\\u0000';
const STORED_NUL = '\\ufdd0';
const ESCAPES = /\\(?:u[0-9a-f]{4}|[^])/g;

/** Receives the text of each {@link RawJson} from the writer. */
export interface RawJsonSink {
  /** Stores the text and returns its placeholder. */
  take(text: string): string;
}

let sink: RawJsonSink | undefined;

/**
 * JSON text, from a PostgreSQL `json` column or a request, which is stored and written into responses verbatim. Reads
 * neither parse nor serialize it.
 *
 * The text is trusted to be JSON, because it was checked when it was received.
 */
export class RawJson {
  constructor(readonly text: string) {}

  static readonly of = (text: string): RawJson => new RawJson(text);

  /** Returns the JSON of a stored text. Reverses `storedJson`. */
  static fromStored(text: string): RawJson {
    return new RawJson(text.includes(STORED_NUL) ? replaced(text, STORED_NUL, NUL) : text);
  }

  /**
   * Returns a new value at each call, with the order of its members recorded like `parseJson` does. Numbers become doubles.
   *
   * @throws SyntaxError if the text is not JSON
   */
  parse(): unknown {
    const value: unknown = JSON.parse(this.text);
    return MAYBE_INDEX_NAME.test(this.text) ? parseExactly(this.text, { source: 'stored' }) : value;
  }

  /** Like `parse`, but each number that JavaScript would write in another way is a `RawJson`. */
  parseExactly(): unknown {
    return isPlainText(this.text, 'digits')
      ? JSON.parse(this.text)
      : parseExactly(this.text, { source: 'digits', keep: RawJson.of });
  }

  /** Supports `JSON.stringify`, which is slower than `toJsonText`. */
  toJSON(): unknown {
    return sink === undefined ? this.parse() : sink.take(this.text);
  }

  /** Called by the PostgreSQL driver for a parameter. */
  toPostgres(): string {
    return storedJson(this.text);
  }
}

/**
 * Returns JSON text in the form in which it is stored in `json` and `jsonb` columns. PostgreSQL accepts a NUL character in
 * `json`, but then cannot read any member of it. It is stored as an escape of U+FDD0, which Unicode reserves for such uses:
 * texts that this service writes contain no other escape of that character.
 */
export const storedJson = (text: string): string =>
  text.includes(NUL) ? replaced(text, NUL, STORED_NUL) : text;

/** Matches complete escapes, so that text after an escaped backslash is not mistaken for an escape. */
const replaced = (text: string, from: string, to: string): string =>
  text.replace(ESCAPES, (escape) => (escape === from ? to : escape));

/** Runs `work`, and passes the text of every {@link RawJson} that it serializes to `target`. */
export function collectingRawJson<T>(target: RawJsonSink, work: () => T): T {
  const outer = sink;
  sink = target;
  try {
    return work();
  } finally {
    sink = outer;
  }
}
