import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import type { CaseMember, ComparedResultRepository, ContentPair } from './compared-result.repository';

/** Pairs of results whose texts are compared by one statement. */
const PAIRS_AT_ONCE = 500;
/** Maximum number of different inputs, or expected outputs, of one case's trials that are compared on each side. */
const TEXTS_MAX = 10;

/** The results of one experiment with hashes of their inputs and expected outputs; NaN where they are not known. */
export interface ResultContents {
  experimentId: string;
  resultIds: readonly string[];
  caseKeys: readonly string[];
  /** Whether the content of each result was erased. */
  areErased: readonly boolean[];
  inputHashes: Float64Array;
  expectedHashes: Float64Array;
}

/** Returns the keys of the cases of both experiments with an erased result on either side. */
export function findErasedCases(candidate: ResultContents, baseline: ResultContents): Set<string> {
  const erased = new Set<string>();
  for (const [side, other] of [
    [candidate, baseline],
    [baseline, candidate],
  ] as const) {
    if (!side.areErased.includes(true)) continue;
    const others = new Set(other.caseKeys);
    side.caseKeys.forEach((key, index) => {
      if (side.areErased[index] && others.has(key)) erased.add(key);
    });
  }
  return erased;
}

/**
 * Returns the keys of the cases whose input or expected output is known in both experiments and differs: no trial of one
 * side has the value of any trial of the other. Such a case has changed, so its scores say nothing about the systems.
 *
 * Nothing is known of a case with an erased result, see `findErasedCases`.
 *
 * Nearly all values have the same text on both sides, so their hashes decide. The others are compared as JSON.
 *
 * @throws the signal's reason when it is aborted
 */
export async function findChangedCases(
  repository: ComparedResultRepository,
  tx: Tx,
  scope: Scope,
  sides: readonly [candidate: ResultContents, baseline: ResultContents],
  erased: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<string[]> {
  const suspects = suspectsOf(...sides);
  for (const key of erased) suspects.delete(key);
  const changed = new Set<string>();
  for (const member of ['input', 'expected'] as const) {
    const pairs = differingPairs(sides, member, suspects);
    const ids = [sides[0].experimentId, sides[1].experimentId] as const;
    const equal = new Set<string>();
    for (let at = 0; at < pairs.length; at += PAIRS_AT_ONCE) {
      signal.throwIfAborted();
      const some = pairs.slice(at, at + PAIRS_AT_ONCE);
      for (const index of await repository.equalPairs(tx, scope, ids, member, some))
        equal.add(some[index]!.key);
    }
    for (const { key } of pairs) if (!equal.has(key)) changed.add(key);
  }
  return [...changed];
}

/** Returns the keys of the cases with a result that differs from the other side's first one. */
function suspectsOf(candidate: ResultContents, baseline: ResultContents): Set<string> {
  const firstOf = new Map<string, number>();
  baseline.caseKeys.forEach((key, index) => {
    if (!firstOf.has(key)) firstOf.set(key, index);
  });
  const suspects = new Set<string>();
  candidate.caseKeys.forEach((key, index) => {
    const first = firstOf.get(key);
    if (first === undefined) return;
    const isSame = (['inputHashes', 'expectedHashes'] as const).every((hashes) =>
      Object.is(candidate[hashes][index], baseline[hashes][first]),
    );
    if (!isSame) suspects.add(key);
  });
  return suspects;
}

/** Returns, for each case without a text that both sides have, the pairs of results to compare. */
function differingPairs(
  [candidate, baseline]: readonly [ResultContents, ResultContents],
  member: CaseMember,
  suspects: ReadonlySet<string>,
): (ContentPair & { key: string })[] {
  const [own, other] = [textsOf(candidate, member, suspects), textsOf(baseline, member, suspects)];
  return [...own].flatMap(([key, texts]) => {
    const others = other.get(key);
    if (!others || [...texts.keys()].some((hash) => others.has(hash))) return [];
    const idsOf = (side: ReadonlyMap<number, string>): string[] => [...side.values()].slice(0, TEXTS_MAX);
    return idsOf(texts).flatMap((one) =>
      idsOf(others).map((another) => ({ key, candidate: one, baseline: another })),
    );
  });
}

/** Returns the known texts of each suspect, each by its hash and with a result that has it. */
function textsOf(
  { resultIds, caseKeys, inputHashes, expectedHashes }: ResultContents,
  member: CaseMember,
  suspects: ReadonlySet<string>,
): Map<string, Map<number, string>> {
  const hashes = member === 'input' ? inputHashes : expectedHashes;
  const texts = new Map<string, Map<number, string>>();
  if (suspects.size === 0) return texts;
  caseKeys.forEach((key, index) => {
    const hash = hashes[index]!;
    if (Number.isNaN(hash) || !suspects.has(key)) return;
    const own = texts.get(key) ?? new Map<number, string>();
    if (!own.has(hash)) own.set(hash, resultIds[index]!);
    texts.set(key, own);
  });
  return texts;
}
