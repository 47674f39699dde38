import { createHash } from 'node:crypto';
import { decodeCursor, encodeCursor, foreignCursor, PAGE_BYTES } from '#platform/paging';
import { lowerBound } from '../../statistics';
import { type CaseResults, type Outcome, outcomeOf, type PairedCases, resultsOf } from '../../statistics';

/** Maximum number of trials returned per case and side. `candidate_count` and `baseline_count` are the full numbers. */
export const TRIALS_MAX = 20;

/** `difference` puts the worst regressions first, `-difference` the largest improvements. */
export const CASE_SORTS = ['difference', '-difference'] as const;
export type CaseSort = (typeof CASE_SORTS)[number];

export interface CaseSelection {
  sort: CaseSort;
  outcome: Outcome | undefined;
  /** The scorer whose differences order the cases; undefined for the mean over all. */
  scorer: string | undefined;
  limit: number;
  offset: number;
  cursor: string | undefined;
}

/** The cases of a page, each with the indices of the results to return. */
export interface PagePlan {
  cases: { index: number; candidate: number[]; baseline: number[] }[];
  total: number;
  nextCursor: string | null;
}

/** Both sides' results by case, with the approximate size of each result as JSON, in bytes. */
export interface SizedCases extends Pick<PairedCases, 'keys' | 'isChanged'> {
  candidate: CaseResults & { sizes: Int32Array };
  baseline: CaseResults & { sizes: Int32Array };
}

/**
 * Selects the cases of a page. The page ends early once its results reach `PAGE_BYTES`. So does the list of one case's
 * results.
 *
 * @param differences one per case; NaN for a case without a difference
 */
export function planPage(cases: SizedCases, differences: Float64Array, selection: CaseSelection): PagePlan {
  const { sort, outcome, limit, offset, cursor } = selection;
  const ordered = orderCases(differences, cases.isChanged, sort, outcome);
  const start =
    cursor === undefined ? offset : indexAfter(ordered, cursor, cases.keys, differences, selection);
  const page: PagePlan = { cases: [], total: ordered.length, nextCursor: null };
  let bytes = 0;
  let next = start;
  while (next < ordered.length && page.cases.length < limit && bytes < PAGE_BYTES) {
    const index = ordered[next++]!;
    const trials = selectTrials(cases, index);
    bytes += trials.bytes;
    page.cases.push({ index, candidate: trials.candidate, baseline: trials.baseline });
  }
  const last = page.cases.at(-1);
  if (last && next < ordered.length) {
    const id = String(differences[last.index]!);
    page.nextCursor = encodeCursor({ sort: listName(selection), id, key: cases.keys[last.index]! });
  }
  return page;
}

/**
 * Returns the indices of the cases, or those of one outcome, in order of their differences. Cases with equal differences
 * stay in order of their keys, and cases without a difference come last.
 */
export function orderCases(
  differences: Float64Array,
  isChanged: Uint8Array,
  sort: CaseSort,
  outcome: Outcome | undefined,
): Int32Array {
  const selected = new Int32Array(differences.length);
  const ranks = new Float64Array(differences.length);
  let count = 0;
  for (let i = 0; i < differences.length; i++) {
    if (outcome !== undefined && outcomeOf(differences[i]!, isChanged[i] === 1) !== outcome) continue;
    ranks[count] = rankOf(sort, differences[i]!);
    selected[count++] = i;
  }
  // sorting with a comparator takes ten times as long
  const sorted = ranks.slice(0, count).sort();
  const placed = new Int32Array(count);
  const order = new Int32Array(count);
  for (let i = 0; i < count; i++) {
    const first = lowerBound(sorted, ranks[i]!);
    order[first + placed[first]!++] = selected[i]!;
  }
  return order;
}

/** Cases without a difference rank last. Adding 0 makes a negative zero positive, which would sort before it. */
const rankOf = (sort: CaseSort, difference: number): number =>
  Number.isNaN(difference) ? Infinity : (sort === 'difference' ? difference : -difference) + 0;

/**
 * Returns the name of the list that a cursor belongs to. The name has a digest of the scorer, because a scorer's name may
 * be long and contain line breaks.
 */
const listName = ({ sort, outcome, scorer }: CaseSelection): string =>
  [sort, outcome ?? '', scorer === undefined ? '' : digestOf(scorer)].join(' ');

const digestOf = (name: string): string => createHash('sha256').update(name).digest('base64url').slice(0, 16);

/** Returns the index of the first case after the cursor's case, even if that case no longer exists. */
function indexAfter(
  ordered: Int32Array,
  cursor: string,
  keys: readonly string[],
  differences: Float64Array,
  selection: CaseSelection,
): number {
  const position = decodeCursor(cursor);
  const { key } = position;
  const difference = Number(position.id);
  const isOwn = position.sort === listName(selection) && key !== null && String(difference) === position.id;
  if (!isOwn) throw foreignCursor();
  const bound = rankOf(selection.sort, difference);
  const first = ordered.findIndex((index) => {
    const own = rankOf(selection.sort, differences[index]!);
    return own > bound || (own === bound && keys[index]! > key);
  });
  return first < 0 ? ordered.length : first;
}

/** Selects the first trials, alternating between the sides, until they are too large. Selects at least one per side. */
function selectTrials(
  cases: SizedCases,
  index: number,
): { candidate: number[]; baseline: number[]; bytes: number } {
  const trials = { candidate: [] as number[], baseline: [] as number[], bytes: 0 };
  for (let trial = 0; trial < TRIALS_MAX; trial++) {
    for (const side of ['candidate', 'baseline'] as const) {
      const result = resultsOf(cases[side], index)[trial];
      if (result === undefined || (trial > 0 && trials.bytes >= PAGE_BYTES)) continue;
      trials[side].push(result);
      trials.bytes += cases[side].sizes[result]!;
    }
  }
  return trials;
}
