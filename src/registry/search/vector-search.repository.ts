import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { raw, type Sql, sql, type SqlExecutor } from '#platform/db';
import { PART, partsLiteral } from '../../resources';
import { indexNameOf, vectorOf } from './embeddings/vector-index.repository';
import { byScore, type RankedDocument, type Ranking } from './ranking';
import { embeddingsBy, type SearchReach, whereEmbeddings } from './search-reach.repository';

/** Maximum number of ranked documents. */
export const NEAREST_MAX = 1_000;

/** Up to this number, all documents are compared, which takes some tens of milliseconds. */
export const COMPARED_MAX = 20_000;

/** Entries that pgvector scans, at most, to find enough entries of the caller. */
const SCANNED_MAX = 40_000;

/** The unit vector to search by, and the embedder whose vectors it is compared with. */
export interface QueryVector {
  identity: string;
  vector: Float64Array;
}

/** Finds documents by the cosine similarity of their embeddings to a vector. */
@Injectable()
export class VectorSearchRepository {
  /** A member, so that tests do not have to write that many documents. */
  comparedMax = COMPARED_MAX;

  /**
   * Returns the nearest documents by cosine, then by id. If there are many, the pgvector index selects candidates.
   * Cosines are always computed by the same expression, so that results are the same with and without the index.
   *
   * @param on a transaction, because the search changes settings
   * @param floor documents with at most this cosine are left out
   */
  async rank(
    on: SqlExecutor,
    scope: OrgScope,
    reach: SearchReach,
    query: QueryVector,
    floor: number,
  ): Promise<Ranking> {
    const isIndexed = await this.isIndexed(on, scope, reach, query.identity);
    const near = isIndexed ? await this.searchIndex(on, scope, reach, query) : [];
    // Fewer rows mean that the index scan ended early.
    const compared = near.length > NEAREST_MAX ? near : await this.compareAll(on, scope, reach, query);
    const documents = compared.filter(({ score }) => score > floor);
    return {
      documents: documents.slice(0, NEAREST_MAX),
      total: documents.length > NEAREST_MAX ? null : documents.length,
    };
  }

  /** Returns whether there is an index, and enough embeddings within reach for it to pay off. */
  private async isIndexed(
    on: SqlExecutor,
    scope: OrgScope,
    reach: SearchReach,
    identity: string,
  ): Promise<boolean> {
    const embeddings = embeddingsBy(scope, reach, identity);
    const [row] = await on.query<{ count: number; is_indexed: boolean }>(
      sql`SELECT count(*) AS count, EXISTS (SELECT FROM pg_catalog.pg_index
          WHERE indexrelid = to_regclass(${indexNameOf(identity)}) AND indisvalid) AS is_indexed
        FROM (SELECT FROM ${embeddings} e LIMIT ${this.comparedMax + 1}) few`,
    );
    return row!.is_indexed && row!.count > this.comparedMax;
  }

  private compareAll(
    on: SqlExecutor,
    scope: OrgScope,
    reach: SearchReach,
    { identity, vector }: QueryVector,
  ): Promise<RankedDocument[]> {
    const embeddings = embeddingsBy(scope, reach, identity);
    return on.query<RankedDocument>(
      sql`SELECT document_id, resource_id, ${cosineTo(vector.length)} AS score
        FROM ${embeddings} e, (SELECT ${partsLiteral(vector)}::cube[] AS query) q
        ORDER BY score DESC, resource_id LIMIT ${NEAREST_MAX + 1}`,
    );
  }

  private async searchIndex(
    on: SqlExecutor,
    scope: OrgScope,
    reach: SearchReach,
    { identity, vector }: QueryVector,
  ): Promise<RankedDocument[]> {
    await on.query(
      sql`SELECT set_config('hnsw.ef_search', ${String(NEAREST_MAX)}, true),
        set_config('hnsw.iterative_scan', 'strict_order', true),
        set_config('hnsw.max_scan_tuples', ${String(SCANNED_MAX)}, true), set_config('enable_sort', 'off', true)`,
    );
    const where = whereEmbeddings(scope, reach, identity);
    const dimensions = raw(String(vector.length));
    // The identity is part of the SQL text, so that the planner can prove that the partial index covers the query.
    const near = await on.query<RankedDocument>(
      sql`SELECT document_id, resource_id, ${cosineTo(vector.length)} AS score
        FROM search_embeddings, (SELECT ${partsLiteral(vector)}::cube[] AS query) q
        WHERE ${where.sql} AND identity = ${raw(`'${identity}'`)}
        ORDER BY ${vectorOf(vector.length)} <=> ${`[${vector.join(',')}]`}::vector(${dimensions})
        LIMIT ${NEAREST_MAX + 1}`,
    );
    await on.query('SET LOCAL enable_sort TO DEFAULT');
    return near.sort(byScore);
  }
}

/** Returns the cosine of the unit vectors `parts` and `query`, computed from the distances of their parts. */
const cosineTo = (dimensions: number): Sql => {
  const parts = Array.from({ length: Math.ceil(dimensions / PART) }, (_, index) => index + 1);
  return raw(`1 - (${parts.map((part) => `(parts[${part}] <-> query[${part}]) ^ 2`).join(' + ')}) / 2`);
};
