import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { BUILTIN_IDENTITY } from './embeddings/builtin.embedder';
import { partsLiteral } from './embeddings/parts';
import { cutText, markOf } from './search-words';
import type { SearchDocument, SearchType } from './search-document';

/** Characters of a body that are looked through. */
export const BODY_MAX = 64 * 1024;

/** A document as it is stored. */
export interface StoredDocument {
  document_id: number;
  resource_type: SearchType;
  resource_id: string;
  workspace_id: string;
  revision: number;
}

/**
 * Held in share mode by whatever writes about documents, until it commits: then it was written for all backends that
 * there were when it was taken. Who adds one sees by it who may have missed that, and none goes while it is held.
 */
export const BACKENDS_LOCK = `hashtextextended('search_backends', 0)`;

const PUT = {
  name: 'search-document.put',
  text: `WITH locked AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared(${BACKENDS_LOCK}))
    INSERT INTO search_documents AS d
      (resource_type, resource_id, org_id, workspace_id, name, description, body, updated_at, words)
    SELECT type, id, $1, workspace_id, name, description, body, updated_at, search_document_words($3, name, description, body)
    FROM locked, jsonb_to_recordset($2::jsonb)
      AS given(type text, id text, workspace_id text, name text, description text, body text, updated_at timestamptz)
    ORDER BY type, id
    ON CONFLICT (resource_type, resource_id) DO UPDATE
      SET name = excluded.name, description = excluded.description, body = excluded.body, words = excluded.words,
        updated_at = excluded.updated_at,
        revision = d.revision + ((d.name, d.description, d.body)
          IS DISTINCT FROM (excluded.name, excluded.description, excluded.body))::integer
      WHERE d.org_id = excluded.org_id
    RETURNING document_id, resource_type, resource_id, workspace_id, revision`,
};

/** A statement of its own, after the lock was taken: it sees the backends that were added until then. */
const PUT_EMBEDDINGS = {
  name: 'search-embedding.put',
  text: `INSERT INTO search_embeddings AS e
      (document_id, backend_id, org_id, workspace_id, resource_type, resource_id, revision, parts, is_pending, due_at)
    SELECT document_id, backend_id, $1, workspace_id, resource_type, resource_id, revision,
      CASE WHEN identity = $2 THEN parts::cube[] END, identity <> $2, now()
    FROM unnest($3::bigint[], $4::text[], $5::text[], $6::text[], $7::integer[], $8::text[])
      AS given(document_id, workspace_id, resource_type, resource_id, revision, parts)
    CROSS JOIN search_backends
    ORDER BY document_id, backend_id
    ON CONFLICT (document_id, backend_id) DO UPDATE
      SET parts = CASE WHEN excluded.is_pending THEN e.parts ELSE excluded.parts END, revision = excluded.revision, is_pending = excluded.is_pending,
        attempts = 0, due_at = excluded.due_at
      WHERE e.revision <> excluded.revision AND e.org_id = excluded.org_id`,
};

@Injectable()
export class SearchIndexRepository {
  /** Writes documents in one statement, in place of those that are there of the same resources. */
  put(tx: Tx, scope: OrgScope, documents: readonly SearchDocument[]): Promise<StoredDocument[]> {
    const given = documents.map(({ workspaceId, updatedAt = new Date(), body = '', ...one }) => ({
      ...one,
      workspace_id: workspaceId,
      updated_at: updatedAt,
      body: cutText(body, BODY_MAX).replaceAll('\0', ' '),
    }));
    return tx.query<StoredDocument>(PUT, [scope.orgId, JSON.stringify(given), markOf(scope.orgId)]);
  }

  /** Writes what the built-in embedder makes of documents, and that other backends have yet to be asked. */
  async putEmbeddings(
    tx: Tx,
    scope: OrgScope,
    embedded: readonly { document: StoredDocument; vector: Float64Array | null }[],
  ): Promise<void> {
    const column = <Value>(of: (document: StoredDocument) => Value): Value[] =>
      embedded.map(({ document }) => of(document));
    await tx.query(PUT_EMBEDDINGS, [
      scope.orgId,
      BUILTIN_IDENTITY,
      column((document) => document.document_id),
      column((document) => document.workspace_id),
      column((document) => document.resource_type),
      column((document) => document.resource_id),
      column((document) => document.revision),
      embedded.map(({ vector }) => vector && partsLiteral(vector)),
    ]);
  }

  /** Embeddings go with their documents. */
  async remove(tx: Tx, scope: OrgScope, type: SearchType, ids: readonly string[]): Promise<void> {
    await tx.query(
      `DELETE FROM search_documents
       WHERE resource_type = $1 AND resource_id = ANY ($2) AND org_id = $3`,
      [type, ids, scope.orgId],
    );
  }
}
