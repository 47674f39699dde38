import {
  type Cell,
  cohensKappaOf,
  intervalAlphaOf,
  nominalAlphaOf,
  quadraticKappaOf,
} from '../agreement-coefficients';
import { bootstrapInterval, type Interval } from '../bootstrap';
import { decimalMean } from '../numeric';
import { seedOf } from '../random';
import { meanAbsoluteErrorOf, meanOf, type ResampledStatistic } from '../resampled-statistic';
import {
  type Categorized,
  categorize,
  type Category,
  isTie,
  LABELS_MAX,
  type Pair,
  type PersonMeasures,
  type Ratings,
  VALUES_MAX,
} from './agreement-categories';

export interface AgreementInput {
  /** The ids of both scorers, which seed the random numbers. */
  ids: readonly [scorer: string, reference: string];
  scorer: Ratings;
  reference: Ratings;
  /** The scores of choices. Weighted kappa takes its distances from them. */
  choiceScores: ReadonlyMap<string, number>;
}

export interface Measure {
  /** Number of units measured. */
  units: number;
  value: number | null;
  confidence_interval: Interval | null;
}

/** Counts of units by the scorer's category (row) and the reference's category (column). */
export interface Confusion {
  basis: 'label' | 'score';
  categories: (string | number)[];
  /** The score of each category; null if any category has no score. */
  category_scores: number[] | null;
  counts: number[][];
  units: number;
}

interface CategoryMeasures {
  /** Number of units that are left out of the measures of categories, because no category has a majority of the people. */
  tie_count: number;
  confusion: Confusion | null;
  observed_agreement: Measure | null;
  cohens_kappa: Measure | null;
  weighted_kappa: Measure | null;
  krippendorffs_alpha_nominal: Measure | null;
  /** The mean of the kappas in `people` that are defined. Null for none. */
  mean_kappa: number | null;
  /** In descending order of their units. */
  people: PersonMeasures[];
}

export interface AgreementMeasures extends CategoryMeasures {
  krippendorffs_alpha_interval: Measure | null;
  mean_absolute_error: Measure | null;
}

/** Measures a statistic. The purpose seeds the random numbers. */
type Measurer = (purpose: string, statistic: ResampledStatistic) => Measure;

/** Measures the agreement of two scorers on the units that both rated. */
export function measureAgreement({
  ids,
  scorer,
  reference,
  choiceScores,
}: AgreementInput): AgreementMeasures {
  const measure = measurerOf(ids);
  const categoryMeasures = measureCategories(categorize(scorer, reference), choiceScores, measure);
  const pairs = numericPairs(scorer.means, reference.means);
  if (pairs.length === 0)
    return { ...categoryMeasures, krippendorffs_alpha_interval: null, mean_absolute_error: null };
  const column = (side: 0 | 1): Float64Array => Float64Array.from(pairs, (pair) => pair[side]);
  return {
    ...categoryMeasures,
    krippendorffs_alpha_interval: measure('interval alpha', intervalAlphaOf(pairs)),
    mean_absolute_error: measure('mean absolute error', meanAbsoluteErrorOf(column(0), column(1))),
  };
}

/** One rater's rating of a unit. */
export interface AnnotatorRating {
  score: number;
  label: string | null;
}

export interface AnnotatorsInput {
  /** The id of the scorer, which seeds the random numbers. */
  id: string;
  /** The ratings of each unit. Units with fewer than two are ignored. */
  units: readonly (readonly AnnotatorRating[])[];
}

/** Agreement of any number of raters. */
export interface AnnotatorMeasures {
  /** Number of units that at least two raters rated. */
  units: number;
  /** Number of these units on which no category has a majority of the raters. 0 without categories. */
  tie_count: number;
  /** Share of pairs of raters who agree, averaged over the units. */
  observed_agreement: Measure | null;
  krippendorffs_alpha_nominal: Measure | null;
  krippendorffs_alpha_interval: Measure | null;
}

/** Measures the agreement of the raters of each unit, by labels if all ratings have one, else by scores. */
export function measureAnnotators({ id, units }: AnnotatorsInput): AnnotatorMeasures {
  const rated = units.filter((ratings) => ratings.length > 1);
  if (rated.length === 0) {
    return {
      units: 0,
      tie_count: 0,
      observed_agreement: null,
      krippendorffs_alpha_nominal: null,
      krippendorffs_alpha_interval: null,
    };
  }
  const measure = measurerOf([id]);
  const labels = rated.map((ratings) => ratings.flatMap(({ label }) => label ?? []));
  const scores = rated.map((ratings) => ratings.map(({ score }) => score));
  const hasLabels = labels.every((unit, index) => unit.length === rated[index]!.length);
  const categories: Category[][] = hasLabels ? labels : scores;
  const isNominal = new Set(categories.flat()).size <= (hasLabels ? LABELS_MAX : VALUES_MAX);
  const agreement = Float64Array.from(categories, shareOfEqualPairs);
  return {
    units: rated.length,
    tie_count: isNominal ? categories.filter(isTie).length : 0,
    observed_agreement: isNominal ? measure('observed agreement', meanOf(agreement)) : null,
    krippendorffs_alpha_nominal: isNominal ? measure('nominal alpha', nominalAlphaOf(categories)) : null,
    krippendorffs_alpha_interval: measure('interval alpha', intervalAlphaOf(scores)),
  };
}

/** Returns the share of pairs of equal values. */
function shareOfEqualPairs(values: readonly (string | number)[]): number {
  const counts = new Map<string | number, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const equal = [...counts.values()].reduce((sum, count) => sum + count * (count - 1), 0);
  return equal / (values.length * (values.length - 1));
}

/** Returns a function that measures statistics. @param ids seed the random numbers, in any order */
const measurerOf =
  (ids: readonly string[]): Measurer =>
  (purpose, statistic) => ({
    units: statistic.units,
    value: Number.isFinite(statistic.estimate) ? statistic.estimate : null,
    confidence_interval: bootstrapInterval(statistic, seedOf(purpose, ...[...ids].sort())),
  });

const NO_CATEGORIES: CategoryMeasures = {
  tie_count: 0,
  confusion: null,
  observed_agreement: null,
  cohens_kappa: null,
  weighted_kappa: null,
  krippendorffs_alpha_nominal: null,
  mean_kappa: null,
  people: [],
};

function measureCategories(
  categorized: Categorized | null,
  choiceScores: ReadonlyMap<string, number>,
  measure: Measurer,
): CategoryMeasures {
  if (!categorized) return NO_CATEGORIES;
  const { basis, pairs, tie_count, people } = categorized;
  const kappas = people.flatMap(({ cohens_kappa }) => cohens_kappa ?? []);
  const ofPeople = { tie_count, mean_kappa: decimalMean(Float64Array.from(kappas)), people };
  if (pairs.length === 0) return { ...NO_CATEGORIES, ...ofPeople };
  const categories = [...new Set(pairs.flat())].sort((a, b) => (a < b ? -1 : 1));
  const indexes = new Map(categories.map((category, index) => [category, index]));
  const counts = categories.map(() => categories.map(() => 0));
  for (const [own, other] of pairs) counts[indexes.get(own)!]![indexes.get(other)!]!++;
  const cells: Cell[] = counts.flatMap((columns, row) =>
    columns.flatMap((count, column) => (count > 0 ? [{ row, column, count }] : [])),
  );
  const scores = categories.flatMap((one) => (typeof one === 'number' ? one : (choiceScores.get(one) ?? [])));
  const category_scores = scores.length === categories.length ? scores : null;
  const agreement = Float64Array.from(pairs, ([own, other]) => Number(own === other));
  return {
    ...ofPeople,
    confusion: { basis, categories, category_scores, counts, units: pairs.length },
    observed_agreement: measure('observed agreement', meanOf(agreement)),
    cohens_kappa: measure('kappa', cohensKappaOf(cells, categories.length)),
    weighted_kappa: category_scores && measure('weighted kappa', quadraticKappaOf(cells, category_scores)),
    krippendorffs_alpha_nominal: measure('nominal alpha', nominalAlphaOf(pairs)),
  };
}

function numericPairs(scorer: Float64Array, reference: Float64Array): Pair<number>[] {
  const pairs: Pair<number>[] = [];
  for (let i = 0; i < scorer.length; i++) {
    if (!Number.isNaN(scorer[i]!) && !Number.isNaN(reference[i]!)) pairs.push([scorer[i]!, reference[i]!]);
  }
  return pairs;
}
