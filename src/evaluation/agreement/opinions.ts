import type { Unit, UnitScore } from './agreement.repository';

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
export const timeOf = ({ id }: UnitScore): string => id.slice(id.indexOf('_') + 1);

const newestFirst = (a: UnitScore, b: UnitScore): number => (timeOf(a) < timeOf(b) ? 1 : -1);

/**
 * Makes one opinion of each unit's scores. Where people scored it, what they say counts, the newest score of each;
 * else the newest score there is.
 */
export function opinionsOf(scores: readonly UnitScore[]): Map<string, Opinion> {
  const byUnit = new Map<string, UnitScore[]>();
  for (const score of scores) {
    const key = unitKey(score);
    const known = byUnit.get(key);
    if (known) known.push(score);
    else byUnit.set(key, [score]);
  }
  return new Map([...byUnit].map(([key, own]) => [key, opinionOf(own.sort(newestFirst))]));
}

/** @param scores of one unit, the newest first. */
function opinionOf(scores: UnitScore[]): Opinion {
  const people = new Map<string, UnitScore>();
  for (const score of scores) {
    if (score.annotator !== null && !people.has(score.annotator)) people.set(score.annotator, score);
  }
  const said = people.size > 0 ? [...people.values()] : scores.slice(0, 1);
  const numbers = said.flatMap(({ score }) => score ?? []);
  const labels = said.flatMap(({ label }) => label ?? []);
  return {
    score: numbers.length > 0 ? numbers.reduce((sum, one) => sum + one / numbers.length, 0) : null,
    commonScore: mostCommon(numbers),
    label: mostCommon(labels),
    versions: [...new Set(said.map(({ version }) => version))],
  };
}

function mostCommon<Value>(values: readonly Value[]): Value | null {
  const counts = new Map<Value, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  let found: Value | null = null;
  for (const [value, count] of counts) if (found === null || count > counts.get(found)!) found = value;
  return found;
}
