import { parseExactly } from './exact.parser';
import { freeFormNumberFault, isKeptByDouble } from './number.rule';
import { isPlainText } from './text.scanner';
import type { JsonCursor } from './json.cursor';

/** Matches a member name that may be an array index, in JSON text of any formatting. */
const MAYBE_INDEX_NAME = /"(?:[0-9]|\\u003[0-9])+"[ \t\n\r]*:/;

/** The escape of a NUL character in JSON. */
const NUL = '\\u0000';
/** Begins a pair of noncharacters that is stored instead of a NUL or of this character itself. */
const MARK = '\ufdd0';
const STORED: Record<string, string> = { [NUL]: '\ufdd0\ufdd1', [MARK]: '\ufdd0\ufdd2' };
/** Matches complete escapes, so that text after an escaped backslash is not mistaken for an escape. */
const ESCAPE_OR_MARK = /\\(?:u[0-9a-f]{4}|[^])|\ufdd0/g;
const STORED_PAIR = /\ufdd0([\ufdd1\ufdd2])/g;

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

  /** Returns the JSON of a stored text. Reverses `storedJson`. */
  static fromStored(text: string): RawJson {
    if (!text.includes(MARK)) return new RawJson(text);
    return new RawJson(text.replace(STORED_PAIR, (_, kind) => (kind === '\ufdd1' ? NUL : MARK)));
  }

  /**
   * Returns a new value at each call, with the order of its members recorded like `parseJson` does. Numbers become doubles.
   *
   * @throws SyntaxError if the text is not JSON
   */
  parse(): unknown {
    const value: unknown = JSON.parse(this.text);
    return MAYBE_INDEX_NAME.test(this.text) ? parseExactly(this.text, { number: Number }) : value;
  }

  /** Like `parse`, but each number that JavaScript would write in another way is a `RawJson`. */
  parseExactly(): unknown {
    return isPlainText(this.text) ? JSON.parse(this.text) : parseExactly(this.text, { number: exactNumber });
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

/** Tells whether a parsed JSON value is an object, and neither an array nor null. A `RawJson` is not parsed. */
export const isJsonObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof RawJson);

/** Like `isJsonObject`, for a free-form value, which may be a `RawJson` without leading whitespace. */
export const isObjectValue = (value: unknown): boolean =>
  value instanceof RawJson ? value.text.startsWith('{') : isJsonObject(value);

/**
 * Returns JSON text in the form in which it is stored in `json` and `jsonb` columns. PostgreSQL accepts a NUL character in
 * `json`, but then cannot read any member of it. It is stored as two noncharacters, which Unicode reserves for such uses.
 * They are not written as escapes, because some functions of PostgreSQL, such as `json_to_recordset`, decode escapes.
 */
export const storedJson = (text: string): string =>
  text.includes(NUL) || text.includes(MARK)
    ? text.replace(ESCAPE_OR_MARK, (match) => STORED[match] ?? match)
    : text;

/** Returns a number, as a `RawJson` if JavaScript would write it in another way. */
const exactNumber = (literal: string): unknown => {
  const value = Number(literal);
  return isKeptByDouble(literal, value) ? value : new RawJson(literal);
};

/** Like `exactNumber`, for the number of a body. Throws for a number that is not finite as a double. */
export function bodyNumber(literal: string, cursor: JsonCursor): unknown {
  const fault = freeFormNumberFault(literal);
  if (fault !== undefined) throw cursor.rejection(fault);
  return exactNumber(literal);
}

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
