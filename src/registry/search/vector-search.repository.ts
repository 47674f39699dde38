import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { raw, type Sql, sql, type SqlExecutor } from '#platform/db';
import { PART, partsLiteral } from '../../resources';
import { indexNameOf, vectorOf } from './embeddings/vector-index.repository';
import { byScore, type RankedDocument, type Ranking } from './ranking';
import { embeddingsBy, type SearchReach, whereEmbeddings } from './search-reach.repository';

/** The nearest documents that are ranked. */
export const NEAREST_MAX = 1_000;

/** Up to this number all documents are compared, which takes some tens of milliseconds. */
export const COMPARED_MAX = 20_000;

/** Entries that pgvector scans before it gives up finding enough of the caller's among others. */
const SCANNED_MAX = 40_000;

/** The vector to search by, of length 1, and the embedder whose vectors it is compared with. */
export interface QueryVector {
  identity: string;
  vector: Float64Array;
}

/** Finds documents by the cosine of their embeddings to a vector. */
@Injectable()
export class VectorSearchRepository {
  /** A member, so that tests need not write so many documents. */
  comparedMax = COMPARED_MAX;

  /**
   * Returns the nearest documents by cosine, then by id. Where there are many, the index of pgvector names candidates.
   * Cosines are always computed here, by one expression, so that results are the same with and without the index.
   *
   * @param on a transaction, because settings are made
   * @param floor cosines up to this are left out
   */
  async rank(
    on: SqlExecutor,
    scope: OrgScope,
    reach: SearchReach,
    query: QueryVector,
    floor: number,
  ): Promise<Ranking> {
    const isIndexed = await this.isIndexed(on, scope, reach, query.identity);
    const near = isIndexed ? await this.byIndex(on, scope, reach, query) : [];
    // Fewer rows mean that the index gave up.
    const compared = near.length > NEAREST_MAX ? near : await this.byAll(on, scope, reach, query);
    const documents = compared.filter(({ score }) => score > floor);
    return {
      documents: documents.slice(0, NEAREST_MAX),
      total: documents.length > NEAREST_MAX ? null : documents.length,
    };
  }

  /** Returns whether so many embeddings are within reach that the index pays, and there is one. */
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

  private byAll(
    on: SqlExecutor,
    scope: OrgScope,
    reach: SearchReach,
    { identity, vector }: QueryVector,
  ): Promise<RankedDocument[]> {
    const embeddings = embeddingsBy(scope, reach, identity);
    return on.query<RankedDocument>(
      sql`SELECT document_id, resource_id, ${cosineTo(vector.length)} AS score
        FROM ${embeddings} e, (SELECT ${partsLiteral(vector)}::cube[] AS query) given
        ORDER BY score DESC, resource_id LIMIT ${NEAREST_MAX + 1}`,
    );
  }

  private async byIndex(
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
    // The identity is in the text, so that the planner can prove that the partial index covers the query.
    const near = await on.query<RankedDocument>(
      sql`SELECT document_id, resource_id, ${cosineTo(vector.length)} AS score
        FROM search_embeddings, (SELECT ${partsLiteral(vector)}::cube[] AS query) given
        WHERE ${where.sql} AND identity = ${raw(`'${identity}'`)}
        ORDER BY ${vectorOf(vector.length)} <=> ${`[${vector.join(',')}]`}::vector(${dimensions})
        LIMIT ${NEAREST_MAX + 1}`,
    );
    await on.query('SET LOCAL enable_sort TO DEFAULT');
    return near.sort(byScore);
  }
}

/** The cosine of `parts` and `query`, unit vectors, by the distances of their parts. */
const cosineTo = (dimensions: number): Sql => {
  const parts = Array.from({ length: Math.ceil(dimensions / PART) }, (_, index) => index + 1);
  return raw(`1 - (${parts.map((part) => `(parts[${part}] <-> query[${part}]) ^ 2`).join(' + ')}) / 2`);
};
