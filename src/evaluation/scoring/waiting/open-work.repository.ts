import { Injectable } from '@nestjs/common';
import { BulkColumns, Database, prepared, sql } from '#platform/db';

/** A run or a batch. */
export interface WorkKey {
  workspaceId: string;
  /** Ids of runs and batches have different prefixes. */
  id: string;
}

const KEYS = new BulkColumns<WorkKey>([
  { name: 'workspace_id', type: 'text', value: ({ workspaceId }) => workspaceId },
  { name: 'id', type: 'text', value: ({ id }) => id },
]);

/** Tells which runs and batches are open. */
@Injectable()
export class OpenWorkRepository {
  constructor(private readonly database: Database) {}

  /** Returns the ids of the open ones among runs and batches of any workspaces. */
  async find(work: readonly WorkKey[]): Promise<Set<string>> {
    const rows = await this.database.query<{ id: string }>(
      prepared(
        'scoring.open-work',
        sql`SELECT key.id FROM ${KEYS.table(work, 'key')} CROSS JOIN LATERAL (
            SELECT FROM score_runs WHERE score_run_id = key.id AND workspace_id = key.workspace_id
              AND run_status IN ('queued', 'running')
            UNION ALL
            SELECT FROM score_batches WHERE score_batch_id = key.id AND workspace_id = key.workspace_id
              AND batch_status IN ('queued', 'running')
            OFFSET 0) open`,
      ),
    );
    return new Set(rows.map(({ id }) => id));
  }
}
