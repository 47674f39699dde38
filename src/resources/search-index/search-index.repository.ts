import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { prepared, sql, type Tx } from '#platform/db';
import { cutText } from '#platform/json';
import { BODY_MAX, type SearchDocument, type SearchType, wordPrefixOf } from './search-document';

@Injectable()
export class SearchIndexRepository {
  /**
   * Writes documents with their embeddings. A pending embedding keeps the vector of the earlier text until a worker replaces
   * it.
   *
   * @param identity the embedder that computed `parts`, or null if the embeddings are pending
   */
  async put(
    tx: Tx,
    scope: OrgScope,
    identity: string | null,
    documents: readonly (SearchDocument & { parts?: string | null })[],
  ): Promise<void> {
    const input = documents.map(({ workspaceId, updatedAt = new Date(), body = '', ...one }) => ({
      ...one,
      workspace_id: workspaceId,
      updated_at: updatedAt,
      body: cutText(body, BODY_MAX).replaceAll('\0', ' '),
    }));
    const statement = sql`WITH input AS MATERIALIZED (
        SELECT * FROM jsonb_to_recordset(${JSON.stringify(input)}::jsonb) AS input(type text, id text,
          workspace_id text, name text, description text, body text, updated_at timestamptz, parts text)
      ), upserted AS (
        INSERT INTO search_documents AS d
          (resource_type, resource_id, org_id, workspace_id, name, description, body, updated_at, words)
        SELECT type, id, ${scope.orgId}, workspace_id, name, description, body, updated_at,
          search_document_words(${wordPrefixOf(scope.orgId)}, name, description, body)
        FROM input ORDER BY type, id
        ON CONFLICT (resource_type, resource_id) DO UPDATE
          SET name = excluded.name, description = excluded.description, body = excluded.body, words = excluded.words,
            updated_at = excluded.updated_at,
            revision = d.revision + ((d.name, d.description, d.body)
              IS DISTINCT FROM (excluded.name, excluded.description, excluded.body))::integer
          WHERE d.org_id = excluded.org_id
        RETURNING document_id, org_id, workspace_id, resource_type, resource_id, revision
      )
      INSERT INTO search_embeddings AS e
        (document_id, org_id, workspace_id, resource_type, resource_id, revision, identity, parts, is_pending, due_at)
      SELECT document_id, org_id, upserted.workspace_id, resource_type, resource_id, revision, ${identity}::text,
        parts::cube[], ${identity === null}::boolean, now()
      FROM upserted JOIN input ON type = resource_type AND id = resource_id ORDER BY document_id
      ON CONFLICT (document_id) DO UPDATE
        SET revision = excluded.revision, is_pending = excluded.is_pending, attempts = 0, due_at = excluded.due_at,
          identity = CASE WHEN excluded.is_pending THEN e.identity ELSE excluded.identity END,
          parts = CASE WHEN excluded.is_pending THEN e.parts ELSE excluded.parts END
        WHERE e.revision <> excluded.revision OR e.identity <> excluded.identity`;
    await tx.query(prepared('search-document.put', statement));
  }

  /** Removes documents, and their embeddings with them. */
  async remove(tx: Tx, scope: OrgScope, type: SearchType, ids: readonly string[]): Promise<void> {
    await tx.query(
      sql`DELETE FROM search_documents
        WHERE resource_type = ${type} AND resource_id = ANY (${ids}) AND org_id = ${scope.orgId}`,
    );
  }
}
