/** A document and its score. */
export interface RankedDocument {
  document_id: number;
  /** The id of the resource. It orders documents with equal scores. */
  resource_id: string;
  score: number;
}

/** The hits of a keyword or a vector search, best first. */
export interface Ranking {
  documents: RankedDocument[];
  /** The number of hits, or null if there are more than the search ranks. */
  total: number | null;
}

/** A document with its ranks in the keyword and vector search, from 1. Null if that search did not find it. */
export interface FusedDocument extends RankedDocument {
  ranks: { keyword: number | null; vector: number | null };
}

/** The constant of reciprocal rank fusion. The larger it is, the less the first ranks stand out. */
const K = 60;

/**
 * Fuses two rankings by reciprocal rank (Cormack, Clarke and Büttcher, 2009): adds 1/(60 + rank) for each, because the scores
 * of the two cannot be compared. Orders equal scores by id.
 */
export function fuse(keyword: readonly RankedDocument[], vector: readonly RankedDocument[]): FusedDocument[] {
  const fused = new Map<number, FusedDocument>();
  const add = (ranking: readonly RankedDocument[], by: 'keyword' | 'vector'): void => {
    for (const [index, { document_id, resource_id }] of ranking.entries()) {
      const document = fused.get(document_id) ?? {
        ...{ document_id, resource_id, score: 0 },
        ranks: { keyword: null, vector: null },
      };
      document.ranks[by] = index + 1;
      document.score += 1 / (K + index + 1);
      fused.set(document_id, document);
    }
  };
  add(keyword, 'keyword');
  add(vector, 'vector');
  return [...fused.values()].sort(byScore);
}

/** Returns the documents of a single ranking with their ranks, which continue from the offset. */
export const withRanks = (
  ranking: readonly RankedDocument[],
  by: 'keyword' | 'vector',
  offset: number,
): FusedDocument[] =>
  ranking.map((document, index) => ({
    ...document,
    ranks: { keyword: null, vector: null, [by]: offset + index + 1 },
  }));

/** Compares documents: best first, then by id. */
export const byScore = (a: RankedDocument, b: RankedDocument): number =>
  b.score - a.score || (a.resource_id < b.resource_id ? -1 : 1);
