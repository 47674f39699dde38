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
  /** Size of these four members in bytes of JSON. If they were not read, the four are null. */
  size: number;
}

@Injectable()
export class SubjectRepository {
  constructor(private readonly database: Database) {}

  /** Reads results. The smallest of them include content, up to `maxBytes` of JSON in total. */
  readResults(
    scope: Scope,
    keys: readonly { experimentId: string; resultId: string }[],
    maxBytes: number,
  ): Promise<ResultContent[]> {
    if (keys.length === 0) return Promise.resolve([]);
    const experimentIds = keys.map((key) => key.experimentId);
    const resultIds = keys.map((key) => key.resultId);
    return this.database.query<ResultContent>(
      prepared(
        'scoring-subject.read-results',
        sql`SELECT r.experiment_id, r.result_id, r.session_id, r.size, CASE WHEN fits THEN r.input END AS input,
              CASE WHEN fits THEN r.output END AS output, CASE WHEN fits THEN r.expected END AS expected,
              CASE WHEN fits THEN r.metadata END AS metadata
            FROM (
              SELECT r.*, size, sum(size) OVER (ORDER BY size, r.result_id ROWS UNBOUNDED PRECEDING) <= ${maxBytes} AS fits
              FROM (SELECT ${scope.workspaceId}::text AS workspace_id, *
                    FROM unnest(${experimentIds}::text[], ${resultIds}::text[]) AS ids(experiment_id, result_id)
                    OFFSET 0) keys
              JOIN results r USING (workspace_id, experiment_id, result_id)
              CROSS JOIN LATERAL (
                SELECT coalesce(octet_length(r.input::text), 0) + coalesce(octet_length(r.output::text), 0)
                       + coalesce(octet_length(r.expected::text), 0) + coalesce(octet_length(r.metadata::text), 0) AS size
              ) sized
            ) r`,
      ),
    );
  }
}
