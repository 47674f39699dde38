import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import type { SqlExecutor } from '#platform/db';
import { PART, partsLiteral } from './embeddings/parts';
import type { SearchBackend } from './embeddings/search-backend.repository';
import type { RankedDocument, Ranking } from './ranking';
import { embeddingsWithin, type SearchReach } from './search-reach';

/** The nearest documents that are ranked. */
export const NEAREST_MAX = 1_000;

/** Of so many it takes some tens of milliseconds to compare all of them. */
export const COMPARED_MAX = 20_000;

/** What pgvector looks at before it gives up finding enough of the caller's among others. */
const SCANNED_MAX = 40_000;

/** Finds documents by the cosine of their embeddings to a vector. */
@Injectable()
export class VectorSearchRepository {
  /** How many it takes until an index is asked; a member so that tests need not write so many. */
  comparedMax = COMPARED_MAX;

  /**
   * The nearest documents, in order: by their cosine, then by id. Where there are many, and pgvector is there, its index
   * names the candidates; what counts is computed here of them by the same expression as of all.
   *
   * @param on a transaction, in which settings may be made
   * @param vector of length 1
   * @param floor cosines that are no more than this are not told
   */
  async rank(
    on: SqlExecutor,
    scope: OrgScope,
    reach: SearchReach,
    backend: SearchBackend,
    vector: Float64Array,
    floor: number,
  ): Promise<Ranking> {
    const isIndexUsed = backend.is_indexed && (await this.isMany(on, scope, reach, backend));
    const near = isIndexUsed ? await this.byIndex(on, scope, reach, backend, vector) : [];
    // fewer than there are: the index gave up
    const documents = near.length > NEAREST_MAX ? near : await this.byAll(on, scope, reach, backend, vector);
    const found = documents.filter(({ score }) => score > floor);
    return {
      documents: found.slice(0, NEAREST_MAX),
      total: found.length > NEAREST_MAX ? null : found.length,
    };
  }

  private async isMany(
    on: SqlExecutor,
    scope: OrgScope,
    reach: SearchReach,
    backend: SearchBackend,
  ): Promise<boolean> {
    const where = embeddingsWithin(scope, reach).add('backend_id = ?', backend.backend_id);
    const [row] = await on.query<{ count: number }>(
      `SELECT count(*) AS count FROM (
         SELECT 1 FROM search_embeddings WHERE ${where.toString()} AND parts IS NOT NULL
         LIMIT ${where.parameter(this.comparedMax + 1)}) few`,
      where.values,
    );
    return row!.count > this.comparedMax;
  }

  private byAll(
    on: SqlExecutor,
    scope: OrgScope,
    reach: SearchReach,
    backend: SearchBackend,
    vector: Float64Array,
  ): Promise<RankedDocument[]> {
    const where = embeddingsWithin(scope, reach).add('backend_id = ?', backend.backend_id);
    const cosine = cosineTo(where.parameter(partsLiteral(vector)), vector.length);
    return on.query<RankedDocument>(
      `SELECT document_id, resource_id, ${cosine} AS score FROM search_embeddings
       WHERE ${where.toString()} AND parts IS NOT NULL
       ORDER BY score DESC, resource_id LIMIT ${NEAREST_MAX + 1}`,
      where.values,
    );
  }

  private async byIndex(
    on: SqlExecutor,
    scope: OrgScope,
    reach: SearchReach,
    backend: SearchBackend,
    vector: Float64Array,
  ): Promise<RankedDocument[]> {
    await on.query(
      `SELECT set_config('hnsw.ef_search', '${NEAREST_MAX}', true), set_config('hnsw.iterative_scan', 'strict_order', true),
         set_config('hnsw.max_scan_tuples', '${SCANNED_MAX}', true), set_config('enable_sort', 'off', true)`,
    );
    const where = embeddingsWithin(scope, reach);
    const cosine = cosineTo(where.parameter(partsLiteral(vector)), vector.length);
    // the backend stands in the text: by that the planner knows that its index has all that is asked for
    const near = await on.query<RankedDocument>(
      `SELECT document_id, resource_id, ${cosine} AS score FROM search_embeddings
       WHERE ${where.toString()} AND backend_id = ${backend.backend_id} AND parts IS NOT NULL
       ORDER BY ${vectorOf(vector.length)} <=> ${where.parameter(`[${vector.join(',')}]`)}::vector(${vector.length})
       LIMIT ${NEAREST_MAX + 1}`,
      where.values,
    );
    // what follows in the transaction is to be planned as ever
    await on.query('SET LOCAL enable_sort TO DEFAULT');
    return near.sort((a, b) => b.score - a.score || (a.resource_id < b.resource_id ? -1 : 1));
  }
}

/** The expression that an index of pgvector is of: what stands in `search_embeddings.parts`, as its type. */
export const vectorOf = (dimensions: number): string => `(search_vector(parts)::vector(${dimensions}))`;

/** The cosine of two vectors of length 1, by the distances of their parts. */
function cosineTo(parameter: string, dimensions: number): string {
  const squares = Array.from(
    { length: Math.ceil(dimensions / PART) },
    (_, index) => `(parts[${index + 1}] <-> (${parameter}::cube[])[${index + 1}]) ^ 2`,
  );
  return `1 - (${squares.join(' + ')}) / 2`;
}
