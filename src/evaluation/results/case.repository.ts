import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import type { ExperimentState } from '../experiments/experiment.repository';

/** Which of some case ids a CSV version has. Those of a version without a column for them are its row numbers. */
export const CSV_CASES = {
  name: 'case.csv-cases',
  text: `SELECT given.case_id
    FROM dataset_versions v CROSS JOIN unnest($4::text[]) AS given(case_id)
    WHERE v.workspace_id = $1 AND v.dataset_id = $2 AND v.version = $3
      AND CASE
        WHEN v.case_id_column IS NOT NULL THEN EXISTS (
          SELECT 1 FROM dataset_cases c WHERE c.content_id = v.content_id AND c.case_id = given.case_id)
        WHEN given.case_id ~ '^[1-9][0-9]{0,5}$' THEN given.case_id::integer <= v.row_count
        ELSE false
        END`,
};

/** Reads what results refer to. */
@Injectable()
export class CaseRepository {
  /**
   * The records among `ids` that a result of this experiment may name, each with its version as of the experiment's
   * start (its first one for a record that was added since).
   */
  async recordVersions(
    tx: Tx,
    scope: Scope,
    experiment: ExperimentState,
    ids: string[],
  ): Promise<Map<string, number>> {
    const rows = await tx.query<{ dataset_record_id: string; version: number }>(
      `SELECT r.dataset_record_id, coalesce(v.version, 1) AS version
       FROM records r
       LEFT JOIN LATERAL (
         SELECT version FROM record_versions
         WHERE dataset_id = r.dataset_id AND dataset_record_id = r.dataset_record_id AND revision <= $4
         ORDER BY revision DESC LIMIT 1
       ) v ON true
       WHERE r.workspace_id = $1 AND r.dataset_record_id = ANY($2) AND ($3::text IS NULL OR r.dataset_id = $3)`,
      [scope.workspaceId, ids, experiment.dataset_id, experiment.dataset_revision ?? Number.MAX_SAFE_INTEGER],
    );
    return new Map(rows.map((row) => [row.dataset_record_id, row.version]));
  }

  /** Those of the case ids that the CSV version which the experiment pins has. */
  async csvCases(tx: Tx, scope: Scope, experiment: ExperimentState, ids: string[]): Promise<Set<string>> {
    const rows = await tx.query<{ case_id: string }>(CSV_CASES, [
      scope.workspaceId,
      experiment.dataset_id,
      experiment.dataset_version,
      ids,
    ]);
    return new Set(rows.map((row) => row.case_id));
  }

  async knownScorers(tx: Tx, scope: Scope, ids: string[]): Promise<Set<string>> {
    const rows = await tx.query<{ scorer_id: string }>(
      'SELECT scorer_id FROM scorers WHERE workspace_id = $1 AND scorer_id = ANY($2)',
      [scope.workspaceId, ids],
    );
    return new Set(rows.map((row) => row.scorer_id));
  }
}
