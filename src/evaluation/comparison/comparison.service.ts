import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { PAGE_SIZE_DEFAULT } from '#platform/paging';
import { problem } from '#platform/problem';
import { type PlannedPage, planPage } from './case-order';
import { ComparisonCache } from './comparison-cache';
import { ComparisonReader, type FoundPair } from './comparison-reader';
import type { ComparedCaseDto, ComparedCasePageDto, CompareQueryDto, ComparisonDto } from './comparison.dto';
import { toCase, toExperiment, toScorer, toTotals } from './comparison.mapper';
import { type ComparedExperiment, ComparisonRepository, type ShownRow } from './comparison.repository';
import { prepare, type PreparedComparison } from './prepared-comparison';

interface Pair {
  candidate: ComparedExperiment;
  baseline: ComparedExperiment;
}

type Side = keyof Pair;

@Injectable()
export class ComparisonService {
  constructor(
    private readonly reader: ComparisonReader,
    private readonly comparisons: ComparisonRepository,
    private readonly cache: ComparisonCache,
  ) {}

  /**
   * Holds an experiment against a baseline, and pages its cases. Errors: 404 for either where it is unknown; 400
   * `invalid_query` where there is no baseline, or it is the experiment itself, and for a scorer that neither has.
   */
  async compare(scope: Scope, experimentId: string, query: CompareQueryDto): Promise<ComparisonDto> {
    if (query.cursor !== undefined && query.offset !== undefined) {
      throw problem.invalidQuery('cursor', 'cannot be combined with offset');
    }
    const pair = pairOf(
      await this.reader.find(scope, experimentId, query.baseline_experiment_id, (id) =>
        problem.unknownParameter('baseline_experiment_id', 'experiment', id),
      ),
    );
    const ids = [pair.candidate.experiment_id, pair.baseline.experiment_id];
    const isFrozen = [pair.candidate, pair.baseline].every((one) => one.experiment_status !== 'running');
    const prepared = await this.cache.get(scope, ids, isFrozen, () => this.prepare(scope, pair));
    const { candidate, baseline } = prepared.cases;
    return {
      candidate: toExperiment(pair.candidate, candidate.scored),
      baseline: toExperiment(pair.baseline, baseline.scored),
      is_truncated: candidate.scored.isTruncated || baseline.scored.isTruncated,
      totals: toTotals(prepared.cases),
      scorers: prepared.scorers.map(toScorer),
      scorer_count: prepared.scorerCount,
      cases: await this.page(scope, pair, prepared, query),
    };
  }

  private async prepare(scope: Scope, pair: Pair): Promise<PreparedComparison> {
    const [candidate, baseline] = await Promise.all([
      this.reader.read(scope, pair.candidate),
      this.reader.read(scope, pair.baseline),
    ]);
    return prepare(candidate, baseline);
  }

  private async page(
    scope: Scope,
    pair: Pair,
    { cases, scorers }: PreparedComparison,
    { scorer, only, sort, limit = PAGE_SIZE_DEFAULT, offset = 0, cursor }: CompareQueryDto,
  ): Promise<ComparedCasePageDto> {
    const names = scorers.map((one) => one.scorer);
    if (scorer !== undefined && !names.includes(scorer)) {
      throw problem.invalidQuery('scorer', 'is none that these experiments are compared by; see scorers');
    }
    const differences = scorer === undefined ? cases.meanDifferences(names) : cases.differences(scorer);
    const selection = { sort: sort ?? 'difference', outcome: only, limit, offset, cursor };
    const planned = planPage(cases, differences, selection);
    const read = await Promise.all(
      (['candidate', 'baseline'] as const).map(async (side) => {
        const rows = await this.shown(scope, pair[side], cases[side].scored.resultIds, planned, side);
        return new Map(rows.map((row) => [row.result_id, row]));
      }),
    );
    const [candidate, baseline] = read as [Map<string, ShownRow>, Map<string, ShownRow>];
    const items = planned.cases.map((one): ComparedCaseDto => {
      const rows = (side: Side, from: Map<string, ShownRow>): ShownRow[] =>
        one[side].flatMap((result) => from.get(cases[side].scored.resultIds[result]!) ?? []);
      const shown = { candidate: rows('candidate', candidate), baseline: rows('baseline', baseline) };
      return toCase(cases, names, one.index, differences[one.index]!, shown);
    });
    return { items, page: { limit, offset, total: planned.total, next_cursor: planned.nextCursor } };
  }

  private shown(
    scope: Scope,
    { experiment_id }: ComparedExperiment,
    ids: readonly string[],
    { cases }: PlannedPage,
    side: Side,
  ): Promise<ShownRow[]> {
    const idsOf = (places: number[]): string[] => places.map((place) => ids[place]!);
    const all = cases.flatMap((one) => idsOf(one[side]));
    const first = cases.flatMap((one) => idsOf(one[side].slice(0, 1)));
    return this.comparisons.shown(scope, experiment_id, all, first);
  }
}

function pairOf({ candidate, baseline }: FoundPair): Pair {
  const parameter = 'baseline_experiment_id';
  if (!baseline) {
    throw problem.invalidQuery(
      parameter,
      'is required here, because the experiment has no baseline of its own',
    );
  }
  if (baseline.experiment_id === candidate.experiment_id) {
    throw problem.invalidQuery(parameter, 'must be another experiment than this one');
  }
  return { candidate, baseline };
}
