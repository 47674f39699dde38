import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Scope } from '#platform/auth';
import { FairLimiter } from '#platform/concurrency';
import { PAGE_SIZE_DEFAULT } from '#platform/paging';
import { problem } from '#platform/problem';
import type { ScorerMean } from '../../experiments';
import { AnalysisPool } from '../computation/analysis.pool';
import { type PlannedPage, planPage } from './case-page';
import {
  type ComparedCaseDto,
  type ComparedCasePageDto,
  type ComparedMeans,
  type CompareQueryDto,
  type ComparisonDto,
  toCase,
  toExperiment,
  toScorer,
  toTotals,
} from './comparison.dto';
import { type ComparedExperiment, ComparisonRepository, type ComparedRow } from './comparison.repository';
import type { ComparedCases } from '../computation/paired-statistics';
import { type ExperimentPair, type ExperimentScores, ScoreReader, scoresOf } from './score-reader';

interface Pair {
  candidate: ComparedExperiment;
  baseline: ComparedExperiment;
}

type Side = keyof Pair;

/** Pages read at once. A page may take about 60 MiB. */
const PAGES_AT_ONCE = 2;
const PAGES_WAITING = 200;
/** Memory for cached comparisons of frozen experiments. */
const CACHE_BYTES = 64 * 1024 * 1024;
/** Approximate size of a string without its characters, and of the reference to it. */
const STRING_BYTES = 32;
/** Approximate size of a scorer's name, means and statistics. */
const SCORER_BYTES = 2_000;

/** The comparison of two experiments, without their outputs. */
interface Comparison {
  cases: ComparedCases;
  sides: Record<Side, Pick<ExperimentScores, 'resultIds' | 'sizes' | 'isTruncated'>>;
  means: ComparedMeans[];
  /** Number of scorers found in either experiment. `means` has the ones compared. */
  scorerCount: number;
}

@Injectable()
export class ComparisonService {
  private readonly pageLimiter = new FairLimiter({
    share: PAGES_AT_ONCE,
    maxWaiting: PAGES_WAITING,
  });
  /** Comparisons of frozen experiments, whose results never change. Further pages then read only their own results. */
  private readonly cache = new LRUCache<string, Comparison>({
    maxSize: CACHE_BYTES,
    sizeCalculation: sizeInBytes,
  });

  constructor(
    private readonly reader: ScoreReader,
    private readonly comparisons: ComparisonRepository,
    private readonly pool: AnalysisPool,
  ) {}

  /**
   * Compares an experiment with a baseline and returns a page of the cases. Errors: 404 for an unknown experiment; 400
   * `invalid_query` without a baseline, for the experiment as its own baseline, and for an unknown scorer; 503 if too
   * many comparisons or pages wait.
   *
   * @param signal ends the computation
   */
  async compare(
    scope: Scope,
    experimentId: string,
    query: CompareQueryDto,
    signal: AbortSignal,
  ): Promise<ComparisonDto> {
    if (query.cursor !== undefined && query.offset !== undefined) {
      throw problem.invalidQuery('cursor', 'cannot be combined with offset');
    }
    const pair = pairOf(
      await this.reader.find(scope, experimentId, query.baseline_experiment_id, (id) =>
        problem.unknownParameter('baseline_experiment_id', 'experiment', id),
      ),
    );
    const withStatistics = !isFurtherPage(query);
    const comparison = await this.comparison(scope, pair, withStatistics, signal);
    const { cases, sides, means, scorerCount } = comparison;
    return {
      candidate: toExperiment(pair.candidate, sides.candidate),
      baseline: toExperiment(pair.baseline, sides.baseline),
      is_truncated: sides.candidate.isTruncated || sides.baseline.isTruncated,
      totals: toTotals(cases),
      scorers: withStatistics ? cases.statistics!.map((one, i) => toScorer(means[i]!, one)) : null,
      scorer_count: scorerCount,
      cases: await this.page(scope, pair, comparison, query, signal),
    };
  }

  /** Returns the cached comparison of frozen experiments, or computes it. Comparisons of running ones are not cached. */
  private async comparison(
    scope: Scope,
    pair: Pair,
    withStatistics: boolean,
    signal: AbortSignal,
  ): Promise<Comparison> {
    const isFrozen = [pair.candidate, pair.baseline].every((one) => one.experiment_status !== 'running');
    const key = [scope.workspaceId, pair.candidate.experiment_id, pair.baseline.experiment_id].join(' ');
    const cached = isFrozen ? this.cache.get(key) : undefined;
    if (cached && (cached.cases.statistics || !withStatistics)) return cached;
    const comparison = await this.pool.reserve(scope, signal, async (runTask) => {
      const { scorers, ...read } = await this.reader.read(scope, pair, null, signal);
      const sides = { candidate: read.candidate, baseline: read.baseline! };
      const ids = [pair.candidate.experiment_id, pair.baseline.experiment_id] as const;
      const input = {
        pair: ids,
        scorers,
        candidate: scoresOf(sides.candidate),
        baseline: scoresOf(sides.baseline),
        withStatistics,
      };
      const transfer = [sides.candidate.scores.buffer, sides.baseline.scores.buffer];
      const cases = await runTask('compareExperiments', input, { transfer });
      return toComparison(cases, sides, scorers);
    });
    // a comparison without statistics must not replace one with statistics
    if (isFrozen && (withStatistics || !this.cache.has(key))) this.cache.set(key, comparison);
    return comparison;
  }

  private async page(
    scope: Scope,
    pair: Pair,
    { cases, sides, means }: Comparison,
    { scorer, only, sort, limit = PAGE_SIZE_DEFAULT, offset = 0, cursor }: CompareQueryDto,
    signal: AbortSignal,
  ): Promise<ComparedCasePageDto> {
    const scorers = means.map((one) => one.scorer);
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
      const rows = await this.readResults(scope, pair[side], sides[side].resultIds, planned, side);
      return new Map(rows.map((row) => [row.result_id, row]));
    };
    const isEmpty = planned.cases.length === 0;
    const [candidate, baseline] = isEmpty
      ? [new Map<string, ComparedRow>(), new Map<string, ComparedRow>()]
      : await this.pageLimiter.run(scope, signal, () => Promise.all([read('candidate'), read('baseline')]));
    const items = planned.cases.map((one): ComparedCaseDto => {
      const rows = (side: Side, from: Map<string, ComparedRow>): ComparedRow[] =>
        one[side].flatMap((result) => from.get(sides[side].resultIds[result]!) ?? []);
      const shown = { candidate: rows('candidate', candidate), baseline: rows('baseline', baseline) };
      return toCase(cases, scorers, one.index, differences[one.index]!, shown);
    });
    return { items, page: { limit, offset, total: planned.total, next_cursor: planned.nextCursor } };
  }

  private readResults(
    scope: Scope,
    { experiment_id }: ComparedExperiment,
    ids: readonly string[],
    { cases }: PlannedPage,
    side: Side,
  ): Promise<ComparedRow[]> {
    const idsOf = (places: number[]): string[] => places.map((place) => ids[place]!);
    const all = cases.flatMap((one) => idsOf(one[side]));
    const first = cases.flatMap((one) => idsOf(one[side].slice(0, 1)));
    return this.comparisons.readResults(scope, experiment_id, all, first);
  }
}

/** Only the first page has statistics. */
const isFurtherPage = ({ cursor, offset = 0 }: CompareQueryDto): boolean =>
  cursor !== undefined || offset > 0;

function pairOf({ candidate, baseline }: ExperimentPair): Pair {
  const parameter = 'baseline_experiment_id';
  if (!baseline) {
    throw problem.invalidQuery(parameter, 'is required because the experiment has no baseline of its own');
  }
  if (baseline.experiment_id === candidate.experiment_id) {
    throw problem.invalidQuery(parameter, 'must be another experiment than this one');
  }
  return { candidate, baseline };
}

function toComparison(
  cases: ComparedCases,
  sides: Record<Side, ExperimentScores>,
  scorers: readonly string[],
): Comparison {
  const sideOf = ({ resultIds, sizes, isTruncated }: ExperimentScores): Comparison['sides'][Side] => ({
    resultIds,
    sizes,
    isTruncated,
  });
  const [candidate, baseline] = [meansByScorer(sides.candidate.means), meansByScorer(sides.baseline.means)];
  return {
    cases,
    sides: { candidate: sideOf(sides.candidate), baseline: sideOf(sides.baseline) },
    means: scorers.map((scorer) => ({ scorer, candidate: candidate(scorer), baseline: baseline(scorer) })),
    scorerCount: new Set([...sides.candidate.means, ...sides.baseline.means].map((mean) => mean.scorer)).size,
  };
}

function meansByScorer(means: readonly ScorerMean[]): (scorer: string) => ComparedMeans[Side] {
  const known = new Map(means.map(({ scorer, mean, count }) => [scorer, { mean, count }]));
  return (scorer) => known.get(scorer) ?? { mean: null, count: 0 };
}

/** Estimates the memory of a comparison in bytes. Assumes two bytes per character of a key. */
function sizeInBytes({ cases, sides, means }: Comparison): number {
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
    means.length * SCORER_BYTES
  );
}
