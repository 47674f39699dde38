/** A document and its score. */
export interface RankedDocument {
  document_id: number;
  /** The id of the resource, which orders equal scores. */
  resource_id: string;
  score: number;
}

/** The hits of one kind of search, best first. */
export interface Ranking {
  documents: RankedDocument[];
  /** The number of hits, or null if there are more than are ranked. */
  total: number | null;
}

/** A document with its ranks by words and by vectors, from 1. Null if that search did not find it. */
export interface FusedDocument extends RankedDocument {
  ranks: { keyword: number | null; vector: number | null };
}

/** The constant of reciprocal rank fusion: the larger, the less the first ranks stand out. */
const K = 60;

/**
 * Fuses two rankings by reciprocal rank (Cormack, Clarke and Büttcher, 2009): adds 1/(60 + rank) of each, because their
 * scores cannot be compared. Equal ones are ordered by id.
 */
export function fuse(keyword: readonly RankedDocument[], vector: readonly RankedDocument[]): FusedDocument[] {
  const fused = new Map<number, FusedDocument>();
  const add = (ranking: readonly RankedDocument[], by: 'keyword' | 'vector'): void => {
    for (const [index, { document_id, resource_id }] of ranking.entries()) {
      const one = fused.get(document_id) ?? {
        ...{ document_id, resource_id, score: 0 },
        ranks: { keyword: null, vector: null },
      };
      one.ranks[by] = index + 1;
      one.score += 1 / (K + index + 1);
      fused.set(document_id, one);
    }
  };
  add(keyword, 'keyword');
  add(vector, 'vector');
  return [...fused.values()].sort(byScore);
}

/** Returns one ranking alone as the result, with ranks that continue from the offset. */
export const placed = (
  ranking: readonly RankedDocument[],
  by: 'keyword' | 'vector',
  offset: number,
): FusedDocument[] =>
  ranking.map((one, index) => ({
    ...one,
    ranks: { keyword: null, vector: null, [by]: offset + index + 1 },
  }));

/** Compares documents: best first, then by id. */
export const byScore = (a: RankedDocument, b: RankedDocument): number =>
  b.score - a.score || (a.resource_id < b.resource_id ? -1 : 1);
