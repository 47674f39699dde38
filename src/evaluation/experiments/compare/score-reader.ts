import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { problem } from '#platform/problem';
import { findChangedCases, findErasedCases } from './changed-cases';
import { ComparedResultRepository } from './compared-result.repository';
import { type ComparedExperiment, ComparisonRepository } from './comparison.repository';
import {
  chooseVersions,
  currentVersion,
  differentScorersReason,
  differingReason,
  type ScoredVersion,
} from './scorer-versions';
import {
  type ExperimentScores,
  type ScoreSelection,
  type SelectedScorer,
  SideReader,
  versionsOf,
} from './side-reader';

/** Maximum number of scorers compared. */
const SCORERS_MAX = 100;

export interface ExperimentPair {
  candidate: ComparedExperiment;
  baseline: ComparedExperiment | null;
}

export interface FoundPair extends ExperimentPair {
  /** The experiment's own baseline if it was deleted, so that there is none. */
  deletedBaselineId: string | null;
}

/** Tells whether an experiment is itself the promoted baseline of its dataset. It is then not compared with itself. */
export const isPromoted = (experiment: ComparedExperiment): boolean =>
  experiment.promoted_baseline_id === experiment.experiment_id;

/** The scores of two experiments, read from one snapshot of the database. */
export interface ScorePair {
  candidate: ExperimentScores;
  /** Null if there is no baseline. */
  baseline: ExperimentScores | null;
  /** The keys of the cases of both experiments whose input or expected output differs. */
  changed: string[];
  /** Number of cases of both experiments with an erased result. */
  erasedCount: number;
  scorers: SelectedScorer[];
  /** Number of scorers found in either experiment. `scorers` has those that were read. */
  scorerCount: number;
}

/** Reads the scores of two experiments for comparisons and gates. */
@Injectable()
export class ScoreReader {
  constructor(
    private readonly comparisons: ComparisonRepository,
    private readonly results: ComparedResultRepository,
  ) {}

  /**
   * Finds an experiment and its baseline: the requested one, else the experiment's own, else the promoted baseline of its
   * dataset, unless that is the experiment itself. Errors: 404 for an unknown experiment; the error that `unknownBaseline`
   * returns for an unknown `baselineId`; 409 for a baseline that is not completed.
   */
  async find(
    scope: Scope,
    experimentId: string,
    baselineId: string | null | undefined,
    unknownBaseline: (id: string) => Error,
  ): Promise<FoundPair> {
    const found = await this.comparisons.find(scope, [experimentId, ...(baselineId ? [baselineId] : [])]);
    const candidate = found.get(experimentId);
    if (!candidate) throw problem.notFound('experiment', experimentId);
    const promoted = isPromoted(candidate) ? null : candidate.promoted_baseline_id;
    const id = baselineId ?? candidate.baseline_experiment_id ?? promoted;
    if (id === null) return { candidate, baseline: null, deletedBaselineId: null };
    const baseline = found.get(id) ?? (await this.comparisons.find(scope, [id])).get(id);
    if (!baseline && !baselineId) return { candidate, baseline: null, deletedBaselineId: id };
    if (!baseline) throw unknownBaseline(id);
    if (id !== experimentId && baseline.experiment_status !== 'completed') {
      throw problem.conflict(
        `The baseline ${id} is ${baseline.experiment_status}. Only a completed experiment can be a baseline.`,
      );
    }
    return { candidate, baseline, deletedBaselineId: null };
  }

  /**
   * Reads the results and the current scores of both experiments.
   *
   * @throws the signal's reason when it is aborted
   */
  read(
    scope: Scope,
    { candidate, baseline }: ExperimentPair,
    selection: ScoreSelection,
    signal: AbortSignal,
  ): Promise<ScorePair> {
    return this.comparisons.inSnapshot(async (tx) => {
      const readVersions = async (experiment: ComparedExperiment | null): Promise<ScoredVersion[]> => {
        signal.throwIfAborted();
        if (!experiment) return [];
        return this.comparisons.scoredVersions(tx, scope, experiment, selection.scorers);
      };
      const [own, other] = [await readVersions(candidate), await readVersions(baseline)];
      const names = selection.scorers ?? scorersToCompare(own, other);
      const scorers = names.map((scorer): SelectedScorer => {
        const hasBaseline = baseline !== null && selection.withoutBaseline?.has(scorer) !== true;
        const requested = selection.requested?.scorer === scorer ? selection.requested.version : undefined;
        const versions = chooseVersions(
          numbersOf(own, scorer),
          hasBaseline ? numbersOf(other, scorer) : null,
          requested,
        );
        // results may show the scores of another scorer that has taken the name
        const scored = (all: readonly ScoredVersion[], version: number | null): ScoredVersion[] =>
          versionsOf(all, scorer).filter(
            (one) => one.version === version || (requested === undefined && one.is_current),
          );
        const ownVersions = scored(own, versions.candidate);
        const otherVersions = hasBaseline ? scored(other, versions.baseline) : [];
        return {
          scorer,
          versions,
          current: {
            candidate: currentVersion(versionsOf(own, scorer)),
            baseline: currentVersion(versionsOf(other, scorer)),
          },
          models: { candidate: [], baseline: [] },
          candidateReason: differentScorersReason(ownVersions),
          reason: differingReason(versions) ?? differentScorersReason([...ownVersions, ...otherVersions]),
        };
      });
      const side = new SideReader(this.comparisons, this.results, tx, scope, selection, signal);
      const candidateSide = await side.read(candidate, 'candidate', scorers, own);
      const baselineSide = baseline && (await side.read(baseline, 'baseline', scorers, other));
      const contents = baselineSide && ([candidateSide.contents, baselineSide.contents] as const);
      const erased = contents ? findErasedCases(...contents) : new Set<string>();
      const changed = contents
        ? await findChangedCases(this.results, tx, scope, contents, erased, signal)
        : [];
      return {
        candidate: candidateSide.scores,
        baseline: baselineSide && baselineSide.scores,
        changed,
        erasedCount: erased.size,
        scorers: scorers.map((selected, i): SelectedScorer => {
          const models = { candidate: candidateSide.models[i]!, baseline: baselineSide?.models[i] ?? [] };
          const one = { ...selected, models };
          if (selection.allowMismatch) return { ...one, candidateReason: null, reason: null };
          const candidateReason = candidateSide.mixedReasons[i] ?? one.candidateReason;
          return {
            ...one,
            candidateReason,
            reason: candidateReason ?? baselineSide?.mixedReasons[i] ?? one.reason,
          };
        }),
        scorerCount: new Set([...own, ...other].map(({ scorer }) => scorer)).size,
      };
    });
  }
}

const numbersOf = (versions: readonly ScoredVersion[], scorer: string): number[] =>
  versionsOf(versions, scorer).map(({ version }) => version);

/** Selects the scorers to compare: those of both sides first, then those with the most scores. Sorts them by name. */
function scorersToCompare(candidate: readonly ScoredVersion[], baseline: readonly ScoredVersion[]): string[] {
  const counts = new Map<string, { sides: Set<readonly ScoredVersion[]>; count: number }>();
  for (const side of [candidate, baseline]) {
    for (const { scorer, count } of side) {
      const previous = counts.get(scorer) ?? { sides: new Set(), count: 0 };
      counts.set(scorer, { sides: previous.sides.add(side), count: previous.count + count });
    }
  }
  return [...counts]
    .sort(
      ([a, own], [b, other]) =>
        other.sides.size - own.sides.size || other.count - own.count || (a < b ? -1 : 1),
    )
    .slice(0, SCORERS_MAX)
    .map(([scorer]) => scorer)
    .sort();
}
