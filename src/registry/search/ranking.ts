/** A document, and how well it fits. */
export interface RankedDocument {
  /** Of the row. */
  document_id: number;
  /** Of the resource: decides between equal scores. */
  resource_id: string;
  score: number;
}

/** What was found one way, the best first. */
export interface Ranking {
  documents: RankedDocument[];
  /** How many were found; null where there are more than are ranked. */
  total: number | null;
}

/** A document with its place by words and by vectors, from 1; null where it was not found that way. */
export interface FusedDocument extends RankedDocument {
  ranks: { keyword: number | null; vector: number | null };
}

/** How far apart first places are from later ones. */
const K = 60;

/**
 * Reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009): what counts is the place in each ranking, 1/(60 + rank)
 * of each, because their scores cannot be compared. Equal ones in the order of their ids.
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

/** The ranking of one kind as the result: its places go on from the offset. */
export const placed = (
  ranking: readonly RankedDocument[],
  by: 'keyword' | 'vector',
  offset: number,
): FusedDocument[] =>
  ranking.map((one, index) => ({
    ...one,
    ranks: { keyword: null, vector: null, [by]: offset + index + 1 },
  }));

const byScore = (a: RankedDocument, b: RankedDocument): number =>
  b.score - a.score || (a.resource_id < b.resource_id ? -1 : 1);
