import { createHash } from 'node:crypto';
import { decodeCursor, encodeCursor, PAGE_BYTES } from '#platform/paging';
import { problem } from '#platform/problem';
import type { CaseOrder, CaseSort } from './case-order';
import type { Outcome, PairedCases } from './paired-cases';

/** Results of a case that one side shows; how many there are is told. */
export const TRIALS_SHOWN = 20;

export interface CaseSelection {
  sort: CaseSort;
  outcome: Outcome | undefined;
  /** By whose differences cases are ordered. */
  scorer: string | undefined;
  limit: number;
  offset: number;
  cursor: string | undefined;
}

/** What a page shows: cases, and of each the places of the results that are shown among their side's. */
export interface PlannedPage {
  cases: { index: number; candidate: number[]; baseline: number[] }[];
  total: number;
  nextCursor: string | null;
}

/**
 * Chooses the cases of a page. A page ends before its limit when it has `PAGE_BYTES` of results; of one case no more
 * are shown than that.
 */
export function planPage(cases: PairedCases, order: CaseOrder, selection: CaseSelection): PlannedPage {
  const { sort, outcome, limit, offset, cursor } = selection;
  const { differences } = order;
  const found = order.places(sort, outcome);
  const begin = cursor === undefined ? offset : placeAfter(found, cursor, cases, differences, selection);
  const page: PlannedPage = { cases: [], total: found.length, nextCursor: null };
  let bytes = 0;
  let next = begin;
  while (next < found.length && page.cases.length < limit && bytes < PAGE_BYTES) {
    const index = found[next++]!;
    const shown = shownResults(cases, index);
    bytes += shown.bytes;
    page.cases.push({ index, candidate: shown.candidate, baseline: shown.baseline });
  }
  const last = page.cases.at(-1);
  if (last && next < found.length) {
    const key = String(differences[last.index]!);
    page.nextCursor = encodeCursor({ sort: listOf(selection), id: key, key: cases.keys[last.index]! });
  }
  return page;
}

/**
 * Which list a cursor belongs to. Cases have other differences by another scorer, whose name is told by a digest: it may
 * hold line breaks, and be as long as the rest of a cursor.
 */
const listOf = ({ sort, outcome, scorer }: CaseSelection): string =>
  [sort, outcome ?? '', scorer === undefined ? '' : digestOf(scorer)].join(' ');

const digestOf = (name: string): string => createHash('sha256').update(name).digest('base64url').slice(0, 16);

/** What differences are ordered by: those that are missing come last. */
const rankOf = (sort: CaseSort) => (difference: number) =>
  Number.isNaN(difference) ? Infinity : sort === 'difference' ? difference : -difference;

/** The first case that comes after the cursor's, which itself may be there no more. */
function placeAfter(
  found: Int32Array,
  cursor: string,
  cases: PairedCases,
  differences: Float64Array,
  selection: CaseSelection,
): number {
  const position = decodeCursor(cursor);
  const { key } = position;
  const difference = Number(position.id);
  const isOwn = position.sort === listOf(selection) && key !== null && String(difference) === position.id;
  if (!isOwn) throw problem.invalidQuery('cursor', 'belongs to another list or sort');
  const rank = rankOf(selection.sort);
  const bound = rank(difference);
  const place = found.findIndex((index) => {
    const own = rank(differences[index]!);
    return own > bound || (own === bound && cases.keys[index]! > key);
  });
  return place < 0 ? found.length : place;
}

/** The first trials of both sides in turn, as many as have room; the first of each always. */
function shownResults(
  cases: PairedCases,
  index: number,
): { candidate: number[]; baseline: number[]; bytes: number } {
  const shown = { candidate: [] as number[], baseline: [] as number[], bytes: 0 };
  for (let trial = 0; trial < TRIALS_SHOWN; trial++) {
    for (const side of ['candidate', 'baseline'] as const) {
      const result = cases[side].of(index)[trial];
      if (result === undefined || (trial > 0 && shown.bytes >= PAGE_BYTES)) continue;
      shown[side].push(result);
      shown.bytes += cases[side].sizes[result]!;
    }
  }
  return shown;
}
