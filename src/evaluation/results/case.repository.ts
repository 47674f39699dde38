import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import type { DatasetVersionRow } from '../dataset-versions/dataset-version.entity';
import type { ExperimentState } from '../experiments/experiment.repository';

/**
 * Which of some case ids a file has. Planned each time: a plan that is kept from when the table was small reads all of
 * it when it is large. `OFFSET 0` has each looked up, also in a file that is newer than what the statistics know.
 */
export const CSV_CASES = `SELECT case_id
  FROM (SELECT $1::text AS workspace_id, $2::bigint AS content_id, case_id FROM unnest($3::text[]) AS ids(case_id)
        OFFSET 0) given
  JOIN dataset_cases USING (workspace_id, content_id, case_id)`;

/** What tells the cases of a CSV version. */
type CsvVersion = Pick<DatasetVersionRow, 'content_id' | 'case_id_column' | 'row_count'>;

const ROW_NUMBER = /^[1-9][0-9]{0,8}$/;

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
       FROM (SELECT $1::text AS workspace_id, $3::text AS dataset_id, unnest($2::text[]) AS dataset_record_id OFFSET 0) given
       JOIN records r USING (workspace_id, dataset_record_id)
       LEFT JOIN LATERAL (
         SELECT version FROM record_versions
         WHERE dataset_id = r.dataset_id AND dataset_record_id = r.dataset_record_id AND revision <= $4
         ORDER BY revision DESC LIMIT 1
       ) v ON true
       WHERE given.dataset_id IS NULL OR r.dataset_id = given.dataset_id`,
      [scope.workspaceId, ids, experiment.dataset_id, experiment.dataset_revision ?? Number.MAX_SAFE_INTEGER],
    );
    return new Map(rows.map((row) => [row.dataset_record_id, row.version]));
  }

  /**
   * Those of the case ids that the CSV version which the experiment pins has: in a column of them or, without one, the
   * numbers of its rows.
   */
  async csvCases(tx: Tx, scope: Scope, experiment: ExperimentState, ids: string[]): Promise<Set<string>> {
    const [version] = await tx.query<CsvVersion>(
      `SELECT content_id, case_id_column, row_count FROM dataset_versions
       WHERE workspace_id = $1 AND dataset_id = $2 AND version = $3`,
      [scope.workspaceId, experiment.dataset_id, experiment.dataset_version],
    );
    if (!version) return new Set();
    if (version.case_id_column === null) {
      return new Set(ids.filter((id) => ROW_NUMBER.test(id) && Number(id) <= version.row_count));
    }
    const rows = await tx.query<{ case_id: string }>(CSV_CASES, [scope.workspaceId, version.content_id, ids]);
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
