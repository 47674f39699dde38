export const SCORER_KINDS = ['code', 'llm_judge', 'human'] as const;
export type ScorerKind = (typeof SCORER_KINDS)[number];

export const GRAINS = ['trace', 'session'] as const;
/** What one score is about: a trace, or a whole session. */
export type Grain = (typeof GRAINS)[number];

/** One version of a scorer. */
export interface PinnedScorer {
  scorer_id: string;
  scorer_version: number;
}
