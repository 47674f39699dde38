import { parseExactly } from './exact.parser';

/** A member name that may be an array index, in JSON text as anyone may have written it. */
const MAYBE_INDEX_NAME = /"(?:[0-9]|\\u003[0-9])+"[ \t\n\r]*:/;

/** Where the writer takes the text of a {@link RawJson} instead of its value. */
export interface RawJsonSink {
  /** Keeps the text and answers what stands in its place. */
  take(text: string): string;
}

let sink: RawJsonSink | undefined;

/**
 * JSON text as the database keeps it (a PostgreSQL `json` column), which goes into answers as it stands:
 * reads neither parse nor serialise it, and it comes back character for character.
 *
 * The text is trusted to be JSON; it is checked when it is written, not each time it is read.
 */
export class RawJson {
  constructor(readonly text: string) {}

  /**
   * The value, made anew at each call, with the order of its members recorded as by `parseJson`.
   *
   * @throws SyntaxError when the text is not JSON.
   */
  parse(): unknown {
    const value: unknown = JSON.parse(this.text);
    return MAYBE_INDEX_NAME.test(this.text) ? parseExactly(this.text, { source: 'stored' }) : value;
  }

  /** So that `JSON.stringify` is right too, only slower than `toJsonText`. */
  toJSON(): unknown {
    return sink === undefined ? this.parse() : sink.take(this.text);
  }
}

/** Runs `work`, meanwhile handing the text of every {@link RawJson} that is serialised to `target`. */
export function collectingRawJson<T>(target: RawJsonSink, work: () => T): T {
  const outer = sink;
  sink = target;
  try {
    return work();
  } finally {
    sink = outer;
  }
}
