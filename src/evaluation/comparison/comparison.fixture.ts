import { Pace } from '#platform/turns';
import { PairedCases } from './paired-cases';
import { PreparedComparison } from './prepared-comparison';
import { ScoredResults } from './scored-results';

type Scores = Record<string, number | null>;

/** One side, whose nth result is of the nth case. */
export async function scoredOf(
  side: string,
  scores: readonly Scores[],
  scorers: readonly string[],
): Promise<ScoredResults> {
  const scored = new ScoredResults(scorers);
  const batch = {
    resultIds: scores.map((_, i) => `res_${side}${String(i).padStart(26, '0')}`),
    caseKeys: scores.map((_, i) => `case ${i}`),
    bytes: scores.map(() => 1),
    scores: [...scores],
  };
  await scored.add(batch, new Pace());
  return scored;
}

/** Two sides by one scorer, `s`. */
export async function pairedOf(scores: readonly (readonly [number, number])[]): Promise<PairedCases> {
  const side = (which: 0 | 1): Promise<ScoredResults> =>
    scoredOf(
      String(which),
      scores.map((pair) => ({ s: pair[which] })),
      ['s'],
    );
  return PairedCases.of(await side(0), await side(1), ['s'], new Pace());
}

/** Two experiments that are ready to be compared. */
export async function preparedOf(
  candidate: readonly Scores[],
  baseline: readonly Scores[],
  scorers: string[],
): Promise<PreparedComparison> {
  const side = async (experimentId: string, scores: readonly Scores[]) => ({
    experimentId,
    means: scorers.map((scorer) => ({ scorer, mean: 0, count: scores.length })),
    scored: await scoredOf(experimentId, scores, scorers),
  });
  return PreparedComparison.of(
    await side('exp_a', candidate),
    await side('exp_b', baseline),
    scorers,
    new Pace(),
  );
}
