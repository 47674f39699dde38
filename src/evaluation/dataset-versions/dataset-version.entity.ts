import type { CsvMapping } from './csv/csv.columns';

/** A CSV file of a dataset. Never changed once it is there. */
export interface DatasetVersionRow {
  dataset_id: string;
  workspace_id: string;
  version: number;
  version_id: string;
  /** Of what its chunks and case ids are. */
  content_id: number;
  row_count: number;
  columns: string[];
  size_bytes: number;
  /** SHA-256 of the bytes, in hexadecimal. */
  sha256: string;
  /** Null where cases are called by the number of their row. */
  case_id_column: string | null;
  mapping: CsvMapping;
  /** SHA-256 of `case_id_column` and `mapping`. */
  options_sha256: string;
  created_at: Date;
  created_by: string;
}
