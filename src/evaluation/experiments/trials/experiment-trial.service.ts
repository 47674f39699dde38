import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import {
  checkStart,
  decodeCursor,
  encodeCursor,
  foreignCursor,
  type PageMetaDto,
  PAGE_SIZE_DEFAULT,
  type PageQueryDto,
} from '#platform/paging';
import { orNotFound, problem } from '#platform/problem';
import { AnalysisThreads, type PassEstimate, type PassRates } from '../../statistics';
import { ComparisonRepository } from '../compare/comparison.repository';
import { toVersion } from '../compare/comparison.dto';
import { ScoreReader } from '../compare/score-reader';
import {
  type ExperimentTrialListQueryDto,
  type ExperimentTrialPageDto,
  THRESHOLD,
} from './experiment-trial.dto';
import { ExperimentTrialRepository } from './experiment-trial.repository';

/** The name in cursors of the only sort order. */
const BY_CASE = 'case';

/** Counts the trials of experiments that pass. */
@Injectable()
export class ExperimentTrialService {
  constructor(
    private readonly comparisons: ComparisonRepository,
    private readonly reader: ScoreReader,
    private readonly trials: ExperimentTrialRepository,
    private readonly threads: AnalysisThreads,
  ) {}

  /**
   * Returns a page of the cases with the trials that pass by the current scores, and the estimates over all cases. Errors: 404
   * for an unknown experiment; 400 `invalid_query` for a scorer without scores; 503 if too many computations wait.
   *
   * @param signal aborts the computation
   */
  async list(
    scope: Scope,
    experimentId: string,
    { scorer, threshold = THRESHOLD, ...query }: ExperimentTrialListQueryDto,
    signal: AbortSignal,
  ): Promise<ExperimentTrialPageDto> {
    checkStart(query);
    const found = (await this.comparisons.find(scope, [experimentId])).get(experimentId);
    const experiment = orNotFound(found ?? null, 'experiment', experimentId);
    const rule = { k: query.k ?? experiment.trials, threshold };
    const { measured, read } = await this.threads.reserve(scope, signal, async (runTask) => {
      const pair = { candidate: experiment, baseline: null };
      const selection = { scorers: [scorer], allowMismatch: false };
      const { candidate, scorers } = await this.reader.read(scope, pair, selection, signal);
      const selected = scorers[0]!;
      if (selected.versions.candidate === null) {
        throw problem.invalidQuery(
          'scorer',
          'No result of this experiment has a score by this scorer. See `current_scores` of the experiment for the names',
        );
      }
      const { columns: scores, hasErrors, resultIds, isTruncated } = candidate;
      const expectedCases = experiment.expected_case_count;
      const input = { experimentId, scorer, rule, scores, hasErrors, expectedCases };
      return { measured: await runTask('measureTrials', input), read: { resultIds, isTruncated, selected } };
    });
    const { keys, judged, passed, means, firstResults, rates } = measured;
    const { indexes, page } = pageOfCases(keys, query);
    const idOf = (index: number): string => read.resultIds[firstResults[index]!]!;
    const caseIds = await this.trials.caseIdsOf(scope, experimentId, indexes.map(idOf));
    return {
      items: indexes.map((index) => ({
        case_id: caseIds.get(idOf(index)) ?? keys[index]!,
        n: judged[index]!,
        passed: passed[index]!,
        mean: Number.isNaN(means[index]) ? null : means[index]!,
      })),
      page,
      summary: {
        ...rule,
        ...toEstimates(rates, read.selected.candidateReason),
        case_count: rates.caseCount,
        left_out_count: rates.leftOutCount,
        scorer_version: toVersion(read.selected.versions.candidate),
        reason: read.selected.candidateReason,
        is_truncated: read.isTruncated,
      },
    };
  }
}

const NONE: PassEstimate = { value: null, interval: null };

/** @param reason why the scores have no single scale; null if they have */
function toEstimates({ passAtK, passHatK }: PassRates, reason: string | null) {
  const [at, hat] = reason === null ? [passAtK, passHatK] : [NONE, NONE];
  return {
    pass_at_k: at.value,
    pass_at_k_interval: at.interval,
    pass_hat_k: hat.value,
    pass_hat_k_interval: hat.interval,
  };
}

/** Selects the cases of a page. A cursor continues after its case, even if that case no longer exists. */
function pageOfCases(
  keys: readonly string[],
  { limit = PAGE_SIZE_DEFAULT, offset = 0, cursor, total }: PageQueryDto,
): { indexes: number[]; page: PageMetaDto } {
  const start = cursor === undefined ? offset : indexAfter(keys, cursor);
  const end = Math.min(keys.length, start + limit);
  const indexes = Array.from({ length: Math.max(0, end - start) }, (_, i) => start + i);
  const hasMore = indexes.length > 0 && end < keys.length;
  return {
    indexes,
    page: {
      limit,
      offset,
      total: total === false ? null : keys.length,
      next_cursor: hasMore ? encodeCursor({ sort: BY_CASE, id: '', key: keys[end - 1]! }) : null,
    },
  };
}

function indexAfter(keys: readonly string[], cursor: string): number {
  const { sort, id, key } = decodeCursor(cursor);
  if (sort !== BY_CASE || id !== '' || key === null) throw foreignCursor();
  const first = keys.findIndex((one) => one > key);
  return first < 0 ? keys.length : first;
}
