import type { RawJson } from '#platform/json';
import type { ShownScores } from '../../scores';

/** The result of one case of an experiment, as its table stores it. */
export interface ResultRow {
  result_id: string;
  experiment_id: string;
  workspace_id: string;
  case_id: string;
  input: RawJson | null;
  expected: RawJson | null;
  metadata: RawJson;
  tags: string[];
  dataset_record_id: string | null;
  /** The version of the record in the experiment's snapshot. */
  dataset_record_version: number | null;
  output: RawJson | null;
  error: RawJson | null;
  trace_id: string | null;
  session_id: string | null;
  duration_ms: number | null;
  trial_group: string | null;
  trial_index: number | null;
  /** Raised when the result is replaced. */
  version: number;
  created_at: Date;
  updated_at: Date;
  created_by: string;
  /** Raised by each change of the result itself, but not by scores. Serves as the ETag. */
  generation: number;
  /** Whether the result's case is one that the experiment expects. */
  is_expected: boolean;
  /** Whether its content was erased. */
  erased: boolean;
}

/** A result with its current scores. */
export type Result = ResultRow & ShownScores;

/**
 * The columns of a result: their type, and who sets them. The columns of a `case` are sent for each result of a request, and
 * those of a `request` once. The `counter`s are set by the database.
 */
export const RESULT_COLUMNS = {
  result_id: { type: 'text', from: 'case' },
  experiment_id: { type: 'text', from: 'request' },
  workspace_id: { type: 'text', from: 'request' },
  case_id: { type: 'text', from: 'case' },
  input: { type: 'json', from: 'case' },
  expected: { type: 'json', from: 'case' },
  metadata: { type: 'json', from: 'case' },
  tags: { type: 'text[]', from: 'case' },
  dataset_record_id: { type: 'text', from: 'case' },
  dataset_record_version: { type: 'integer', from: 'case' },
  output: { type: 'json', from: 'case' },
  error: { type: 'json', from: 'case' },
  trace_id: { type: 'text', from: 'case' },
  session_id: { type: 'text', from: 'case' },
  duration_ms: { type: 'double precision', from: 'case' },
  trial_group: { type: 'text', from: 'case' },
  trial_index: { type: 'integer', from: 'case' },
  version: { type: 'integer', from: 'counter' },
  created_at: { type: 'timestamptz', from: 'request' },
  updated_at: { type: 'timestamptz', from: 'request' },
  created_by: { type: 'text', from: 'request' },
  generation: { type: 'integer', from: 'counter' },
  is_expected: { type: 'boolean', from: 'case' },
  erased: { type: 'boolean', from: 'counter' },
} as const satisfies Record<keyof ResultRow, { type: string; from: 'case' | 'request' | 'counter' }>;

/** The members of a result's view, besides `archived_at`, in their order. */
export const RESULT_FIELDS = (Object.keys(RESULT_COLUMNS) as (keyof ResultRow)[]).flatMap(
  (name): (keyof Result)[] => {
    if (name === 'generation' || name === 'is_expected') return [];
    return name === 'error' ? [name, 'scores', 'score_details'] : [name];
  },
) as Exclude<keyof Result, 'generation' | 'is_expected'>[];
