import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, sql } from '#platform/db';

/** Reads the ids of cases. */
@Injectable()
export class ExperimentTrialRepository {
  constructor(private readonly database: Database) {}

  /** Returns the id of the case of each result: as `ExperimentCaseDto` has it, or without a record its group or its own id. */
  async caseIdsOf(
    { workspaceId }: Scope,
    experimentId: string,
    resultIds: readonly string[],
  ): Promise<Map<string, string>> {
    const rows = await this.database.query<{ result_id: string; case_id: string }>(
      sql`SELECT result_id, coalesce(external_id, dataset_record_id, trial_group, case_id) AS case_id
        FROM unnest(${resultIds}::text[]) AS ids(id)
        CROSS JOIN LATERAL (
          SELECT result_id, case_id, trial_group, dataset_record_id,
                 (SELECT external_id FROM record_versions v
                  WHERE v.dataset_record_id = results.dataset_record_id AND v.version = results.dataset_record_version
                    AND v.workspace_id = ${workspaceId}) AS external_id
          FROM results
          WHERE experiment_id = ${experimentId} AND result_id = ids.id AND workspace_id = ${workspaceId} OFFSET 0) result`,
    );
    return new Map(rows.map((row) => [row.result_id, row.case_id]));
  }
}
