import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database } from '#platform/db';
import type { RawJson } from '#platform/json';

/** What a scorer sees of the result that names its target. */
export interface NamingResultContent {
  experiment_id: string;
  result_id: string;
  session_id: string | null;
  input: RawJson | null;
  output: RawJson | null;
  expected: RawJson | null;
  metadata: RawJson | null;
  /** Bytes of the four as JSON. Where they are too many, the four are null. */
  size: number;
}

const READ = {
  name: 'scoring-subject.read-results',
  text: `SELECT r.experiment_id, r.result_id, r.session_id, size,
           CASE WHEN size <= $4 THEN input END AS input, CASE WHEN size <= $4 THEN output END AS output,
           CASE WHEN size <= $4 THEN expected END AS expected, CASE WHEN size <= $4 THEN metadata END AS metadata
    FROM (SELECT $1::text AS workspace_id, * FROM unnest($2::text[], $3::text[]) AS keys(experiment_id, result_id)
          OFFSET 0) given
    JOIN results r USING (workspace_id, experiment_id, result_id)
    CROSS JOIN LATERAL (
      SELECT coalesce(octet_length(r.input::text), 0) + coalesce(octet_length(r.output::text), 0)
             + coalesce(octet_length(r.expected::text), 0) + coalesce(octet_length(r.metadata::text), 0) AS size
    ) sized`,
};

@Injectable()
export class SubjectRepository {
  constructor(private readonly database: Database) {}

  /** The results with these keys, without the content of those that are larger than `maxSize` bytes of JSON. */
  readResults(
    scope: Scope,
    keys: readonly { experimentId: string; resultId: string }[],
    maxSize: number,
  ): Promise<NamingResultContent[]> {
    if (keys.length === 0) return Promise.resolve([]);
    return this.database.query<NamingResultContent>(READ, [
      scope.workspaceId,
      keys.map((key) => key.experimentId),
      keys.map((key) => key.resultId),
      maxSize,
    ]);
  }
}
