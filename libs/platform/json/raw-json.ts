import { parseExactly } from './exact.parser';

/** Matches a member name that may be an array index, in JSON text of any formatting. */
const MAYBE_INDEX_NAME = /"(?:[0-9]|\\u003[0-9])+"[ \t\n\r]*:/;

/** Receives the text of each {@link RawJson} from the writer. */
export interface RawJsonSink {
  /** Stores the text and returns its placeholder. */
  take(text: string): string;
}

let sink: RawJsonSink | undefined;

/**
 * JSON text from a PostgreSQL `json` column, which is written into responses verbatim. Reads neither parse nor serialise
 * it.
 *
 * The text is trusted to be JSON, because it was checked when it was written.
 */
export class RawJson {
  constructor(readonly text: string) {}

  /**
   * Returns a new value at each call, with the order of its members recorded like `parseJson` does.
   *
   * @throws SyntaxError if the text is not JSON
   */
  parse(): unknown {
    const value: unknown = JSON.parse(this.text);
    return MAYBE_INDEX_NAME.test(this.text) ? parseExactly(this.text, { source: 'stored' }) : value;
  }

  /** Supports `JSON.stringify`, which is slower than `toJsonText`. */
  toJSON(): unknown {
    return sink === undefined ? this.parse() : sink.take(this.text);
  }
}

/** Runs `work`, and passes the text of every {@link RawJson} that it serialises to `target`. */
export function collectingRawJson<T>(target: RawJsonSink, work: () => T): T {
  const outer = sink;
  sink = target;
  try {
    return work();
  } finally {
    sink = outer;
  }
}
