import { bootstrapInterval, type Interval } from '../statistics/bootstrap';
import { type Cell, cohensKappaOf, quadraticKappaOf } from '../statistics/kappa';
import { intervalAlphaOf, nominalAlphaOf } from '../statistics/krippendorff';
import { meanAbsoluteErrorOf, meanOf } from '../statistics/mean';
import type { Pace } from '#platform/turns';
import type { Resampled } from '../statistics/resampled';
import { seedOf } from '../statistics/xoshiro';
import type { Opinion } from './opinions';

/** Of more numbers than this a scale is continuous, and has no categories. */
const VALUES_MAX = 20;
/** Labels of more kinds than a scorer may have choices are free text. */
const LABELS_MAX = 100;

export interface OpinionPair {
  scorer: Opinion;
  reference: Opinion;
}

export interface Measure {
  /** Units that it is of. */
  units: number;
  value: number | null;
  interval: Interval | null;
}

/** How often the scorer said what a row stands for where the reference said what a column does. */
export interface Confusion {
  basis: 'label' | 'score';
  categories: (string | number)[];
  /** What each category counts in numbers: itself, or the score of the choice. Null where one of them has none. */
  values: number[] | null;
  counts: number[][];
  units: number;
}

export interface Measures {
  confusion: Confusion | null;
  observedAgreement: Measure | null;
  cohensKappa: Measure | null;
  weightedKappa: Measure | null;
  nominalAlpha: Measure | null;
  intervalAlpha: Measure | null;
  meanAbsoluteError: Measure | null;
}

/** Makes a statistic when it is its turn, and measures it. */
type Measurer = (purpose: string, make: () => Resampled) => Promise<Measure>;

/** The score of a choice, where it has one: with them, weighted kappa has distances to weigh by. */
export type ScoreOfChoice = (label: string) => number | undefined;

/** @param names what the seeds are made of: the ids of both scorers. */
export async function measuresOf(
  pairs: readonly OpinionPair[],
  names: readonly string[],
  scoreOf: ScoreOfChoice,
  pace: Pace,
): Promise<Measures> {
  const measure: Measurer = async (purpose, make) => {
    if (pace.isDue()) await pace.rest();
    const of = make();
    return {
      units: of.units,
      value: Number.isFinite(of.estimate) ? of.estimate : null,
      interval: await bootstrapInterval(of, seedOf(purpose, ...[...names].sort()), pace),
    };
  };
  const numbers = pairs.flatMap(({ scorer, reference }) =>
    scorer.score === null || reference.score === null ? [] : [[scorer.score, reference.score] as const],
  );
  const column = (side: 0 | 1): Float64Array => Float64Array.from(numbers, (pair) => pair[side]);
  const ofNumbers =
    numbers.length === 0
      ? { intervalAlpha: null, meanAbsoluteError: null }
      : {
          intervalAlpha: await measure('interval alpha', () => intervalAlphaOf(numbers)),
          meanAbsoluteError: await measure('mean absolute error', () =>
            meanAbsoluteErrorOf(column(0), column(1)),
          ),
        };
  return { ...(await measuresOfCategories(pairs, scoreOf, measure, pace)), ...ofNumbers };
}

async function measuresOfCategories(
  pairs: readonly OpinionPair[],
  scoreOf: ScoreOfChoice,
  measure: Measurer,
  pace: Pace,
): Promise<
  Pick<Measures, 'confusion' | 'observedAgreement' | 'cohensKappa' | 'weightedKappa' | 'nominalAlpha'>
> {
  if (pace.isDue()) await pace.rest();
  const categorized = categoriesOf(pairs);
  if (pace.isDue()) await pace.rest();
  if (!categorized) {
    const none = { observedAgreement: null, cohensKappa: null, weightedKappa: null, nominalAlpha: null };
    return { confusion: null, ...none };
  }
  const { basis, said } = categorized;
  const categories = sorted([...new Set(said.flat())]);
  const places = new Map(categories.map((category, place) => [category, place]));
  const counts = categories.map(() => categories.map(() => 0));
  for (const [scorer, reference] of said) counts[places.get(scorer)!]![places.get(reference)!]!++;
  const cells: Cell[] = counts.flatMap((own, row) =>
    own.flatMap((count, columnOf) => (count > 0 ? [{ row, column: columnOf, count }] : [])),
  );
  const found = categories.flatMap((one) => (typeof one === 'number' ? one : (scoreOf(one) ?? [])));
  const values = found.length === categories.length ? found : null;
  return {
    confusion: { basis, categories, values, counts, units: said.length },
    observedAgreement: await measure('observed agreement', () => observedAgreementOf(said)),
    cohensKappa: await measure('kappa', () => cohensKappaOf(cells, categories.length)),
    weightedKappa: values && (await measure('weighted kappa', () => quadraticKappaOf(cells, values))),
    nominalAlpha: await measure('nominal alpha', () => nominalAlphaOf(said)),
  };
}

/** The share of units of which both say the same. */
const observedAgreementOf = (said: readonly (readonly unknown[])[]): Resampled =>
  meanOf(Float64Array.from(said, ([scorer, reference]) => Number(scorer === reference)));

/**
 * What both say of each unit, in categories: labels where both give one of every unit, else numbers where there are few,
 * else labels where both give one of some units.
 */
function categoriesOf(
  pairs: readonly OpinionPair[],
): { basis: Confusion['basis']; said: (readonly [string | number, string | number])[] } | null {
  const both = <Value>(of: (opinion: Opinion) => Value | null): (readonly [Value, Value])[] =>
    pairs.flatMap(({ scorer, reference }) => {
      const [a, b] = [of(scorer), of(reference)];
      return a === null || b === null ? [] : [[a, b] as const];
    });
  const fits = (said: readonly (readonly unknown[])[], max: number): boolean =>
    said.length > 0 && new Set(said.flat()).size <= max;
  const labels = both(({ label }) => label);
  if (labels.length === pairs.length && fits(labels, LABELS_MAX)) return { basis: 'label', said: labels };
  const numbers = both(({ commonScore }) => commonScore);
  if (fits(numbers, VALUES_MAX)) return { basis: 'score', said: numbers };
  return fits(labels, LABELS_MAX) ? { basis: 'label', said: labels } : null;
}

const sorted = (categories: (string | number)[]): (string | number)[] =>
  categories.sort((a, b) => (a < b ? -1 : 1));
