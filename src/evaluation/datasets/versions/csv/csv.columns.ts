import { length } from 'class-validator';
import { CsvFault } from './csv.scanner';
import type { KeptBytes } from './csv.scanner';

export const COLUMNS_MAX = 256;
export const COLUMN_NAME_MAX = 255;

/** Bytes that hold 255 characters, however they are quoted, and so suffice to detect a longer text. */
export const SHORT_TEXT_BYTES = 4096;

/** The parts of a case that columns map to. */
export const CASE_PARTS = ['input', 'expected', 'metadata', 'tags'] as const;
export type CasePart = (typeof CASE_PARTS)[number];
export type CsvMapping = Record<CasePart, string[]>;

/** The requested reading of a file's columns. */
export interface CsvOptions {
  caseIdColumn: string | null;
  mapping: Partial<Record<CasePart, readonly string[] | null>>;
}

/** The decided reading of a file's columns. */
export interface CsvLayout {
  columns: readonly string[];
  /** Null if row numbers are the case ids. */
  caseIdColumn: string | null;
  /** Contains every column once. The column of the case ids is in it only on request. */
  mapping: CsvMapping;
}

/** A fault of the options: they name a column that does not exist, or name one twice. */
export class LayoutFault extends Error {
  /** @param pointer into the options: `/case_id_column`, `/mapping/input/0` */
  constructor(
    readonly pointer: string,
    readonly detail: string,
  ) {
    super(detail);
    this.name = 'LayoutFault';
  }
}

/** The bytes of a header to keep: one more column than allowed, and enough of each name. */
export const HEADER_KEPT: KeptBytes = Array.from({ length: COLUMNS_MAX + 1 }, () => SHORT_TEXT_BYTES);

/** Returns the names in a header row. Errors: `CsvFault` for too many names, and an empty, long or repeated one. */
export function columnsOf(cells: readonly (string | undefined)[], count: number, line: number): string[] {
  if (count > COLUMNS_MAX) {
    throw new CsvFault(line, `names more than ${COLUMNS_MAX} columns`);
  }
  const places = new Map<string, number>();
  return cells.slice(0, count).map((cell, index) => {
    const name = cell ?? '';
    if (name === '') throw new CsvFault(line, `leaves the name of column ${index + 1} empty`);
    if (isLonger(name, COLUMN_NAME_MAX)) {
      throw new CsvFault(line, `names column ${index + 1} with more than ${COLUMN_NAME_MAX} characters`);
    }
    const before = places.get(name);
    if (before !== undefined) {
      throw new CsvFault(line, `gives columns ${before} and ${index + 1} the same name, ${shown(name)}`);
    }
    places.set(name, index + 1);
    return name;
  });
}

/**
 * Decides how the columns of a file are read. Columns that the mapping does not name are appended to `input`. The column
 * of the case ids is in no part unless it is mapped. Errors: `LayoutFault`.
 */
export function layoutOf(columns: readonly string[], { caseIdColumn, mapping }: CsvOptions): CsvLayout {
  const known = new Set(columns);
  if (caseIdColumn !== null && !known.has(caseIdColumn)) throw unknown('/case_id_column', caseIdColumn);
  const mapped = new Map<string, string>();
  for (const part of CASE_PARTS) {
    for (const [index, column] of (mapping[part] ?? []).entries()) {
      const pointer = `/mapping/${part}/${index}`;
      if (!known.has(column)) throw unknown(pointer, column);
      const before = mapped.get(column);
      if (before !== undefined) {
        throw new LayoutFault(pointer, `names the column ${shown(column)}, which ${before} already uses`);
      }
      mapped.set(column, pointer.slice(1));
    }
  }
  const idColumn = caseIdColumn ?? ['case_id', 'id'].find((name) => known.has(name)) ?? null;
  const rest = columns.filter((column) => !mapped.has(column) && column !== idColumn);
  return {
    columns,
    caseIdColumn: idColumn,
    mapping: {
      input: [...(mapping.input ?? []), ...rest],
      expected: [...(mapping.expected ?? [])],
      metadata: [...(mapping.metadata ?? [])],
      tags: [...(mapping.tags ?? [])],
    },
  };
}

const unknown = (pointer: string, column: string): LayoutFault =>
  new LayoutFault(pointer, `names the column ${shown(column)}, which the header does not have`);

/** Whether a text has more than `max` characters, counted as in the limits of all members. */
export const isLonger = (text: string, max: number): boolean => text.length > max && !length(text, 0, max);

/** A client's name or id, shortened and quoted for a message. */
export const shown = (text: string): string =>
  JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
