import type { ScoredUnit, Unit, UnitOpinion } from './agreement.repository';

/** What a scorer says of a unit, of several people together. */
export interface Opinion {
  /** The mean of what they say; null where all that is said are labels. */
  score: number | null;
  /** What most of them say, the newest of those said equally often. */
  commonScore: number | null;
  label: string | null;
  /** Those that it was said by, each once; null where a result does not tell. */
  versions: (number | null)[];
}

/** A session may be called like a trace. */
export const unitKey = ({ unit_kind, unit_id }: Unit): string => `${unit_kind} ${unit_id}`;

/** Ids sort by time after their prefix, whatever they are of. */
const timeOf = ({ id }: ScoredUnit): string => id.slice(id.indexOf('_') + 1);

/** The units of both, the newest first, each once. @param a, b the newest first. */
export function newestUnits(a: readonly ScoredUnit[], b: readonly ScoredUnit[]): Unit[] {
  const units = new Map<string, Unit>();
  const take = (unit: ScoredUnit): void => {
    const key = unitKey(unit);
    if (!units.has(key)) units.set(key, unit);
  };
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) take(isNewer(b[j]!, a[i]!) ? b[j++]! : a[i++]!);
  while (i < a.length) take(a[i++]!);
  while (j < b.length) take(b[j++]!);
  return [...units.values()];
}

const isNewer = (one: ScoredUnit, other: ScoredUnit): boolean => timeOf(one) > timeOf(other);

/** What people say of a unit counts before what results say, however new that is. */
export const fromPeople = (
  people: readonly UnitOpinion[],
  written: readonly UnitOpinion[],
): Map<string, Opinion> => opinionsOf(written, people, () => true);

/** Of what a run and a result say the newer counts. */
export const fromRuns = (
  runs: readonly UnitOpinion[],
  written: readonly UnitOpinion[],
): Map<string, Opinion> => opinionsOf(written, runs, isNewer);

function opinionsOf(
  said: readonly UnitOpinion[],
  others: readonly UnitOpinion[],
  counts: (other: UnitOpinion, one: UnitOpinion) => boolean,
): Map<string, Opinion> {
  const byUnit = new Map(said.map((one) => [unitKey(one), one]));
  for (const other of others) {
    const key = unitKey(other);
    const one = byUnit.get(key);
    if (!one || counts(other, one)) byUnit.set(key, other);
  }
  return new Map([...byUnit].map(([key, one]) => [key, opinionOf(one)]));
}

const opinionOf = ({ score, common_score, label, versions }: UnitOpinion): Opinion => ({
  score,
  commonScore: common_score,
  label,
  versions,
});
