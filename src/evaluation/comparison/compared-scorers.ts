import type { ScorerMean } from '../experiments/summary.repository';

/** Scorers that are compared, of those that both experiments have scores of before the others. */
export const SCORERS_MAX = 100;

/** What one scorer says of each experiment. */
export interface ComparedMeans {
  scorer: string;
  candidate: { mean: number | null; count: number };
  baseline: { mean: number | null; count: number };
}

/** Which scorers are compared: those of both sides, then those with the most scores; in the order of their names. */
export function scorersToCompare(
  candidate: readonly ScorerMean[],
  baseline: readonly ScorerMean[],
): string[] {
  const counts = new Map<string, { shared: boolean; count: number }>();
  for (const { scorer, count } of [...candidate, ...baseline]) {
    const known = counts.get(scorer);
    counts.set(scorer, { shared: known !== undefined, count: count + (known?.count ?? 0) });
  }
  return [...counts]
    .sort(
      ([a, of], [b, other]) =>
        Number(other.shared) - Number(of.shared) || other.count - of.count || (a < b ? -1 : 1),
    )
    .slice(0, SCORERS_MAX)
    .map(([scorer]) => scorer)
    .sort();
}

export function meansOf(
  scorers: readonly string[],
  candidate: readonly ScorerMean[],
  baseline: readonly ScorerMean[],
): ComparedMeans[] {
  const of = (means: readonly ScorerMean[]): ((scorer: string) => ComparedMeans['candidate']) => {
    const known = new Map(means.map(({ scorer, mean, count }) => [scorer, { mean, count }]));
    return (scorer) => known.get(scorer) ?? { mean: null, count: 0 };
  };
  const [own, other] = [of(candidate), of(baseline)];
  return scorers.map((scorer) => ({ scorer, candidate: own(scorer), baseline: other(scorer) }));
}
