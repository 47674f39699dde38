/**
 * What a scorer sees of one target. All members are JSON values; what there is not is null. Only where a session is
 * scored is `trace` left out: a scorer sees null then too, and checks of traces look at those of the session.
 */
export interface ScoringSubject {
  input: unknown;
  output: unknown;
  expected: unknown;
  metadata: unknown;
  trace?: unknown;
  session: unknown;
}

/**
 * What a scorer made of one target: a score, or why there is none. A failure is never a score of 0.
 *
 * `score` is a finite number, or null where the scorer abstains. `error` has at most 2,000 characters and is worded
 * for the scorer's author.
 */
export type ScoreOutcome =
  | { score: number | null; label?: string; reasoning?: string; answers?: Record<string, unknown> }
  | { error: string };
