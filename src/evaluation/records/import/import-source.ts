import type { Problem } from '#platform/problem';

/** Records that one import may bring. */
export const IMPORT_LINES_MAX = 100_000;

/** One record on its way in. */
export interface ImportLine {
  /** Counted from 1, as an editor shows it. */
  line: number;
  /** The record as `RecordFieldsDto` takes it, not yet held to that; or what is wrong with the text of the line. */
  value: unknown;
  fault: Problem | null;
  /** About how long it is, in bytes. */
  size: number;
}

/** Records on their way in, of whatever form. */
export interface ImportSource {
  /** Reads them from the beginning, some at a time, and any number of times. Error: 400 for what ends the reading. */
  lines(): AsyncIterable<ImportLine[]>;
  /** Throws when the request is over, so that nobody waits any more for what becomes of it. */
  checkOpen(): void;
}

/** Where a fault in a line is pointed to. */
export const pointerOf = (line: number, member = ''): string => `/lines/${line}${member}`;
