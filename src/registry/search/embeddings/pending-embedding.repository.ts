import { Injectable } from '@nestjs/common';
import { Database } from '#platform/db';
import { partsLiteral } from './parts';

/** What is to be embedded, as it is now. */
export interface PendingEmbedding {
  document_id: number;
  revision: number;
  /** How often it was tried, this time among them. */
  attempts: number;
  name: string;
  description: string | null;
  body: string;
}

/** How far a backend is with all documents. */
export interface EmbeddingProgress {
  /** Nothing is waited for any more; until then nothing is counted. */
  is_settled: boolean;
  documents: number;
  /** Those that have a vector. */
  vectors: number;
  /** Those that have what the backend made of them: a vector, or none because they have no words. */
  embedded: number;
}

/** Of a text that was refused so often, no more is expected: it is tried once a day, and holds up nothing. */
export const GIVEN_UP = 5;

/** How long a worker has what it took, in seconds: longer than it asks for it. */
const LEASE_S = 900;

/** Documents that are queued, or embeddings that are deleted, by one statement. */
const AT_ONCE = 2_000;

const ALL = '9223372036854775807';

const QUEUE = `WITH part AS MATERIALIZED (
    SELECT document_id, org_id, workspace_id, resource_type, resource_id, revision FROM search_documents
    WHERE document_id > (SELECT queued_to FROM search_backends WHERE backend_id = $1)
    ORDER BY document_id LIMIT ${AT_ONCE} FOR KEY SHARE
  ), queued AS (
    INSERT INTO search_embeddings
      (document_id, backend_id, org_id, workspace_id, resource_type, resource_id, revision, is_pending, due_at)
    SELECT document_id, $1, org_id, workspace_id, resource_type, resource_id, revision, true, now() FROM part
    ON CONFLICT DO NOTHING
  )
  UPDATE search_backends SET queued_to = coalesce((SELECT max(document_id) FROM part), ${ALL})
  WHERE backend_id = $1 AND queued_to < ${ALL} RETURNING queued_to = ${ALL} AS is_all`;

const TAKE = {
  name: 'search-embedding.take',
  text: `WITH due AS MATERIALIZED (
      SELECT document_id FROM search_embeddings
      WHERE backend_id = $1 AND is_pending AND due_at <= now()
      ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED
    )
    UPDATE search_embeddings e SET due_at = now() + ${LEASE_S} * interval '1 second', attempts = attempts + 1
    FROM due JOIN search_documents d USING (document_id)
    WHERE e.document_id = due.document_id AND e.backend_id = $1
    RETURNING e.document_id, e.revision, e.attempts, d.name, d.description, left(d.body, 8000) AS body`,
};

/** Embeddings that have yet to be made: across tenants, because the service itself makes them. */
@Injectable()
export class PendingEmbeddingRepository {
  constructor(private readonly database: Database) {}

  /** Queues all documents that are not yet for a backend. */
  async queueAll(backendId: number): Promise<void> {
    for (let isAll = false; !isAll;) {
      const [row] = await this.database.query<{ is_all: boolean }>(QUEUE, [backendId]);
      isAll = row?.is_all ?? true;
    }
  }

  /** Takes what is due, so that no other worker does for a while. */
  take(backendId: number, limit: number): Promise<PendingEmbedding[]> {
    return this.database.query<PendingEmbedding>(TAKE, [backendId, limit]);
  }

  /** Keeps vectors of documents that were not changed since; a null one is of a text that has none. */
  async keep(
    backendId: number,
    made: readonly { pending: PendingEmbedding; vector: Float64Array | null }[],
  ): Promise<void> {
    await this.database.query(
      `UPDATE search_embeddings e SET parts = given.parts::cube[], is_pending = false, attempts = 0
       FROM unnest($2::bigint[], $3::integer[], $4::text[]) AS given(document_id, revision, parts)
       WHERE e.document_id = given.document_id AND e.backend_id = $1 AND e.revision = given.revision`,
      [
        backendId,
        made.map(({ pending }) => pending.document_id),
        made.map(({ pending }) => pending.revision),
        made.map(({ vector }) => vector && partsLiteral(vector)),
      ],
    );
  }

  /** Gives back what was taken: for later, and where the texts are not at fault, as if it had not been tried. */
  async giveBack(
    backendId: number,
    pending: readonly PendingEmbedding[],
    waitMs: number,
    isOfTexts: boolean,
  ): Promise<void> {
    await this.database.query(
      `UPDATE search_embeddings e
       SET due_at = now() + $4 * interval '1 millisecond', attempts = attempts - $5::integer
       FROM unnest($2::bigint[], $3::integer[]) AS given(document_id, revision)
       WHERE e.document_id = given.document_id AND e.backend_id = $1 AND e.revision = given.revision`,
      [
        backendId,
        pending.map((one) => one.document_id),
        pending.map((one) => one.revision),
        waitMs,
        isOfTexts ? 0 : 1,
      ],
    );
  }

  /** How far a backend is. What it was asked for and refused is not embedded, and is waited for no more. */
  async progress(backendId: number): Promise<EmbeddingProgress> {
    const [row] = await this.database.query<EmbeddingProgress>(
      `SELECT is_settled, counted.* FROM search_backends b,
         LATERAL (SELECT queued_to = ${ALL} AND NOT EXISTS (SELECT 1 FROM search_embeddings e
           WHERE e.backend_id = b.backend_id AND is_pending AND parts IS NULL AND attempts < ${GIVEN_UP}) AS is_settled
         ) settled,
         LATERAL (SELECT count(*) AS documents, count(parts) AS vectors,
             count(*) FILTER (WHERE parts IS NOT NULL OR NOT is_pending) AS embedded
           FROM search_embeddings e WHERE e.backend_id = b.backend_id AND is_settled) counted
       WHERE backend_id = $1`,
      [backendId],
    );
    return row ?? { is_settled: false, documents: 0, vectors: 0, embedded: 0 };
  }

  /** Whether a backend has made a vector yet, or there is nothing to make one of. */
  async hasBegun(backendId: number): Promise<boolean> {
    const [row] = await this.database.query<{ has_begun: boolean }>(
      `SELECT EXISTS (SELECT 1 FROM search_embeddings WHERE backend_id = $1 AND parts IS NOT NULL)
         OR NOT EXISTS (SELECT 1 FROM search_documents) AS has_begun`,
      [backendId],
    );
    return row!.has_begun;
  }

  /** Deletes embeddings of a backend that nobody goes by any more, some at a time, and stops where it is wanted again. */
  async deleteMost(backendId: number): Promise<void> {
    for (let gone = AT_ONCE; gone === AT_ONCE;) {
      const rows = await this.database.query(
        `DELETE FROM search_embeddings WHERE ctid = ANY (ARRAY(
           SELECT ctid FROM search_embeddings WHERE backend_id = $1
             AND (SELECT NOT is_active AND wanted_at < (SELECT max(wanted_at) FROM search_backends)
               FROM search_backends WHERE backend_id = $1)
           LIMIT ${AT_ONCE} FOR UPDATE SKIP LOCKED
         )) RETURNING 1`,
        [backendId],
      );
      gone = rows.length;
    }
  }
}
