import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { FairLimiter } from '#platform/concurrency';
import { PAGE_SIZE_DEFAULT } from '#platform/paging';
import { problem } from '#platform/problem';
import type { ComparedCases } from '../../statistics';
import { planPage, type PagePlan } from './case-page';
import { type ComparedCaseDto, type ComparedCasePageDto, toCase } from './compared-case.dto';
import { ComparedResultRepository, type ComparedRow } from './compared-result.repository';
import type { CompareQueryDto } from './comparison.dto';
import type { ChosenScorer, ComparedExperiment } from './comparison.repository';
import type { ExperimentScores, SelectedScorer } from './side-reader';
import { sharedTraces, UsageReader } from './usage-reader';

export interface Pair {
  candidate: ComparedExperiment;
  baseline: ComparedExperiment;
}

export type Side = keyof Pair;

/** Pages read at once. A page may take about 60 MiB. */
const PAGES_AT_ONCE = 2;
const PAGES_WAITING = 200;
/** Size of the labels and comments that a page may have without being measured, and assumed size of one of them. */
const REASONS_BYTES = 16 * 1024 * 1024;
const REASON_BYTES = 10 * 1024;

/** The comparison of two experiments, without the outputs of their results. */
export interface ComparedExperiments {
  cases: ComparedCases;
  sides: Record<Side, Omit<ExperimentScores, 'columns'>>;
  scorers: SelectedScorer[];
}

/** Reads pages of compared cases, with the results of both sides. */
@Injectable()
export class ComparedCasePages {
  private readonly pageLimiter = new FairLimiter({
    share: PAGES_AT_ONCE,
    maxWaiting: PAGES_WAITING,
  });

  constructor(
    private readonly results: ComparedResultRepository,
    private readonly usage: UsageReader,
  ) {}

  /** Returns a page of cases. Errors: 400 for an unknown scorer or a cursor of another list. */
  async read(
    scope: Scope,
    pair: Pair,
    { cases, sides, scorers: readScorers }: ComparedExperiments,
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
    const plan = (sizes: Record<Side, Int32Array>): PagePlan =>
      planPage(
        {
          keys: cases.keys,
          isChanged: cases.isChanged,
          candidate: { ...cases.candidate, sizes: sizes.candidate },
          baseline: { ...cases.baseline, sizes: sizes.baseline },
        },
        differences,
        selection,
      );
    let planned = plan({ candidate: sides.candidate.sizes, baseline: sides.baseline.sizes });
    if (mayHaveLargeReasons(planned, scorers.length)) {
      planned = plan({
        candidate: await this.sizesWithScores(scope, sides.candidate, planned, 'candidate'),
        baseline: await this.sizesWithScores(scope, sides.baseline, planned, 'baseline'),
      });
    }
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
      const rows = await this.results.readRows(scope, pair[side], ids, sideScorers, allowMismatch);
      return new Map(rows.map((row) => [row.result_id, row]));
    };
    const isEmpty = planned.cases.length === 0;
    const [candidate, baseline] = isEmpty
      ? [new Map<string, ComparedRow>(), new Map<string, ComparedRow>()]
      : await this.pageLimiter.run(scope, signal, () => Promise.all([read('candidate'), read('baseline')]));
    const traceIds = [...candidate.values(), ...baseline.values()].map((row) => row.trace_id);
    const usage = await this.usage.byTrace(scope, traceIds, signal);
    for (const { traceIds: named } of [sides.candidate, sides.baseline]) {
      for (const id of sharedTraces(named)) usage.delete(id);
    }
    const items = planned.cases.map((one): ComparedCaseDto => {
      const rows = (side: Side, from: Map<string, ComparedRow>): ComparedRow[] =>
        one[side].flatMap((result) => from.get(sides[side].resultIds[result]!) ?? []);
      const results = { candidate: rows('candidate', candidate), baseline: rows('baseline', baseline) };
      return toCase(cases, scorers, one.index, differences[one.index]!, results, usage);
    });
    const total = isCounted === false ? null : planned.total;
    return { items, page: { limit, offset, total, next_cursor: planned.nextCursor } };
  }

  /** Returns the sizes of one side's results. Those of a page include their scores, with labels and comments. */
  private async sizesWithScores(
    scope: Scope,
    { sizes, resultIds }: Pick<ExperimentScores, 'sizes' | 'resultIds'>,
    { cases }: PagePlan,
    side: Side,
  ): Promise<Int32Array> {
    const indexes = cases.flatMap((one) => one[side]);
    const bytes = await this.results.scoreBytes(
      scope,
      indexes.map((index) => resultIds[index]!),
    );
    const all = sizes.slice();
    for (const index of indexes) all[index]! += bytes.get(resultIds[index]!) ?? 0;
    return all;
  }
}

/** Whether the labels and the comments of a page may be so large that they must be measured. */
const mayHaveLargeReasons = ({ cases }: PagePlan, scorers: number): boolean => {
  const results = cases.reduce((sum, one) => sum + one.candidate.length + one.baseline.length, 0);
  return results * scorers * REASON_BYTES > REASONS_BYTES;
};
