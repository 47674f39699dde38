import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { problem } from '#platform/problem';
import { ComputingTurns } from '../comparison/computing-turns';
import { ExperimentRepository } from '../experiments/experiment.repository';
import type { ScorerEntity } from '../scorers/scorer.entity';
import { ScorerRepository } from '../scorers/scorer.repository';
import type {
  AgreeingScorerDto,
  AgreementDto,
  AgreementQueryDto,
  ConfusionDto,
  MeasureDto,
} from './agreement.dto';
import { Pace } from '#platform/turns';
import { type Confusion, type Measure, measuresOf, type OpinionPair } from './agreement-measures';
import {
  AgreementRepository,
  type Found,
  type ScoredBy,
  type Source,
  type Unit,
  UNITS_MAX,
} from './agreement.repository';
import { fromPeople, fromRuns, newestUnits, type Opinion, unitKey } from './opinions';

/** A scorer whose scores are read, and where those are that are not in results. */
interface Side extends ScoredBy {
  source: Source;
}

@Injectable()
export class AgreementService {
  constructor(
    private readonly scorers: ScorerRepository,
    private readonly experiments: ExperimentRepository,
    private readonly scores: AgreementRepository,
    private readonly turns: ComputingTurns,
  ) {}

  /**
   * How far a scorer agrees with a reference on what both scored. Errors: 404 for a scorer or an experiment that is
   * unknown; 400 `invalid_query` for a scorer as its own reference; 503 where too many wait for theirs to be worked out.
   *
   * @param signal ends what is worked out for the answer
   */
  async agreement(
    scope: Scope,
    scorerId: string,
    query: AgreementQueryDto,
    signal: AbortSignal,
  ): Promise<AgreementDto> {
    const scorer = await this.scorers.find(scope, scorerId);
    if (!scorer) throw problem.notFound('scorer', scorerId);
    const { reference_scorer_id: referenceId, experiment_id: experimentId = null } = query;
    if (referenceId === scorerId) {
      throw problem.invalidQuery('reference_scorer_id', 'must be another scorer than this one');
    }
    const reference = await this.scorers.find(scope, referenceId);
    if (!reference) {
      throw problem.unknownParameter('reference_scorer_id', 'scorer', referenceId);
    }
    if (experimentId !== null && !(await this.experiments.exists(scope, experimentId))) {
      throw problem.unknownParameter('experiment_id', 'experiment', experimentId);
    }
    return this.turns.take(scope, 'agreement', signal, async () => {
      const sides = [
        sideOf(scorer, query.scorer_version ?? null),
        sideOf(reference, query.reference_scorer_version ?? null),
      ] as const;
      const { pairs, isTruncated } = await this.pairs(scope, sides, experimentId);
      const scores = await this.choiceScores(scope, [scorer, reference], pairs);
      signal.throwIfAborted();
      const scoreOf = (label: string): number | undefined => scores.get(label);
      const found = await measuresOf(pairs, [scorerId, referenceId], scoreOf, new Pace(signal));
      return {
        scorer: toScorer(scorer),
        reference: toScorer(reference),
        scorer_version: sides[0].version,
        reference_scorer_version: sides[1].version,
        experiment_id: experimentId,
        units: pairs.length,
        is_truncated: isTruncated,
        confusion: found.confusion && toConfusion(found.confusion),
        observed_agreement: toMeasure(found.observedAgreement),
        cohens_kappa: toMeasure(found.cohensKappa),
        weighted_kappa: toMeasure(found.weightedKappa),
        krippendorffs_alpha_nominal: toMeasure(found.nominalAlpha),
        krippendorffs_alpha_interval: toMeasure(found.intervalAlpha),
        mean_absolute_error: toMeasure(found.meanAbsoluteError),
      };
    });
  }

  /** What both say of each unit that both scored. */
  private async pairs(
    scope: Scope,
    sides: readonly [Side, Side],
    experimentId: string | null,
  ): Promise<{ pairs: OpinionPair[]; isTruncated: boolean }> {
    const base =
      experimentId === null
        ? await this.scoredUnits(scope, sides)
        : limited(await this.scores.unitsOf(scope, experimentId));
    const [own, other] = await Promise.all(
      sides.map((side) => this.opinions(scope, side, base.items, experimentId)),
    );
    const keys = base.items.map(unitKey).sort();
    const pairs = keys.flatMap((key): OpinionPair[] => {
      const [scorer, reference] = [own!.said.get(key), other!.said.get(key)];
      return scorer && reference ? [{ scorer, reference }] : [];
    });
    return { pairs, isTruncated: base.isCut || own!.isCut || other!.isCut };
  }

  /** What one side says of units. */
  private async opinions(
    scope: Scope,
    side: Side,
    units: readonly Unit[],
    experimentId: string | null,
  ): Promise<{ said: Map<string, Opinion>; isCut: boolean }> {
    const written = await this.scores.writtenOf(scope, side, units, experimentId);
    if (side.source === 'hosted') {
      return { said: fromRuns(await this.scores.hostedOf(scope, side, units), written), isCut: false };
    }
    const { items, isCut } = await this.scores.humanOf(scope, side, units);
    return { said: fromPeople(items, written), isCut };
  }

  /** What the choices count, by the versions that scored; not those that they score differently. */
  private async choiceScores(
    scope: Scope,
    [scorer, reference]: readonly [ScorerEntity, ScorerEntity],
    pairs: readonly OpinionPair[],
  ): Promise<Map<string, number>> {
    const versions = [
      ...versionsOf(
        scorer,
        pairs.map((pair) => pair.scorer),
      ),
      ...versionsOf(
        reference,
        pairs.map((pair) => pair.reference),
      ),
    ];
    const scores = new Map<string, number>();
    const differing = new Set<string>();
    for (const { value, score } of await this.scores.choicesOf(scope, versions)) {
      if (scores.has(value)) differing.add(value);
      scores.set(value, score);
    }
    for (const value of differing) scores.delete(value);
    return scores;
  }

  /**
   * The units of one side that may be the other's too: of the reference, whose scores are the fewer as a rule, unless
   * it has more than are looked at and the other has not.
   */
  private async scoredUnits(scope: Scope, sides: readonly [Side, Side]): Promise<Found<Unit>> {
    const [own, reference] = await Promise.all(sides.map((side) => this.newest(scope, side)));
    return reference!.isCut && !own!.isCut ? own! : reference!;
  }

  private async newest(scope: Scope, side: Side): Promise<Found<Unit>> {
    const given = await this.scores.newest(scope, side, side.source);
    const written = await this.scores.newestWritten(scope, side);
    const { items, isCut } = limited(newestUnits(given.items, written.items));
    return { items, isCut: isCut || given.isCut || written.isCut };
  }
}

const sideOf = ({ scorer_id, scorer_kind }: ScorerEntity, version: number | null): Side => ({
  scorerId: scorer_id,
  version,
  source: scorer_kind === 'human' ? 'human' : 'hosted',
});

/** As many as are looked at, each once. */
const limited = (units: readonly Unit[]): Found<Unit> => ({
  items: [...new Map(units.slice(0, UNITS_MAX).map((unit) => [unitKey(unit), unit])).values()],
  isCut: units.length > UNITS_MAX,
});

/** The versions by which opinions were said; the present one where that is not told. */
function versionsOf(
  { scorer_id, scorer_version }: ScorerEntity,
  opinions: readonly Opinion[],
): { scorerId: string; version: number }[] {
  const versions = new Set(opinions.flatMap((opinion) => opinion.versions));
  return [...new Set([...versions].map((version) => version ?? scorer_version))].map((version) => ({
    scorerId: scorer_id,
    version,
  }));
}

const toConfusion = ({ values, ...confusion }: Confusion): ConfusionDto => ({
  ...confusion,
  category_scores: values,
});

const toScorer = ({ scorer_id, name, scorer_kind }: ScorerEntity): AgreeingScorerDto => ({
  scorer_id,
  name,
  scorer_kind,
});

const toMeasure = (measure: Measure | null): MeasureDto | null =>
  measure && { units: measure.units, value: measure.value, confidence_interval: measure.interval };
