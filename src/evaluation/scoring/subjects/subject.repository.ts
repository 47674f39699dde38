import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, prepared, sql } from '#platform/db';
import type { RawJson } from '#platform/json';

/** The content of a result. */
export interface ResultContent {
  experiment_id: string;
  result_id: string;
  session_id: string | null;
  input: RawJson | null;
  output: RawJson | null;
  expected: RawJson | null;
  metadata: RawJson | null;
  /** Size of these four members in bytes of JSON. If it is too large, the four are null. */
  size: number;
}

@Injectable()
export class SubjectRepository {
  constructor(private readonly database: Database) {}

  /** Reads results, without the content of those larger than `maxSize` bytes of JSON. */
  readResults(
    scope: Scope,
    keys: readonly { experimentId: string; resultId: string }[],
    maxSize: number,
  ): Promise<ResultContent[]> {
    if (keys.length === 0) return Promise.resolve([]);
    const experimentIds = keys.map((key) => key.experimentId);
    const resultIds = keys.map((key) => key.resultId);
    return this.database.query<ResultContent>(
      prepared(
        'scoring-subject.read-results',
        sql`SELECT r.experiment_id, r.result_id, r.session_id, size, CASE WHEN fits THEN input END AS input,
              CASE WHEN fits THEN output END AS output, CASE WHEN fits THEN expected END AS expected,
              CASE WHEN fits THEN metadata END AS metadata
            FROM (SELECT ${scope.workspaceId}::text AS workspace_id, *
                  FROM unnest(${experimentIds}::text[], ${resultIds}::text[]) AS keys(experiment_id, result_id)
                  OFFSET 0) given
            JOIN results r USING (workspace_id, experiment_id, result_id)
            CROSS JOIN LATERAL (
              SELECT coalesce(octet_length(r.input::text), 0) + coalesce(octet_length(r.output::text), 0)
                     + coalesce(octet_length(r.expected::text), 0) + coalesce(octet_length(r.metadata::text), 0) AS size
            ) sized
            CROSS JOIN LATERAL (SELECT size <= ${maxSize} AS fits) limited`,
      ),
    );
  }
}
