import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { problem } from '#platform/problem';
import { Numbering, type ScoreColumns } from '../../statistics';
import {
  type ChosenScorer,
  type ComparedExperiment,
  ComparisonRepository,
  type ReadScorer,
  type ScorerColumn,
} from './comparison.repository';
import {
  type ChosenVersions,
  chooseVersions,
  differentScorersReason,
  differingReason,
  type JudgeModels,
  currentVersion,
  mixedReason,
  type ScoredVersion,
} from './scorer-versions';

/** Maximum number of scorers compared. */
const SCORERS_MAX = 100;

/** The results of one experiment in order of arrival, and their current scores. */
export interface ExperimentScores {
  /** The scores, in the order of the selected scorers. */
  columns: ScoreColumns;
  resultIds: string[];
  /** Approximate size of each result as JSON, in bytes. */
  sizes: Int32Array;
  errorCount: number;
  /** Number of distinct cases. */
  caseCount: number;
  /** For each scorer, the number of scores that came after the experiment was finalized. */
  lateCounts: number[];
  /** Whether the experiment has more results than were read. */
  isTruncated: boolean;
}

export interface ExperimentPair {
  candidate: ComparedExperiment;
  baseline: ComparedExperiment | null;
}

/** Tells whether an experiment is itself the promoted baseline of its dataset. It is then not compared with itself. */
export const isPromoted = (experiment: ComparedExperiment): boolean =>
  experiment.promoted_baseline_id === experiment.experiment_id;

/** A scorer whose scores are read. */
export interface SelectedScorer {
  scorer: string;
  versions: ChosenVersions;
  /** Why the candidate's scores have no single scale; null if they have. */
  candidateReason: string | null;
  /** Why the scores of both sides cannot be compared; null if they can. */
  reason: string | null;
  /** The version that the results of each side show. Null without scores. */
  current: ChosenVersions;
  /** The models of the judges of both sides, for the reason why different judges cannot be compared. */
  models: JudgeModels;
}

/** The scores of two experiments, read from one snapshot of the database. */
export interface ScorePair {
  candidate: ExperimentScores;
  /** Null if there is no baseline. */
  baseline: ExperimentScores | null;
  scorers: SelectedScorer[];
  /** Number of scorers found in either experiment. `scorers` has those that were read. */
  scorerCount: number;
}

/** Which scores are read. */
export interface ScoreSelection {
  /** Names of the scorers; null selects them by their number of scores. */
  scorers: readonly string[] | null;
  /** Scorers whose baseline scores are not read. */
  withoutBaseline?: ReadonlySet<string>;
  /** A version of one scorer that is read on both sides. */
  requested?: ChosenScorer | undefined;
  /** Whether a result without a score by the chosen version gets one by another version. */
  allowMismatch: boolean;
}

/** Reads the scores of two experiments for comparisons and gates. */
@Injectable()
export class ScoreReader {
  constructor(private readonly comparisons: ComparisonRepository) {}

  /**
   * Finds an experiment and its baseline: the requested one, else the experiment's own, else the promoted baseline of its
   * dataset, unless that is the experiment itself. Errors: 404 for an unknown experiment; the error that `unknownBaseline`
   * returns for an unknown baseline; 409 for a baseline that is not completed.
   */
  async find(
    scope: Scope,
    experimentId: string,
    baselineId: string | null | undefined,
    unknownBaseline: (id: string) => Error,
  ): Promise<ExperimentPair> {
    const found = await this.comparisons.find(scope, [experimentId, ...(baselineId ? [baselineId] : [])]);
    const candidate = found.get(experimentId);
    if (!candidate) throw problem.notFound('experiment', experimentId);
    const promoted = isPromoted(candidate) ? null : candidate.promoted_baseline_id;
    const id = baselineId ?? candidate.baseline_experiment_id ?? promoted;
    if (id === null) return { candidate, baseline: null };
    const baseline = found.get(id) ?? (await this.comparisons.find(scope, [id])).get(id);
    if (!baseline) throw unknownBaseline(id);
    if (id !== experimentId && baseline.experiment_status !== 'completed') {
      throw problem.conflict(
        `The baseline ${id} is ${baseline.experiment_status}. Only a completed experiment can be a baseline.`,
      );
    }
    return { candidate, baseline };
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
      const differingCases = differingCasesReason(candidate, baseline);
      const side = new SideReader(this.comparisons, tx, scope, selection, signal);
      const candidateSide = await side.read(candidate, 'candidate', scorers, own);
      const baselineSide = baseline && (await side.read(baseline, 'baseline', scorers, other));
      return {
        candidate: candidateSide.scores,
        baseline: baselineSide && baselineSide.scores,
        scorers: scorers.map((selected, i): SelectedScorer => {
          const models = { candidate: candidateSide.models[i]!, baseline: baselineSide?.models[i] ?? [] };
          const one = { ...selected, models };
          if (selection.allowMismatch) return { ...one, candidateReason: null, reason: null };
          const candidateReason = candidateSide.mixedReasons[i] ?? one.candidateReason;
          return {
            ...one,
            candidateReason,
            reason: candidateReason ?? baselineSide?.mixedReasons[i] ?? one.reason ?? differingCases,
          };
        }),
        scorerCount: new Set([...own, ...other].map(({ scorer }) => scorer)).size,
      };
    });
  }
}

/**
 * Returns why the cases of two experiments cannot be paired, or null. If the rows of a CSV version have no ids, the same
 * row number may be a different case in another version.
 */
function differingCasesReason(
  candidate: ComparedExperiment,
  baseline: ComparedExperiment | null,
): string | null {
  const versions = [candidate, baseline].map((one) => one?.dataset_version ?? null);
  if (versions.includes(null) || !(candidate.has_numbered_cases || baseline!.has_numbered_cases)) return null;
  if (versions[0] === versions[1] && candidate.dataset_id === baseline!.dataset_id) return null;
  return (
    `The candidate uses CSV version ${versions[0]}, the baseline version ${versions[1]}. Row numbers identify their ` +
    'cases, so the same number may be a different case in each version. Add an `id` column to the file.'
  );
}

/** Reads the results and the scores of each side. */
class SideReader {
  /** The judges of both sides. */
  private readonly judges = new Numbering<string>();

  constructor(
    private readonly comparisons: ComparisonRepository,
    private readonly tx: Tx,
    private readonly scope: Scope,
    private readonly selection: ScoreSelection,
    private readonly signal: AbortSignal,
  ) {}

  async read(
    experiment: ComparedExperiment,
    side: 'candidate' | 'baseline',
    scorers: readonly SelectedScorer[],
    scoredVersions: readonly ScoredVersion[],
  ): Promise<{ scores: ExperimentScores; mixedReasons: (string | null)[]; models: string[][] }> {
    const { tx, scope, signal, comparisons } = this;
    const { experiment_id: id, expected_case_count } = experiment;
    const { allowMismatch, requested } = this.selection;
    const [resultIds, caseKeys, sizes]: [string[], string[], number[]] = [[], [], []];
    const expectedKeys: (string | null)[] = [];
    const hasErrors: boolean[] = [];
    signal.throwIfAborted();
    const isTruncated = await comparisons.readResults(tx, scope, id, (batch) => {
      signal.throwIfAborted();
      resultIds.push(...batch.resultIds);
      caseKeys.push(...batch.caseKeys);
      // without a dataset, every case is expected
      expectedKeys.push(...(expected_case_count === null ? batch.caseKeys : batch.expectedKeys));
      sizes.push(...batch.bytes);
      hasErrors.push(...batch.hasErrors);
    });
    const count = resultIds.length;
    const last = resultIds.at(-1) ?? '';
    const columns: ScoreColumns = {
      caseKeys,
      scores: new Float64Array(scorers.length * count).fill(NaN),
      nulls: new Uint8Array(scorers.length * count),
      judges: new Int32Array(scorers.length * count),
      expectedCases: numberKeys(expectedKeys),
    };
    const resultIndexes = new Map(resultIds.map((resultId, index) => [resultId, index]));
    const scorerIndexes = new Map(scorers.map(({ scorer }, index) => [scorer, index]));
    const sideScorers = scorers.flatMap(({ scorer, versions }): ReadScorer[] => {
      const isOnly = versionsOf(scoredVersions, scorer)[0]?.is_only ?? false;
      return versions[side] === null ? [] : [{ scorer, version: versions[side], isOnly }];
    });
    const lateCounts = scorers.map(() => 0);
    const found = new Map<string, ScorerColumn>();
    const models = scorers.map((): string[] => []);
    const reading = { results: count, last, allowMismatch };
    await comparisons.readScores(tx, scope, experiment, sideScorers, reading, (batch) => {
      signal.throwIfAborted();
      for (const column of batch) {
        const index = scorerIndexes.get(column.scorer)!;
        found.set(column.scorer, column);
        lateCounts[index] = column.lateCount;
        models[index] = [...new Set(Object.values(column.models))].sort();
        column.resultIds.forEach((resultId, i) => {
          const score = column.scores[i]!;
          const result = resultIndexes.get(resultId)!;
          if (score !== null) columns.scores[index * count + result] = score;
          else if (!hasErrors[result]!) columns.nulls[index * count + result] = 1;
          // with allowMismatch, scores by any judge are compared
          const judge = allowMismatch ? null : (column.judges?.[i] ?? null);
          if (judge !== null) columns.judges[index * count + result] = this.judges.numberOf(judge) + 1;
        });
      }
    });
    return {
      scores: {
        columns,
        resultIds,
        sizes: Int32Array.from(sizes),
        errorCount: hasErrors.filter(Boolean).length,
        caseCount: new Set(caseKeys).size,
        lateCounts,
        isTruncated,
      },
      mixedReasons: scorers.map(({ scorer, versions }) =>
        requested?.scorer === scorer ? null : mixedReason(side, versions[side], found.get(scorer)),
      ),
      models,
    };
  }
}

/** Returns the versions of one scorer. */
const versionsOf = (versions: readonly ScoredVersion[], scorer: string): ScoredVersion[] =>
  versions.filter((one) => one.scorer === scorer);

const numbersOf = (versions: readonly ScoredVersion[], scorer: string): number[] =>
  versionsOf(versions, scorer).map(({ version }) => version);

/** Numbers distinct keys in order of appearance; -1 for null. */
function numberKeys(keys: readonly (string | null)[]): Int32Array {
  const numbering = new Numbering<string>();
  return Int32Array.from(keys, (key) => (key === null ? -1 : numbering.numberOf(key)));
}

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
