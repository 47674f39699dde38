/**
 * What a scorer sees of one target. Members are JSON values; missing ones are null. For a session, `trace` is absent: a
 * script sees null, and checks of traces read the traces of the session.
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
 * The outcome of scoring one target: a score, or an error. A failure is never a score of 0.
 *
 * `score` is finite, or null if the scorer abstains. `error` has at most 2,000 characters and addresses the scorer's
 * author.
 */
export type ScoreOutcome =
  | { score: number | null; label?: string; reasoning?: string; answers?: Record<string, unknown> }
  | { error: string };
