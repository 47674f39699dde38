import { toJsonText } from '#platform/json';
import { cellOfText, CSV_COLUMNS, quoted } from './record-csv';
import type { ExportedRecord } from './record-export.repository';

/** How records are written, one after another. */
export interface RecordFormat {
  /** What comes before the first. */
  head: string;
  lineOf: (record: ExportedRecord) => string;
}

/** A line of JSON (RFC 8259) each. The texts of free-form values are taken as they are kept, which is without breaks. */
const JSON_LINES: RecordFormat = {
  head: '',
  lineOf: (record) => `${toJsonText(record)}\n`,
};

const CSV: RecordFormat = {
  head: `${CSV_COLUMNS.join(',')}\r\n`,
  lineOf: (record) => {
    const json = [
      record.input?.text ?? 'null',
      record.expected?.text ?? 'null',
      record.metadata.text,
      toJsonText(record.tags),
    ];
    const texts = [record.label, record.category, record.source_kind, record.source_ref, record.external_id];
    return `${[...json, ...texts.map((text) => cellOfText(text ?? ''))].map(quoted).join(',')}\r\n`;
  },
};

export const RECORD_FORMATS = { jsonl: JSON_LINES, csv: CSV } as const;
