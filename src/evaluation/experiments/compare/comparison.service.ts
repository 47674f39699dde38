import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Scope } from '#platform/auth';
import { checkStart } from '#platform/paging';
import { problem } from '#platform/problem';
import {
  AnalysisThreads,
  type CaseTotals,
  caseTotals,
  isEnough,
  type MeasureDifference,
  type MeasureName,
} from '../../statistics';
import { ComparedCasePages, type ComparedExperiments, type Pair, type Side } from './compared-case.pages';
import {
  type CompareQueryDto,
  type ComparisonDto,
  MIN_COMPARABLE,
  toExperiment,
  toMeasures,
  toScorer,
  toTotals,
} from './comparison.dto';
import type { ChosenScorer } from './comparison.repository';
import { type FoundPair, isPromoted, ScoreReader } from './score-reader';
import { UsageReader } from './usage-reader';

type RunAnalysis = Parameters<Parameters<AnalysisThreads['reserve']>[2]>[0];

/** Memory for cached comparisons of finalized experiments. */
const CACHE_BYTES = 64 * 1024 * 1024;
/** Approximate size of a string without its characters, and of the reference to it. */
const STRING_BYTES = 32;
/** Approximate size of a scorer's name, versions and statistics. */
const SCORER_BYTES = 2_000;

/** The comparison of measures, and a digest of the traces' usage that it was computed from. */
interface ComparedMeasures {
  digest: string;
  measures: Record<MeasureName, MeasureDifference>;
}

interface Comparison extends ComparedExperiments {
  totals: CaseTotals;
  /** Computed with the statistics, and again after traces have arrived. */
  measured?: ComparedMeasures;
  /** Number of scorers found in either experiment. `scorers` has the ones compared. */
  scorerCount: number;
  /** Number of cases of both experiments with an erased result. */
  erasedCount: number;
}

/** Which scores a request compares. */
interface ScoreChoice {
  requested: ChosenScorer | undefined;
  /** Whether scores by different versions and judges are compared. */
  allowMismatch: boolean;
  /** See `ComparisonInput`. */
  minComparable: number;
}

@Injectable()
export class ComparisonService {
  /**
   * Caches comparisons of finalized experiments, whose results never change, so that further pages read only their own
   * results. The key has a digest of the late scores.
   */
  private readonly cache = new LRUCache<string, Comparison>({
    maxSize: CACHE_BYTES,
    sizeCalculation: sizeInBytes,
  });

  constructor(
    private readonly reader: ScoreReader,
    private readonly pages: ComparedCasePages,
    private readonly usage: UsageReader,
    private readonly threads: AnalysisThreads,
  ) {}

  /**
   * Compares an experiment with a baseline and returns a page of the cases. Errors: 404 for an unknown experiment; 400
   * `invalid_query` without a baseline, for the experiment as its own baseline, for an unknown scorer, and for a
   * `scorer_version` without `scorer`; 409 for a baseline that is not completed or was deleted; 503 if too many comparisons or pages
   * wait.
   *
   * @param signal aborts the computation
   */
  async compare(
    scope: Scope,
    experimentId: string,
    query: CompareQueryDto,
    signal: AbortSignal,
  ): Promise<ComparisonDto> {
    checkStart(query);
    const choice = choiceOf(query);
    const pair = pairOf(
      await this.reader.find(scope, experimentId, query.baseline_experiment_id, (id) =>
        problem.unknownParameter('baseline_experiment_id', 'experiment', id),
      ),
    );
    const withStatistics = !isFurtherPage(query);
    const comparison = await this.comparison(scope, pair, choice, withStatistics, signal);
    const { cases, sides, scorers, scorerCount, erasedCount, totals } = comparison;
    const { minComparable } = choice;
    const lateCountsOf = (index: number): Record<Side, number> => ({
      candidate: sides.candidate.lateCounts[index]!,
      baseline: sides.baseline.lateCounts[index]!,
    });
    return {
      candidate: toExperiment(pair.candidate, sides.candidate),
      baseline: toExperiment(pair.baseline, sides.baseline),
      is_truncated: sides.candidate.isTruncated || sides.baseline.isTruncated,
      totals: toTotals(cases.keys.length, totals, erasedCount),
      scorers: withStatistics
        ? cases.statistics!.map((one, i) =>
            toScorer(scorers[i]!, lateCountsOf(i), one, { totals, minComparable }),
          )
        : null,
      measures: withStatistics ? toMeasures(comparison.measured!.measures) : null,
      scorer_count: scorerCount,
      cases: await this.pages.read(scope, pair, comparison, query, signal),
    };
  }

  /** Returns the cached comparison of finalized experiments, or computes it. Comparisons of running ones are not cached. */
  private async comparison(
    scope: Scope,
    pair: Pair,
    choice: ScoreChoice,
    withStatistics: boolean,
    signal: AbortSignal,
  ): Promise<Comparison> {
    const ids = [pair.candidate.experiment_id, pair.baseline.experiment_id] as const;
    const isFinalized = [pair.candidate, pair.baseline].every((one) => one.experiment_status !== 'running');
    // read before the scores: a score that is written in between changes the next request's key
    const digests = [pair.candidate, pair.baseline].map((one) => [one.generation, one.late_digest]);
    const key = JSON.stringify([scope.workspaceId, ids, digests, choice]);
    const cached = isFinalized ? this.cache.get(key) : undefined;
    if (cached && (cached.cases.statistics || !withStatistics)) {
      if (withStatistics) await this.measure(scope, pair, cached, choice, signal);
      return cached;
    }
    const comparison = await this.threads.reserve(scope, signal, async (runTask) => {
      const { scorers, scorerCount, changed, erasedCount, ...read } = await this.reader.read(
        scope,
        pair,
        { scorers: null, ...choice },
        signal,
      );
      const { columns: candidate, ...candidateSide } = read.candidate;
      const { columns: baseline, ...baselineSide } = read.baseline!;
      const input = {
        pair: ids,
        scorers: scorers.map(({ scorer }) => scorer),
        isComparable: scorers.map(({ reason }) => reason === null),
        candidate,
        baseline,
        changed,
        minComparable: choice.minComparable,
        withStatistics,
      };
      const transfer = [candidate, baseline].flatMap(({ scores, nulls, judges }) => [
        scores.buffer,
        nulls.buffer,
        judges.buffer,
      ]);
      const cases = await runTask('compareExperiments', input, transfer);
      const sides = { candidate: candidateSide, baseline: baselineSide };
      const totals = caseTotals(cases);
      const computed: Comparison = { cases, totals, sides, scorers, scorerCount, erasedCount };
      if (withStatistics) await this.measure(scope, pair, computed, choice, signal, runTask);
      return computed;
    });
    // a comparison without statistics must not replace one with statistics
    if (isFinalized && (withStatistics || !this.cache.has(key))) this.cache.set(key, comparison);
    return comparison;
  }

  /**
   * Compares durations, tokens and costs. Reads the usage of traces each time, because traces may arrive at any time, and
   * compares again only if it has changed.
   *
   * @param runTask runs the computation on a thread that the caller has reserved
   */
  private async measure(
    scope: Scope,
    { candidate, baseline }: Pair,
    comparison: Comparison,
    { minComparable }: ScoreChoice,
    signal: AbortSignal,
    runTask?: RunAnalysis,
  ): Promise<void> {
    const { sides, cases, totals } = comparison;
    const [own, other] = [
      await this.usage.measure(scope, sides.candidate, signal),
      await this.usage.measure(scope, sides.baseline, signal),
    ];
    const digest = digestOf([own, other].flatMap((side) => Object.values(side)));
    if (comparison.measured?.digest === digest) return;
    const input = {
      pair: [candidate.experiment_id, baseline.experiment_id] as const,
      cases: { candidate: cases.candidate, baseline: cases.baseline, isChanged: cases.isChanged },
      candidate: own,
      baseline: other,
      isComparable: isEnough(totals.paired, totals.changed, minComparable),
    };
    const run = (on: RunAnalysis) => on('compareMeasures', input, []);
    const measures = await (runTask ? run(runTask) : this.threads.reserve(scope, signal, run));
    comparison.measured = { digest, measures };
  }
}

function digestOf(columns: readonly Float64Array[]): string {
  const hash = createHash('sha256');
  for (const column of columns) hash.update(column);
  return hash.digest('base64');
}

/** Returns the requested choice of scores. Errors: 400 for a version without a scorer. */
function choiceOf({
  scorer,
  scorer_version,
  allow_version_mismatch,
  min_comparable,
}: CompareQueryDto): ScoreChoice {
  if (scorer_version !== undefined && scorer === undefined) {
    throw problem.invalidQuery('scorer_version', 'requires `scorer`');
  }
  return {
    requested: scorer_version === undefined ? undefined : { scorer: scorer!, version: scorer_version },
    allowMismatch: allow_version_mismatch === true,
    minComparable: min_comparable ?? MIN_COMPARABLE,
  };
}

/** Only the first page has statistics. */
const isFurtherPage = ({ cursor, offset = 0 }: CompareQueryDto): boolean =>
  cursor !== undefined || offset > 0;

function pairOf({ candidate, baseline, deletedBaselineId }: FoundPair): Pair {
  const parameter = 'baseline_experiment_id';
  if (deletedBaselineId !== null) {
    throw problem.conflict(
      `The baseline ${deletedBaselineId} was deleted. Name another experiment in \`baseline_experiment_id\`.`,
    );
  }
  if (!baseline) {
    throw problem.invalidQuery(
      parameter,
      isPromoted(candidate)
        ? 'is required, because this experiment is itself the promoted baseline of its dataset'
        : 'is required, because neither the experiment nor its dataset has a baseline',
    );
  }
  if (baseline.experiment_id === candidate.experiment_id) {
    throw problem.invalidQuery(parameter, 'must be a different experiment');
  }
  return { candidate, baseline };
}

/** Estimates the memory of a comparison in bytes. Assumes two bytes per character of a key. */
function sizeInBytes({ cases, sides, scorers }: Comparison): number {
  const arrays = [
    ...cases.differences,
    cases.meanDifferences,
    ...[cases.candidate, cases.baseline].flatMap(({ starts, results }) => [starts, results]),
    cases.isChanged,
    ...[sides.candidate, sides.baseline].flatMap(({ sizes, durations, hasErrors }) => [
      sizes,
      durations,
      hasErrors,
    ]),
  ];
  const ids = [sides.candidate, sides.baseline].flatMap(({ resultIds, traceIds }) => [
    ...resultIds,
    ...(traceIds ?? []).flatMap((id) => id ?? []),
  ]);
  return (
    arrays.reduce((sum, array) => sum + array.byteLength, 0) +
    ids.reduce((sum, id) => sum + STRING_BYTES + id.length, 0) +
    cases.keys.reduce((sum, key) => sum + STRING_BYTES + 2 * key.length, 0) +
    scorers.length * SCORER_BYTES
  );
}
