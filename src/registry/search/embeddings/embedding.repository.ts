import { Injectable } from '@nestjs/common';
import { Database, prepared, raw, sql } from '#platform/db';
import { EMBEDDED_MAX, partsLiteral } from '../../../resources';

/** A document to embed, in its current state. */
export interface PendingEmbedding {
  document_id: number;
  revision: number;
  name: string;
  description: string | null;
  body: string;
}

/** Duration of a worker's lease on documents, in seconds. */
const LEASE_S = 900;

/** Back-off after the first failed attempt, in seconds. It doubles with each attempt, up to a day. */
const RETRY_S = 5;
const RETRY_MAX_S = 86_400;

/** Embeddings that one statement marks as pending. */
const BATCH = 2_000;

/** Reads and writes the embeddings of all tenants, which workers keep up to date. */
@Injectable()
export class EmbeddingRepository {
  constructor(private readonly database: Database) {}

  /** Returns the number of dimensions of an embedder's vectors, or undefined if none are stored yet. */
  async dimensions(identity: string): Promise<number | undefined> {
    const [row] = await this.database.query<{ dimensions: number }>(
      sql`SELECT (SELECT sum(cube_dim(part)) FROM unnest(parts) part)::integer AS dimensions
        FROM search_embeddings WHERE identity = ${identity} AND parts IS NOT NULL LIMIT 1`,
    );
    return row?.dimensions;
  }

  /** Selects the embedder for all documents. */
  async select(identity: string): Promise<void> {
    await this.database.query(
      sql`INSERT INTO search_embedder (identity) VALUES (${identity})
        ON CONFLICT (is_only) DO UPDATE SET identity = excluded.identity`,
    );
  }

  async isSelected(identity: string): Promise<boolean> {
    const rows = await this.database.query(sql`SELECT FROM search_embedder WHERE identity = ${identity}`);
    return rows.length > 0;
  }

  /** Marks the embeddings by other embedders as pending. */
  async markStale(identity: string): Promise<void> {
    for (let count = BATCH; count === BATCH;) {
      const rows = await this.database.query(
        sql`UPDATE search_embeddings SET is_pending = true, attempts = 0, due_at = now()
          WHERE document_id = ANY (ARRAY(
            SELECT document_id FROM search_embeddings
            WHERE (identity < ${identity} OR identity > ${identity}) AND NOT is_pending
            LIMIT ${BATCH} FOR UPDATE SKIP LOCKED
          )) RETURNING 1`,
      );
      count = rows.length;
    }
  }

  /** Leases documents that are due. @param isRetry leases only documents that failed before, or only others */
  lease(limit: number, isRetry: boolean): Promise<PendingEmbedding[]> {
    const statement = sql`WITH due AS MATERIALIZED (
        SELECT document_id FROM search_embeddings
        WHERE is_pending AND due_at <= now() AND (attempts > 0) = ${isRetry}::boolean
        ORDER BY due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
      )
      UPDATE search_embeddings e SET due_at = now() + ${raw(String(LEASE_S))} * interval '1 second'
      FROM due JOIN search_documents d USING (document_id) WHERE e.document_id = due.document_id
      RETURNING e.document_id, e.revision, d.name, d.description, left(d.body, ${raw(String(EMBEDDED_MAX))}) AS body`;
    return this.database.query<PendingEmbedding>(prepared('search-embedding.lease', statement));
  }

  /** Stores the vectors of documents that have not changed since they were leased. A text without words has no vector. */
  async store(
    identity: string,
    results: readonly { pending: PendingEmbedding; vector: Float64Array | null }[],
  ): Promise<void> {
    const ids = results.map(({ pending }) => pending.document_id);
    const revisions = results.map(({ pending }) => pending.revision);
    const parts = results.map(({ vector }) => vector && partsLiteral(vector));
    await this.database.query(
      sql`UPDATE search_embeddings e
        SET identity = ${identity}, parts = input.parts::cube[], is_pending = false, attempts = 0
        FROM unnest(${ids}::bigint[], ${revisions}::integer[], ${parts}::text[])
          AS input(document_id, revision, parts)
        WHERE e.document_id = input.document_id AND e.revision = input.revision`,
    );
  }

  /** Releases leased documents for a retry: after a back-off if the attempt failed, or at once if there was no attempt. */
  async release(pending: readonly PendingEmbedding[], hasFailed: boolean): Promise<void> {
    const ids = pending.map((one) => one.document_id);
    const revisions = pending.map((one) => one.revision);
    await this.database.query(
      hasFailed
        ? sql`UPDATE search_embeddings e SET attempts = attempts + 1, due_at = now() + interval '1 second'
              * least(${RETRY_MAX_S}::float8, ${RETRY_S}::float8 * 2 ^ least(attempts, 20))
            FROM unnest(${ids}::bigint[], ${revisions}::integer[]) AS input(document_id, revision)
            WHERE e.document_id = input.document_id AND e.revision = input.revision`
        : sql`UPDATE search_embeddings SET due_at = now() WHERE document_id = ANY (${ids}::bigint[])`,
    );
  }
}
