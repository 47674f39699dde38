import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { orNotFound, problem } from '#platform/problem';
import type { ScorerEntity } from '../scorer.entity';
import { ScorerRepository } from '../scorer.repository';
import { AnalysisThreads } from '../../statistics';
import type { Ratings } from '../../statistics';
import { type AgreementDto, type AgreementQueryDto, toScorer } from './agreement.dto';
import {
  AgreementRepository,
  type LimitedList,
  type PersonsRating,
  type RaterSelection,
  type RatedUnit,
  type Rating,
  type Unit,
  UNITS_MAX,
} from './agreement.repository';

/** One of the two scorers. */
interface Side extends RaterSelection {
  isHuman: boolean;
}

/** Maximum number of people in a response. */
const PEOPLE_MAX = 100;

type RatingPair = readonly [scorer: Rating, reference: Rating];

@Injectable()
export class AgreementService {
  constructor(
    private readonly scorers: ScorerRepository,
    private readonly ratings: AgreementRepository,
    private readonly threads: AnalysisThreads,
  ) {}

  /**
   * Measures the agreement of a scorer with a reference on the units that both rated. Errors: 404 for an unknown scorer or
   * experiment; 400 `invalid_query` for a scorer as its own reference; 503 if too many computations wait.
   *
   * @param signal aborts the computation
   */
  async agreement(
    scope: Scope,
    scorerId: string,
    query: AgreementQueryDto,
    signal: AbortSignal,
  ): Promise<AgreementDto> {
    const scorer = orNotFound(await this.scorers.find(scope, scorerId), 'scorer', scorerId);
    const { reference_scorer_id: referenceId, experiment_id: experimentId = null } = query;
    if (referenceId === scorerId) {
      throw problem.invalidQuery('reference_scorer_id', 'must be a different scorer');
    }
    const reference = await this.scorers.find(scope, referenceId);
    if (!reference) throw problem.unknownParameter('reference_scorer_id', 'scorer', referenceId);
    if (experimentId !== null && !(await this.ratings.experimentExists(scope, experimentId))) {
      throw problem.unknownParameter('experiment_id', 'experiment', experimentId);
    }
    return this.threads.reserve(scope, signal, async (runTask) => {
      const sides = [
        await this.sideOf(scope, scorer, query.scorer_version ?? null),
        await this.sideOf(scope, reference, query.reference_scorer_version ?? null),
      ] as const;
      const { pairs, isTruncated } = await this.pairs(scope, sides, experimentId);
      const choiceScores = await this.choiceScores(scope, [scorer, reference], pairs);
      const ids = [scorerId, referenceId] as const;
      const keys = peopleOf(pairs);
      const columns = { scorer: columnsOf(pairs, 0, keys), reference: columnsOf(pairs, 1, keys) };
      const { people, ...measures } = await runTask('measureAgreement', { ids, ...columns, choiceScores });
      return {
        scorer: toScorer(scorer),
        reference: toScorer(reference),
        scorer_version: sides[0].version,
        reference_scorer_version: sides[1].version,
        experiment_id: experimentId,
        units: pairs.length,
        is_truncated: isTruncated,
        ...measures,
        people: people
          .slice(0, PEOPLE_MAX)
          .map(({ person, ...one }) => ({ ...personOf(keys[person]!), ...one })),
        people_count: people.length,
      };
    });
  }

  /** Returns the ratings of one target of each unit, see `pairsOf`. */
  private async pairs(
    scope: Scope,
    sides: readonly [Side, Side],
    experimentId: string | null,
  ): Promise<{ pairs: RatingPair[]; isTruncated: boolean }> {
    const base =
      experimentId === null
        ? await this.ratedUnits(scope, sides)
        : toLimitedList(await this.ratings.unitsOf(scope, experimentId));
    const [own, other] = await Promise.all(
      sides.map((side) => this.ratingsBy(scope, side, base.items, experimentId)),
    );
    const pairs = pairsOf(own!.ratings, other!.ratings, experimentId === null);
    return { pairs, isTruncated: base.isTruncated || own!.isTruncated || other!.isTruncated };
  }

  /** Returns one side's rating of each target, by `targetKey`. Annotators take precedence over clients. */
  private async ratingsBy(
    scope: Scope,
    side: Side,
    units: readonly Unit[],
    experimentId: string | null,
  ): Promise<{ ratings: Map<string, Rating>; isTruncated: boolean }> {
    const others = await this.ratings.findByOthers(scope, side, units, experimentId);
    const { items, isTruncated } = side.isHuman
      ? await this.ratings.findByAnnotators(scope, side, units, experimentId)
      : { items: [], isTruncated: false };
    const ratings = new Map([...others.items, ...items].map((rating) => [targetKey(rating), rating]));
    return { ratings, isTruncated: isTruncated || others.isTruncated };
  }

  /** Returns the scores of the choices in all versions that gave ratings. Omits choices whose scores differ. */
  private async choiceScores(
    scope: Scope,
    scorers: readonly [ScorerEntity, ScorerEntity],
    pairs: readonly RatingPair[],
  ): Promise<Map<string, number>> {
    const versions = ([0, 1] as const).flatMap((side) =>
      versionsOf(
        scorers[side],
        pairs.map((pair) => pair[side]),
      ),
    );
    const scores = new Map<string, number>();
    const differing = new Set<string>();
    for (const { value, score } of await this.ratings.choicesOf(scope, versions)) {
      if (scores.has(value)) differing.add(value);
      scores.set(value, score);
    }
    for (const value of differing) scores.delete(value);
    return scores;
  }

  /**
   * Returns the units of one side, which are then looked up on the other. Prefers the reference, which usually has fewer
   * ratings, unless only the reference's ratings are truncated.
   */
  private async ratedUnits(scope: Scope, sides: readonly [Side, Side]): Promise<LimitedList<Unit>> {
    const [own, reference] = await Promise.all(sides.map((side) => this.newest(scope, side)));
    return reference!.isTruncated && !own!.isTruncated ? own! : reference!;
  }

  private async sideOf(
    scope: Scope,
    { scorer_id: scorerId, scorer_kind }: ScorerEntity,
    version: number | null,
  ): Promise<Side> {
    const isHuman = scorer_kind === 'human';
    const output = isHuman ? await this.ratings.answeredOutput(scope, { scorerId, version }) : null;
    return { scorerId, version, output, isHuman };
  }

  private async newest(scope: Scope, side: Side): Promise<LimitedList<Unit>> {
    const others = await this.ratings.newest(scope, side, 'others');
    if (!side.isHuman) return toLimitedList(others.items, others.isTruncated);
    const human = await this.ratings.newest(scope, side, 'annotators');
    return toLimitedList(mergeNewest(human.items, others.items), human.isTruncated || others.isTruncated);
  }
}

/** Returns a key that includes the kind, because a session and a trace may have the same id. */
const unitKey = ({ unit_kind, unit_id }: Unit): string => `${unit_kind} ${unit_id}`;

const targetKey = (rating: Rating): string => `${unitKey(rating)} ${rating.result_id ?? ''}`;

/**
 * Returns both sides' ratings of one target of each unit, sorted by unit. Both must have rated the target, because the outputs
 * of a trace and of the results that reference it may differ. Of several targets, the trace or session itself counts first or
 * last, and the newest result before older ones, whichever was rated last.
 */
function pairsOf(
  scorer: ReadonlyMap<string, Rating>,
  reference: ReadonlyMap<string, Rating>,
  isOwnFirst: boolean,
): RatingPair[] {
  const pairs = new Map<string, RatingPair>();
  for (const [key, rating] of scorer) {
    const other = reference.get(key);
    const earlier = pairs.get(unitKey(rating))?.[0];
    if (other && (!earlier || isPreferred(rating, earlier, isOwnFirst))) {
      pairs.set(unitKey(rating), [rating, other]);
    }
  }
  return [...pairs.keys()].sort().map((key) => pairs.get(key)!);
}

function isPreferred(one: Rating, other: Rating, isOwnFirst: boolean): boolean {
  if (one.result_id === null) return isOwnFirst;
  if (other.result_id === null) return !isOwnFirst;
  return one.result_id > other.result_id;
}

const isNewer = (one: RatedUnit, other: RatedUnit): boolean => one.id > other.id;

/** Merges two lists that are sorted from newest to oldest. Returns each unit once. */
function mergeNewest(a: readonly RatedUnit[], b: readonly RatedUnit[]): Unit[] {
  const merged: RatedUnit[] = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) merged.push(isNewer(b[j]!, a[i]!) ? b[j++]! : a[i++]!);
  return distinct([...merged, ...a.slice(i), ...b.slice(j)]);
}

const distinct = <One extends Unit>(units: readonly One[]): One[] => [
  ...new Map(units.map((unit) => [unitKey(unit), unit])).values(),
];

/** Returns the first `UNITS_MAX` units without repetitions. */
const toLimitedList = (units: readonly Unit[], isTruncated = false): LimitedList<Unit> => ({
  items: distinct(units.slice(0, UNITS_MAX)),
  isTruncated: isTruncated || units.length > UNITS_MAX,
});

/** Returns the versions that gave ratings. A score that names no version counts as one by the current version. */
function versionsOf(
  { scorer_id, scorer_version }: ScorerEntity,
  ratings: readonly Rating[],
): { scorerId: string; version: number }[] {
  const versions = new Set(ratings.flatMap((rating) => rating.versions));
  return [...new Set([...versions].map((version) => version ?? scorer_version))].map((version) => ({
    scorerId: scorer_id,
    version,
  }));
}

/** A key of a person, which sorts people. */
const keyOf = ([created_by, author]: PersonsRating): string => JSON.stringify([created_by, author]);

const personOf = (key: string): { created_by: string; author: string | null } => {
  const [created_by, author] = JSON.parse(key) as [string, string | null];
  return { created_by, author };
};

/** Returns the keys of the people who gave ratings, sorted. */
const peopleOf = (pairs: readonly RatingPair[]): string[] =>
  [...new Set(pairs.flat().flatMap(({ given = [] }) => given.map(keyOf)))].sort();

/** @param people the keys of all people */
function columnsOf(pairs: readonly RatingPair[], side: 0 | 1, people: readonly string[]): Ratings {
  const numbers = new Map(people.map((key, number) => [key, number]));
  const units = pairs.map((pair) => pair[side]);
  const starts = new Int32Array(units.length + 1);
  units.forEach(({ given }, i) => (starts[i + 1] = starts[i]! + (given?.length ?? 1)));
  const ratings = units.flatMap(
    ({ given, score, label }): { person: number; score: number | null; label: string | null }[] =>
      given?.map((one) => ({ person: numbers.get(keyOf(one))!, score: one[2], label: one[3] })) ?? [
        { person: -1, score, label },
      ],
  );
  return {
    means: Float64Array.from(units, ({ score }) => score ?? NaN),
    starts,
    people: Int32Array.from(ratings, ({ person }) => person),
    scores: Float64Array.from(ratings, ({ score }) => score ?? NaN),
    labels: ratings.map(({ label }) => label),
  };
}
