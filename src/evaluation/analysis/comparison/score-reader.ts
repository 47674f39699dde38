import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { problem } from '#platform/problem';
import type { ScorerMean } from '../../experiments';
import { type ComparedExperiment, ComparisonRepository, SCORERS_READ_MAX } from './comparison.repository';
import type { ScoreColumns } from '../computation/paired-cases';

/** Scorers compared, at most. */
const SCORERS_MAX = 100;

/** The results of one experiment, in order of arrival. */
export interface ExperimentScores extends ScoreColumns {
  /** One per scorer: the requested scorers, or those with the most scores. */
  means: ScorerMean[];
  resultIds: string[];
  /** Approximate size of each result as JSON, in bytes. */
  sizes: Int32Array;
  /** Whether the experiment has more results than were read. */
  isTruncated: boolean;
}

export interface ExperimentPair {
  candidate: ComparedExperiment;
  baseline: ComparedExperiment | null;
}

/** The scores of two experiments, read from one snapshot of the database. */
export interface ScorePair {
  candidate: ExperimentScores;
  /** Null if there is no baseline. */
  baseline: ExperimentScores | null;
  /** The scorers of the columns. */
  scorers: string[];
}

/** Reads the scores of two experiments for comparisons and gates. */
@Injectable()
export class ScoreReader {
  constructor(private readonly comparisons: ComparisonRepository) {}

  /**
   * Finds an experiment and its baseline: the requested one, else the experiment's own. Errors: 404 for an unknown
   * experiment; the error that `unknownBaseline` returns for an unknown baseline.
   */
  async find(
    scope: Scope,
    experimentId: string,
    baselineId: string | null | undefined,
    unknownBaseline: (id: string) => Error,
  ): Promise<ExperimentPair> {
    const candidate = await this.comparisons.find(scope, experimentId);
    if (!candidate) throw problem.notFound('experiment', experimentId);
    const id = baselineId ?? candidate.baseline_experiment_id;
    if (id === null) return { candidate, baseline: null };
    const baseline = await this.comparisons.find(scope, id);
    if (!baseline) throw unknownBaseline(id);
    return { candidate, baseline };
  }

  /**
   * Reads the scores and the means of both experiments.
   *
   * @param requested scorers to read; null selects the scorers to compare
   * @throws the signal's reason when it is aborted
   */
  read(
    scope: Scope,
    { candidate, baseline }: ExperimentPair,
    requested: readonly string[] | null,
    signal: AbortSignal,
  ): Promise<ScorePair> {
    return this.comparisons.inSnapshot(async (tx) => {
      const meansOf = async (
        experiment: ComparedExperiment | null,
        scorers: readonly string[] | null,
      ): Promise<ScorerMean[]> => {
        signal.throwIfAborted();
        return experiment ? this.comparisons.means(tx, scope, experiment, scorers) : [];
      };
      let own = await meansOf(candidate, requested);
      let other = await meansOf(baseline, requested);
      const scorers = requested ? [...requested] : scorersToCompare(own, other);
      if (!requested) {
        own = await withMissingMeans(own, scorers, (names) => meansOf(candidate, names));
        other = await withMissingMeans(other, scorers, (names) => meansOf(baseline, names));
      }
      return {
        candidate: await this.scores(tx, scope, candidate, own, scorers, signal),
        baseline: baseline && (await this.scores(tx, scope, baseline, other, scorers, signal)),
        scorers,
      };
    });
  }

  private async scores(
    tx: Tx,
    scope: Scope,
    { experiment_id: experimentId }: ComparedExperiment,
    means: ScorerMean[],
    scorers: readonly string[],
    signal: AbortSignal,
  ): Promise<ExperimentScores> {
    const [resultIds, caseKeys, sizes]: [string[], string[], number[]] = [[], [], []];
    const chunks: Float64Array[] = [];
    signal.throwIfAborted();
    const isTruncated = await this.comparisons.readScores(tx, scope, experimentId, (batch) => {
      signal.throwIfAborted();
      resultIds.push(...batch.resultIds);
      caseKeys.push(...batch.caseKeys);
      sizes.push(...batch.bytes);
      chunks.push(columnsOf(batch.scores, scorers));
    });
    const scores = joined(chunks, scorers.length, resultIds.length);
    return { means, resultIds, caseKeys, sizes: Int32Array.from(sizes), scores, isTruncated };
  }
}

/** Returns the columns that are passed to a thread. */
export const scoresOf = ({ caseKeys, scores }: ExperimentScores): ScoreColumns => ({ caseKeys, scores });

/** Returns the scores of a batch as columns: all scores of the first scorer, then of the next. NaN for no score. */
function columnsOf(
  batch: readonly Record<string, number | null>[],
  scorers: readonly string[],
): Float64Array {
  const columnOf = new Map(scorers.map((scorer, column) => [scorer, column * batch.length]));
  const columns = new Float64Array(scorers.length * batch.length).fill(NaN);
  for (const [result, scores] of batch.entries()) {
    for (const [scorer, score] of Object.entries(scores)) {
      const column = columnOf.get(scorer);
      if (column !== undefined && typeof score === 'number') columns[column + result] = score;
    }
  }
  return columns;
}

/** Joins the columns of the batches. */
function joined(chunks: readonly Float64Array[], scorers: number, results: number): Float64Array {
  const all = new Float64Array(scorers * results);
  let first = 0;
  for (const chunk of chunks) {
    const count = chunk.length / scorers;
    for (let scorer = 0; scorer < scorers; scorer++) {
      all.set(chunk.subarray(scorer * count, (scorer + 1) * count), scorer * results + first);
    }
    first += count;
  }
  return all;
}

/** Selects the scorers to compare: those of both sides first, then those with the most scores. Sorts them by name. */
function scorersToCompare(candidate: readonly ScorerMean[], baseline: readonly ScorerMean[]): string[] {
  const counts = new Map<string, { shared: boolean; count: number }>();
  for (const { scorer, count } of [...candidate, ...baseline]) {
    const known = counts.get(scorer);
    counts.set(scorer, { shared: known !== undefined, count: count + (known?.count ?? 0) });
  }
  return [...counts]
    .sort(
      ([a, of], [b, other]) =>
        Number(other.shared) - Number(of.shared) || other.count - of.count || (a < b ? -1 : 1),
    )
    .slice(0, SCORERS_MAX)
    .map(([scorer]) => scorer)
    .sort();
}

/** Adds the missing means of these scorers if the experiment may have more scorers than were read. */
async function withMissingMeans(
  means: ScorerMean[],
  scorers: readonly string[],
  read: (scorers: readonly string[]) => Promise<ScorerMean[]>,
): Promise<ScorerMean[]> {
  if (means.length < SCORERS_READ_MAX) return means;
  const known = new Set(means.map((mean) => mean.scorer));
  const others = scorers.filter((scorer) => !known.has(scorer));
  return others.length === 0 ? means : [...means, ...(await read(others))];
}
