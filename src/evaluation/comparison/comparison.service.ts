import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { PAGE_SIZE_DEFAULT } from '#platform/paging';
import { problem } from '#platform/problem';
import { FairTurns, Pace } from '#platform/turns';
import { type PlannedPage, planPage } from './case-page';
import { ComparisonCache, type PrepareWork } from './comparison-cache';
import { ComparisonReader, type FoundPair } from './comparison-reader';
import type { ComparedCaseDto, ComparedCasePageDto, CompareQueryDto, ComparisonDto } from './comparison.dto';
import { toCase, toExperiment, toScorer, toTotals } from './comparison.mapper';
import { type ComparedExperiment, ComparisonRepository, type ShownRow } from './comparison.repository';
import { ComputingTurns } from './computing-turns';
import { PreparedComparison } from './prepared-comparison';

interface Pair {
  candidate: ComparedExperiment;
  baseline: ComparedExperiment;
}

type Side = keyof Pair;

/** Pages that a process reads at once: each may take some 60 MiB meanwhile. Others wait, in turns of their organizations. */
const PAGES_AT_ONCE = 2;
const PAGES_WAITING = 200;

@Injectable()
export class ComparisonService {
  private readonly pageTurns = new FairTurns(PAGES_AT_ONCE, PAGES_WAITING);

  constructor(
    private readonly reader: ComparisonReader,
    private readonly comparisons: ComparisonRepository,
    private readonly cache: ComparisonCache,
    private readonly turns: ComputingTurns,
  ) {}

  /**
   * Holds an experiment against a baseline, and pages its cases. Errors: 404 for either where it is unknown; 400
   * `invalid_query` where there is no baseline, or it is the experiment itself, and for a scorer that neither has; 503
   * where too many wait for theirs to be worked out, or for their page of cases.
   *
   * @param signal ends what is worked out for the answer alone
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
    const withStatistics = !isOfCasesAlone(query);
    const prepared = await this.workOut(scope, pair, withStatistics, signal);
    const { candidate, baseline } = prepared.cases;
    return {
      candidate: toExperiment(pair.candidate, candidate),
      baseline: toExperiment(pair.baseline, baseline),
      is_truncated: candidate.isTruncated || baseline.isTruncated,
      totals: toTotals(prepared.cases),
      scorers: withStatistics ? prepared.known!.map(toScorer) : null,
      scorer_count: prepared.scorerCount,
      cases: await this.page(scope, pair, prepared, query, signal),
    };
  }

  /** At once, where it is kept; else when its turn comes. What cases are paged by needs no statistics. */
  private async workOut(
    scope: Scope,
    pair: Pair,
    withStatistics: boolean,
    signal: AbortSignal,
  ): Promise<PreparedComparison> {
    const work: PrepareWork = async (kept, ending) => {
      const lane = await this.reader.laneOf(scope, pair);
      return this.turns.take(scope, lane, ending, async () => {
        const pace = new Pace(ending);
        const prepared = kept() ?? (await this.prepare(scope, pair, pace));
        if (withStatistics && !prepared.known) await prepared.compare(pace);
        return prepared;
      });
    };
    const sides = [pair.candidate, pair.baseline];
    // each answer about a running experiment is of what was there when it was asked for
    if (sides.some((one) => one.experiment_status === 'running')) return work(() => undefined, signal);
    const ids = sides.map((one) => one.experiment_id);
    return this.cache.of(scope, ids, withStatistics, signal, work);
  }

  private async prepare(scope: Scope, pair: Pair, pace: Pace): Promise<PreparedComparison> {
    const { candidate, baseline, scorers } = await this.reader.read(scope, pair, null, pace);
    return PreparedComparison.of(candidate, baseline!, scorers, pace);
  }

  private async page(
    scope: Scope,
    pair: Pair,
    prepared: PreparedComparison,
    { scorer, only, sort, limit = PAGE_SIZE_DEFAULT, offset = 0, cursor }: CompareQueryDto,
    signal: AbortSignal,
  ): Promise<ComparedCasePageDto> {
    if (scorer !== undefined && !prepared.has(scorer)) {
      throw problem.invalidQuery('scorer', 'is none that these experiments are compared by; see scorers');
    }
    const { cases, means } = prepared;
    const order = prepared.order(scorer);
    const selection = { sort: sort ?? 'difference', outcome: only, scorer, limit, offset, cursor };
    const planned = planPage(cases, order, selection);
    const readSides = () =>
      Promise.all(
        (['candidate', 'baseline'] as const).map(async (side) => {
          const rows = await this.shown(scope, pair[side], cases[side].resultIds, planned, side);
          return new Map(rows.map((row) => [row.result_id, row]));
        }),
      );
    const isEmpty = planned.cases.length === 0;
    const read = await (isEmpty ? readSides() : this.pageTurns.take(scope, signal, readSides));
    const [candidate, baseline] = read as [Map<string, ShownRow>, Map<string, ShownRow>];
    const names = means.map((one) => one.scorer);
    const items = planned.cases.map((one): ComparedCaseDto => {
      const rows = (side: Side, from: Map<string, ShownRow>): ShownRow[] =>
        one[side].flatMap((result) => from.get(cases[side].resultIds[result]!) ?? []);
      const shown = { candidate: rows('candidate', candidate), baseline: rows('baseline', baseline) };
      return toCase(cases, names, one.index, order.differences[one.index]!, shown);
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

/** Whoever asks for further pages has the statistics from the first. */
const isOfCasesAlone = ({ cursor, offset = 0 }: CompareQueryDto): boolean =>
  cursor !== undefined || offset > 0;

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
