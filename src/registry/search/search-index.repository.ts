import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import type { Tx } from '#platform/db';
import type { SearchDocument, SearchType } from './search-document';

@Injectable()
export class SearchIndexRepository {
  /** Writes documents in one statement, in place of those that are there of the same resources. */
  async put(tx: Tx, scope: OrgScope, documents: readonly SearchDocument[]): Promise<void> {
    await tx.query(
      `INSERT INTO search_documents AS d
         (resource_type, resource_id, org_id, workspace_id, name, description, body, updated_at)
       SELECT type, id, $1, workspace_id, name, description, coalesce(body, ''), $3
       FROM jsonb_to_recordset($2::jsonb)
         AS given(type text, id text, workspace_id text, name text, description text, body text)
       ON CONFLICT (resource_type, resource_id) DO UPDATE
         SET name = excluded.name, description = excluded.description, body = excluded.body, updated_at = excluded.updated_at
         WHERE d.org_id = excluded.org_id`,
      [
        scope.orgId,
        JSON.stringify(documents.map(({ workspaceId, ...one }) => ({ ...one, workspace_id: workspaceId }))),
        new Date(),
      ],
    );
  }

  async remove(tx: Tx, scope: OrgScope, type: SearchType, ids: readonly string[]): Promise<void> {
    await tx.query(
      `DELETE FROM search_documents
       WHERE resource_type = $1 AND resource_id = ANY ($2) AND org_id = $3`,
      [type, ids, scope.orgId],
    );
  }
}
