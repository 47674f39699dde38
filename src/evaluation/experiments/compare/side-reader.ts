import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { Numbering, type ScoreColumns } from '../../statistics';
import type { ResultContents } from './changed-cases';
import type { ComparedResultRepository, ResultBatch } from './compared-result.repository';
import type {
  ChosenScorer,
  ComparedExperiment,
  ComparisonRepository,
  ReadScorer,
  ScorerColumn,
} from './comparison.repository';
import { type ChosenVersions, type JudgeModels, mixedReason, type ScoredVersion } from './scorer-versions';

/** The results of one experiment in order of arrival, and their current scores. */
export interface ExperimentScores {
  /** The scores, in the order of the selected scorers. */
  columns: ScoreColumns;
  resultIds: string[];
  /** Approximate size of each result as JSON, in bytes. */
  sizes: Int32Array;
  /** 1 for each result with an error. */
  hasErrors: Uint8Array;
  errorCount: number;
  /** Number of distinct cases. */
  caseCount: number;
  /** In milliseconds; NaN where it is unknown. */
  durations: Float64Array;
  /** The trace of each result; null if no result has one. */
  traceIds: (string | null)[] | null;
  /** For each scorer, the number of scores that came after the experiment was finalized. */
  lateCounts: number[];
  /** Whether the experiment has more results than were read. */
  isTruncated: boolean;
}

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

interface SideScores {
  scores: ExperimentScores;
  contents: ResultContents;
  /** Why the scores of each scorer have no single scale; null if they have. */
  mixedReasons: (string | null)[];
  /** The models of each scorer's judges. */
  models: string[][];
}

/** Reads the results and the scores of each side. */
export class SideReader {
  /** The judges of both sides. */
  private readonly judges = new Numbering<string>();

  constructor(
    private readonly comparisons: ComparisonRepository,
    private readonly results: ComparedResultRepository,
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
  ): Promise<SideScores> {
    const { tx, scope, signal, comparisons } = this;
    const { experiment_id: id, expected_case_count, trials } = experiment;
    const { allowMismatch, requested } = this.selection;
    const batches: ResultBatch[] = [];
    signal.throwIfAborted();
    const isTruncated = await this.results.readResults(tx, scope, id, (batch) => {
      signal.throwIfAborted();
      batches.push(batch);
    });
    const all = <Column extends keyof ResultBatch>(column: Column) =>
      batches.flatMap((batch) => batch[column] as NonNullable<ResultBatch[Column]>[number][]);
    /** Joins a column that batches without values omit. */
    const numbers = (column: 'durations' | 'inputHashes' | 'expectedHashes'): Float64Array =>
      Float64Array.from(
        batches.flatMap((batch) => batch[column] ?? new Array<null>(batch.resultIds.length).fill(null)),
        (value) => value ?? NaN,
      );
    const [resultIds, caseKeys] = [all('resultIds'), all('caseKeys')];
    const hasErrors = Uint8Array.from(all('hasErrors'), Number);
    const hasTraces = batches.some(({ traceIds }) => traceIds !== null);
    const count = resultIds.length;
    const last = resultIds.at(-1) ?? '';
    const columns: ScoreColumns = {
      caseKeys,
      scores: new Float64Array(scorers.length * count).fill(NaN),
      nulls: new Uint8Array(scorers.length * count),
      judges: new Int32Array(scorers.length * count),
      trials,
      // without a dataset, every case with a result is expected
      areExpected:
        expected_case_count === null
          ? new Uint8Array(count).fill(1)
          : Uint8Array.from(all('areExpected'), Number),
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
          else if (hasErrors[result] === 0) columns.nulls[index * count + result] = 1;
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
        sizes: Int32Array.from(all('bytes')),
        hasErrors,
        errorCount: hasErrors.filter((one) => one === 1).length,
        caseCount: new Set(caseKeys).size,
        durations: numbers('durations'),
        traceIds: hasTraces
          ? batches.flatMap((batch) => batch.traceIds ?? new Array<null>(batch.resultIds.length).fill(null))
          : null,
        lateCounts,
        isTruncated,
      },
      contents: {
        experimentId: id,
        resultIds,
        caseKeys,
        areErased: all('areErased'),
        inputHashes: numbers('inputHashes'),
        expectedHashes: numbers('expectedHashes'),
      },
      mixedReasons: scorers.map(({ scorer, versions }) =>
        requested?.scorer === scorer ? null : mixedReason(side, versions[side], found.get(scorer)),
      ),
      models,
    };
  }
}

/** Returns the versions of one scorer. */
export const versionsOf = (versions: readonly ScoredVersion[], scorer: string): ScoredVersion[] =>
  versions.filter((one) => one.scorer === scorer);
