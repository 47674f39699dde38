import {
  type Cell,
  cohensKappaOf,
  intervalAlphaOf,
  nominalAlphaOf,
  quadraticKappaOf,
} from '../agreement-coefficients';
import { bootstrapInterval, type Interval } from '../bootstrap';
import { seedOf } from '../random';
import { meanAbsoluteErrorOf, meanOf, type ResampledStatistic } from '../resampled-statistic';

/** Scores with more distinct values than this are continuous and have no categories. */
const VALUES_MAX = 20;
/** Labels with more distinct values than a scorer can have choices are free text. */
const LABELS_MAX = 100;

/** One scorer's ratings as columns. Both scorers' columns have the same order of units. */
export interface Ratings {
  /** NaN for a unit without a score. */
  scores: Float64Array;
  /** The score that most annotators gave; NaN for a unit without a score. */
  commonScores: Float64Array;
  labels: readonly (string | null)[];
}

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
  confusion: Confusion | null;
  observed_agreement: Measure | null;
  cohens_kappa: Measure | null;
  weighted_kappa: Measure | null;
  krippendorffs_alpha_nominal: Measure | null;
}

export interface AgreementMeasures extends CategoryMeasures {
  krippendorffs_alpha_interval: Measure | null;
  mean_absolute_error: Measure | null;
}

type Pair<Value> = readonly [scorer: Value, reference: Value];

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
  const pairs = numericPairs(scorer.scores, reference.scores);
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
      observed_agreement: null,
      krippendorffs_alpha_nominal: null,
      krippendorffs_alpha_interval: null,
    };
  }
  const measure = measurerOf([id]);
  const labels = rated.map((ratings) => ratings.flatMap(({ label }) => label ?? []));
  const scores = rated.map((ratings) => ratings.map(({ score }) => score));
  const hasLabels = labels.every((unit, index) => unit.length === rated[index]!.length);
  const categories: (string | number)[][] = hasLabels ? labels : scores;
  const isNominal = new Set(categories.flat()).size <= (hasLabels ? LABELS_MAX : VALUES_MAX);
  const agreement = Float64Array.from(categories, shareOfEqualPairs);
  return {
    units: rated.length,
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

interface Categorized {
  basis: Confusion['basis'];
  pairs: Pair<string | number>[];
}

function measureCategories(
  categorized: Categorized | null,
  choiceScores: ReadonlyMap<string, number>,
  measure: Measurer,
): CategoryMeasures {
  if (!categorized) {
    const none = {
      observed_agreement: null,
      cohens_kappa: null,
      weighted_kappa: null,
      krippendorffs_alpha_nominal: null,
    };
    return { confusion: null, ...none };
  }
  const { basis, pairs } = categorized;
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
    confusion: { basis, categories, category_scores, counts, units: pairs.length },
    observed_agreement: measure('observed agreement', meanOf(agreement)),
    cohens_kappa: measure('kappa', cohensKappaOf(cells, categories.length)),
    weighted_kappa: category_scores && measure('weighted kappa', quadraticKappaOf(cells, category_scores)),
    krippendorffs_alpha_nominal: measure('nominal alpha', nominalAlphaOf(pairs)),
  };
}

/**
 * Chooses the categories: labels if both scorers label every unit; else scores if they have few distinct values; else
 * labels of the units that both scorers label.
 */
function categorize(scorer: Ratings, reference: Ratings): Categorized | null {
  const labels = scorer.labels.flatMap((own, i): Pair<string>[] => {
    const other = reference.labels[i] ?? null;
    return own === null || other === null ? [] : [[own, other]];
  });
  const hasFew = (pairs: readonly Pair<unknown>[], max: number): boolean =>
    pairs.length > 0 && new Set(pairs.flat()).size <= max;
  if (labels.length === scorer.labels.length && hasFew(labels, LABELS_MAX)) {
    return { basis: 'label', pairs: labels };
  }
  const scores = numericPairs(scorer.commonScores, reference.commonScores);
  if (hasFew(scores, VALUES_MAX)) return { basis: 'score', pairs: scores };
  return hasFew(labels, LABELS_MAX) ? { basis: 'label', pairs: labels } : null;
}

function numericPairs(scorer: Float64Array, reference: Float64Array): Pair<number>[] {
  const pairs: Pair<number>[] = [];
  for (let i = 0; i < scorer.length; i++) {
    if (!Number.isNaN(scorer[i]!) && !Number.isNaN(reference[i]!)) pairs.push([scorer[i]!, reference[i]!]);
  }
  return pairs;
}
