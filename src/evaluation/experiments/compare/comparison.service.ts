import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Scope } from '#platform/auth';
import { FairLimiter } from '#platform/concurrency';
import { checkStart, PAGE_SIZE_DEFAULT } from '#platform/paging';
import { problem } from '#platform/problem';
import { AnalysisThreads } from '../../statistics';
import { planPage } from './case-page';
import {
  type ComparedCaseDto,
  type ComparedCasePageDto,
  type CompareQueryDto,
  type ComparisonDto,
  toCase,
  toExperiment,
  toScorer,
  MIN_COMPARABLE,
  toTotals,
} from './comparison.dto';
import {
  type ChosenScorer,
  type ComparedExperiment,
  ComparisonRepository,
  type ComparedRow,
} from './comparison.repository';
import type { ComparedCases } from '../../statistics';
import {
  type ExperimentPair,
  type ExperimentScores,
  isPromoted,
  ScoreReader,
  type SelectedScorer,
} from './score-reader';

interface Pair {
  candidate: ComparedExperiment;
  baseline: ComparedExperiment;
}

type Side = keyof Pair;

/** Pages read at once. A page may take about 60 MiB. */
const PAGES_AT_ONCE = 2;
const PAGES_WAITING = 200;
/** Memory for cached comparisons of finalized experiments. */
const CACHE_BYTES = 64 * 1024 * 1024;
/** Approximate size of a string without its characters, and of the reference to it. */
const STRING_BYTES = 32;
/** Approximate size of a scorer's name, versions and statistics. */
const SCORER_BYTES = 2_000;

/** The comparison of two experiments, without the outputs of their results. */
interface Comparison {
  cases: ComparedCases;
  sides: Record<Side, Omit<ExperimentScores, 'columns'>>;
  scorers: SelectedScorer[];
  /** Number of scorers found in either experiment. `scorers` has the ones compared. */
  scorerCount: number;
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
  private readonly pageLimiter = new FairLimiter({
    share: PAGES_AT_ONCE,
    maxWaiting: PAGES_WAITING,
  });
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
    private readonly comparisons: ComparisonRepository,
    private readonly threads: AnalysisThreads,
  ) {}

  /**
   * Compares an experiment with a baseline and returns a page of the cases. Errors: 404 for an unknown experiment; 400
   * `invalid_query` without a baseline, for the experiment as its own baseline, for an unknown scorer, and for a
   * `scorer_version` without `scorer`; 409 for a baseline that is not completed; 503 if too many comparisons or pages
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
    const { cases, sides, scorers, scorerCount } = comparison;
    const lateCountsOf = (index: number): Record<Side, number> => ({
      candidate: sides.candidate.lateCounts[index]!,
      baseline: sides.baseline.lateCounts[index]!,
    });
    return {
      candidate: toExperiment(pair.candidate, sides.candidate),
      baseline: toExperiment(pair.baseline, sides.baseline),
      is_truncated: sides.candidate.isTruncated || sides.baseline.isTruncated,
      totals: toTotals(cases),
      scorers: withStatistics
        ? cases.statistics!.map((one, i) => toScorer(scorers[i]!, lateCountsOf(i), one))
        : null,
      scorer_count: scorerCount,
      cases: await this.page(scope, pair, comparison, query, signal),
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
    const digests = [pair.candidate.late_digest, pair.baseline.late_digest];
    const key = JSON.stringify([scope.workspaceId, ids, digests, choice]);
    const cached = isFinalized ? this.cache.get(key) : undefined;
    if (cached && (cached.cases.statistics || !withStatistics)) return cached;
    const comparison = await this.threads.reserve(scope, signal, async (runTask) => {
      const { scorers, scorerCount, ...read } = await this.reader.read(
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
        minComparable: choice.minComparable,
        withStatistics,
      };
      const transfer = [candidate, baseline].flatMap(({ scores, nulls, judges }) => [
        scores.buffer,
        nulls.buffer,
        judges.buffer,
      ]);
      const cases = await runTask('compareExperiments', input, transfer);
      return { cases, sides: { candidate: candidateSide, baseline: baselineSide }, scorers, scorerCount };
    });
    // a comparison without statistics must not replace one with statistics
    if (isFinalized && (withStatistics || !this.cache.has(key))) this.cache.set(key, comparison);
    return comparison;
  }

  private async page(
    scope: Scope,
    pair: Pair,
    { cases, sides, scorers: readScorers }: Comparison,
    {
      scorer,
      only,
      allow_version_mismatch: allowMismatch = false,
      sort,
      limit = PAGE_SIZE_DEFAULT,
      offset = 0,
      cursor,
      total: isCounted,
    }: CompareQueryDto,
    signal: AbortSignal,
  ): Promise<ComparedCasePageDto> {
    const scorers = readScorers.map((one) => one.scorer);
    const differences =
      scorer === undefined ? cases.meanDifferences : cases.differences[scorers.indexOf(scorer)];
    if (!differences) {
      throw problem.invalidQuery(
        'scorer',
        'No such scorer in this comparison. See `scorers` for the available names.',
      );
    }
    const selection = { sort: sort ?? 'difference', outcome: only, scorer, limit, offset, cursor } as const;
    const sized = {
      keys: cases.keys,
      candidate: { ...cases.candidate, sizes: sides.candidate.sizes },
      baseline: { ...cases.baseline, sizes: sides.baseline.sizes },
    };
    const planned = planPage(sized, differences, selection);
    const read = async (side: Side): Promise<Map<string, ComparedRow>> => {
      const sideScorers = readScorers.flatMap(({ scorer: name, versions }): ChosenScorer[] =>
        versions[side] === null ? [] : [{ scorer: name, version: versions[side] }],
      );
      const idsOf = (indexes: Int32Array | number[]): string[] =>
        Array.from(indexes, (index) => sides[side].resultIds[index]!);
      const ids = {
        resultIds: planned.cases.flatMap((one) => idsOf(one[side])),
        withInput: planned.cases.flatMap((one) => idsOf(one[side].slice(0, 1))),
      };
      const rows = await this.comparisons.readRows(scope, pair[side], ids, sideScorers, allowMismatch);
      return new Map(rows.map((row) => [row.result_id, row]));
    };
    const isEmpty = planned.cases.length === 0;
    const [candidate, baseline] = isEmpty
      ? [new Map<string, ComparedRow>(), new Map<string, ComparedRow>()]
      : await this.pageLimiter.run(scope, signal, () => Promise.all([read('candidate'), read('baseline')]));
    const items = planned.cases.map((one): ComparedCaseDto => {
      const rows = (side: Side, from: Map<string, ComparedRow>): ComparedRow[] =>
        one[side].flatMap((result) => from.get(sides[side].resultIds[result]!) ?? []);
      const results = { candidate: rows('candidate', candidate), baseline: rows('baseline', baseline) };
      return toCase(cases, scorers, one.index, differences[one.index]!, results);
    });
    return {
      items,
      page: {
        limit,
        offset,
        total: isCounted === false ? null : planned.total,
        next_cursor: planned.nextCursor,
      },
    };
  }
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

function pairOf({ candidate, baseline }: ExperimentPair): Pair {
  const parameter = 'baseline_experiment_id';
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
    sides.candidate.sizes,
    sides.baseline.sizes,
  ];
  const ids = [...sides.candidate.resultIds, ...sides.baseline.resultIds];
  return (
    arrays.reduce((sum, array) => sum + array.byteLength, 0) +
    ids.reduce((sum, id) => sum + STRING_BYTES + id.length, 0) +
    cases.keys.reduce((sum, key) => sum + STRING_BYTES + 2 * key.length, 0) +
    scorers.length * SCORER_BYTES
  );
}
