import type { ScorerMean } from '../experiments/summary.repository';
import { PairedCases } from './paired-cases';
import { type PairedDifference, pairedDifference } from './scorer-statistics';
import type { SideReading } from './comparison-reader';

/** Scorers that are compared, of those that both experiments have scores of before the others. */
export const SCORERS_MAX = 100;

export interface ComparedScorer extends PairedDifference {
  scorer: string;
  candidate: Pick<ScorerMean, 'count'> & { mean: number | null };
  baseline: Pick<ScorerMean, 'count'> & { mean: number | null };
}

/** Two experiments compared, but for what their results hold besides scores. */
export interface PreparedComparison {
  cases: PairedCases;
  scorers: ComparedScorer[];
  /** Of both sides; more than `scorers` where they are too many. */
  scorerCount: number;
}

/** Which scorers are compared: those of both sides, then those with the most scores; in the order of their names. */
function scorersToCompare(candidate: readonly ScorerMean[], baseline: readonly ScorerMean[]): string[] {
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

export async function prepare(candidate: SideReading, baseline: SideReading): Promise<PreparedComparison> {
  const cases = await PairedCases.of(candidate.scored, baseline.scored);
  const pair = [candidate.experimentId, baseline.experimentId] as const;
  const compared: ComparedScorer[] = [];
  for (const scorer of scorersToCompare(candidate.means, baseline.means)) {
    compared.push({
      scorer,
      candidate: meanOf(candidate.means, scorer),
      baseline: meanOf(baseline.means, scorer),
      ...(await pairedDifference(cases, scorer, pair)),
    });
  }
  const names = new Set([...candidate.means, ...baseline.means].map((mean) => mean.scorer));
  return { cases, scorers: compared, scorerCount: names.size };
}

const meanOf = (means: readonly ScorerMean[], scorer: string): { mean: number | null; count: number } => {
  const own = means.find((mean) => mean.scorer === scorer);
  return own ? { mean: own.mean, count: own.count } : { mean: null, count: 0 };
};
