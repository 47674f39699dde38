/** Scores with more distinct values than this are continuous and have no categories. */
export const VALUES_MAX = 20;
/** Labels with more distinct values than a scorer can have choices are free text. */
export const LABELS_MAX = 100;

/**
 * One scorer's ratings of units, as columns. A unit has one rating by a client or a run, or one by each person. Both scorers'
 * columns have the same order of units.
 */
export interface Ratings {
  /** The score of each unit, which is the mean of people's scores; NaN for none. */
  means: Float64Array;
  /** Unit i has the ratings from `starts[i]` to `starts[i + 1] - 1`. */
  starts: Int32Array;
  /** The person who gave each rating, from 0; -1 for a client or a run. */
  people: Int32Array;
  /** NaN for a rating without a score. */
  scores: Float64Array;
  labels: readonly (string | null)[];
}

/** Agreement with one person. */
export interface PersonMeasures {
  /** The person's number in `Ratings.people`. */
  person: number;
  /** Number of units measured. */
  units: number;
  /** Null if it is undefined. */
  cohens_kappa: number | null;
}

/** What the scorer gave, and what the reference gave. */
export type Pair<Value> = readonly [scorer: Value, reference: Value];

/** A label or a score. */
export type Category = string | number;

/** Whether the categories are labels or scores. */
export type Basis = 'label' | 'score';

/** The categories that two scorers gave to the units that both categorized. */
export interface Categorized {
  basis: Basis;
  /** The categories with a majority on both sides. */
  pairs: Pair<Category>[];
  tie_count: number;
  people: PersonMeasures[];
}

/**
 * Chooses the categories: labels if both scorers label every unit; else scores if they have few distinct values; else
 * labels of the units that both scorers label.
 */
export function categorize(scorer: Ratings, reference: Ratings): Categorized | null {
  const units = scorer.means.length;
  const labels = [labelsOf(scorer), labelsOf(reference)] as const;
  const labeled = unitsWith(labels, units);
  const ofLabels = () => categorizeBy('label', labels, labeled, [scorer, reference], LABELS_MAX);
  return (
    (labeled.length === units ? ofLabels() : null) ??
    categorizeByScores(scorer, reference) ??
    (labeled.length < units ? ofLabels() : null)
  );
}

function categorizeByScores(scorer: Ratings, reference: Ratings): Categorized | null {
  const scores = [scoresOf(scorer), scoresOf(reference)] as const;
  const units = unitsWith(scores, scorer.means.length);
  return categorizeBy('score', scores, units, [scorer, reference], VALUES_MAX);
}

/** Returns the category of a rating; null for none. */
type CategoryOf = (rating: number) => Category | null;
/** Returns the ratings of a unit that have a category. */
type Given = (unit: number) => { category: Category; person: number }[];

const given =
  ({ starts, people }: Ratings, categoryOf: CategoryOf): Given =>
  (unit) => {
    const ratings: { category: Category; person: number }[] = [];
    for (let i = starts[unit]!; i < starts[unit + 1]!; i++) {
      const category = categoryOf(i);
      if (category !== null) ratings.push({ category, person: people[i]! });
    }
    return ratings;
  };

const labelsOf = (ratings: Ratings): Given => given(ratings, (rating) => ratings.labels[rating] ?? null);

const scoresOf = (ratings: Ratings): Given =>
  given(ratings, (rating) => (Number.isNaN(ratings.scores[rating]!) ? null : ratings.scores[rating]!));

/** Returns the units to which both sides gave a category. */
function unitsWith([own, other]: Pair<Given>, count: number): number[] {
  const units: number[] = [];
  for (let unit = 0; unit < count; unit++) {
    if (own(unit).length > 0 && other(unit).length > 0) units.push(unit);
  }
  return units;
}

/** @param most maximum number of distinct categories. Null is returned if there are more, or no units */
function categorizeBy(
  basis: Basis,
  [own, other]: Pair<Given>,
  units: readonly number[],
  [scorer, reference]: Pair<Ratings>,
  most: number,
): Categorized | null {
  const distinct = new Set<Category>();
  const pairs: Pair<Category>[] = [];
  // People of the reference are compared with the scorer. If only the scorer has people, they are compared with the reference.
  const hasPeople = [scorer, reference].map(({ people }) => people.some((person) => person >= 0));
  const side = hasPeople[1] ? 1 : 0;
  const ofPeople = new Map<number, Pair<Category>[]>();
  let tie_count = 0;
  for (const unit of units) {
    const ratings = [own(unit), other(unit)] as const;
    for (const { category } of ratings.flat()) distinct.add(category);
    if (distinct.size > most) return null;
    const majorities = ratings.map(majorityOf);
    const [row, column] = majorities;
    if (row === null || column === null) tie_count++;
    else pairs.push([row!, column!]);
    const opposite = majorities[1 - side];
    if (opposite === null || !hasPeople[side]) continue;
    for (const { category, person } of ratings[side]) {
      if (person >= 0) addTo(ofPeople, person, [category, opposite!]);
    }
  }
  const people = [...ofPeople].map(([person, rated]) => ({
    person,
    units: rated.length,
    cohens_kappa: kappaOf(rated),
  }));
  people.sort((a, b) => b.units - a.units || a.person - b.person);
  return units.length > 0 ? { basis, pairs, tie_count, people } : null;
}

function addTo<Key, Item>(lists: Map<Key, Item[]>, key: Key, item: Item): void {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}

/** Returns the category of more than half of the ratings. Null if there is none, which is a tie. */
function majorityOf(ratings: readonly { category: Category }[]): Category | null {
  const counts = new Map<Category, number>();
  for (const { category } of ratings) {
    const count = (counts.get(category) ?? 0) + 1;
    if (2 * count > ratings.length) return category;
    counts.set(category, count);
  }
  return null;
}

/** Returns Cohen's kappa without its interval, see `cohensKappaOf`. Null if it is undefined. */
function kappaOf(pairs: readonly Pair<Category>[]): number | null {
  const margins = [new Map<Category, number>(), new Map<Category, number>()] as const;
  let alike = 0;
  for (const pair of pairs) {
    if (pair[0] === pair[1]) alike++;
    for (const side of [0, 1] as const)
      margins[side].set(pair[side], (margins[side].get(pair[side]) ?? 0) + 1);
  }
  let chance = 0;
  for (const [category, count] of margins[0]) chance += count * (margins[1].get(category) ?? 0);
  const units = pairs.length;
  return chance === units * units ? null : 1 - ((units - alike) * units) / (units * units - chance);
}

/** Whether no category has a majority. */
export const isTie = (categories: readonly Category[]): boolean =>
  majorityOf(categories.map((category) => ({ category }))) === null;
