import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { type FieldError, problem } from '#platform/problem';
import type { CoverageDto } from '../experiments/experiment.dto';
import { MIN_COMPARABLE, toVersion } from '../compare/comparison.dto';
import { differentJudgesReason } from '../compare/scorer-versions';
import {
  type ExperimentPair,
  type ExperimentScores,
  isPromoted,
  type ScorePair,
  ScoreReader,
  type SelectedScorer,
} from '../compare/score-reader';
import { isSameJudgeOf, AnalysisThreads } from '../../statistics';
import type { ScoreTotals } from '../../statistics';
import type { GateMeasures } from '../../statistics';
import { checksOf, isSet, type MeasuredScorer, needsBaseline } from './gate-checks';
import { CHECK_KINDS, type GateDto, type GateResultDto, type GateRuleDto } from './gate.dto';

/** The measures and the coverage of the scorers that the rules name. */
interface Measured {
  scorers: Map<string, MeasuredScorer>;
  coverage: CoverageDto;
  baselineCoverage: CoverageDto | null;
  isTruncated: boolean;
}

@Injectable()
export class GateService {
  constructor(
    private readonly reader: ScoreReader,
    private readonly threads: AnalysisThreads,
  ) {}

  /**
   * Checks a running or completed experiment against rules. A rule fails if its scorer has no scores, or too few of the
   * expected cases have one. Errors: 400 for a rule without a bound, and for the experiment as its own baseline; 404 for
   * an unknown experiment; 409 for a failed experiment, and for a baseline that is not completed; 503 if too many
   * comparisons and gates wait.
   *
   * @param signal aborts the computation
   */
  async check(
    scope: Scope,
    experimentId: string,
    { rules, baseline_experiment_id, require_baseline, allow_version_mismatch, min_comparable }: GateDto,
    signal: AbortSignal,
  ): Promise<GateResultDto> {
    refuse(rules.flatMap(faultsOfRule));
    const pair = await this.reader.find(scope, experimentId, baseline_experiment_id, (id) =>
      problem.unknownReference('/baseline_experiment_id', 'experiment', id),
    );
    const { candidate, baseline } = pair;
    if (candidate.experiment_status === 'failed') {
      throw problem.conflict(`The experiment ${experimentId} failed, so it cannot pass a gate.`);
    }
    if (baseline?.experiment_id === candidate.experiment_id) {
      refuse([{ pointer: '/baseline_experiment_id', detail: 'must be a different experiment' }]);
    }
    const measured = await this.measure(
      scope,
      pair,
      rules,
      { allowMismatch: allow_version_mismatch === true, minComparable: min_comparable ?? MIN_COMPARABLE },
      signal,
    );
    const checks = rules.flatMap((rule, place) =>
      checksOf(rule, place, measured.scorers.get(rule.scorer)!, {
        hasBaseline: baseline !== null,
        isPromoted: isPromoted(candidate),
        requiresBaseline: require_baseline === true,
        hasDataset: candidate.expected_case_count !== null,
      }),
    );
    return {
      passed: checks.every((check) => check.status !== 'failed'),
      experiment_id: candidate.experiment_id,
      name: candidate.name,
      experiment_name: candidate.experiment_name,
      experiment_status: candidate.experiment_status,
      baseline_experiment_id: baseline?.experiment_id ?? null,
      is_truncated: measured.isTruncated,
      coverage: measured.coverage,
      baseline_coverage: measured.baselineCoverage,
      checks,
    };
  }

  /** Measures each scorer once, however many rules it has. Reads the baseline only for rules that compare with it. */
  private measure(
    scope: Scope,
    pair: ExperimentPair,
    rules: readonly GateRuleDto[],
    { allowMismatch, minComparable }: { allowMismatch: boolean; minComparable: number },
    signal: AbortSignal,
  ): Promise<Measured> {
    const scorers = [...new Set(rules.map((rule) => rule.scorer))];
    const needed = scorers.map((scorer) => {
      const own = rules.filter((rule) => rule.scorer === scorer);
      const confident = own.filter((rule) => rule.confident === true);
      return {
        scorer,
        meanInterval: confident.some((rule) => isSet(rule.min_mean)),
        difference: own.some(needsBaseline),
        differenceInterval: confident.some((rule) => isSet(rule.max_regression)),
      };
    });
    const baseline = needed.some((one) => one.difference) ? pair.baseline : null;
    const withoutBaseline = new Set(needed.flatMap((one) => (one.difference ? [] : one.scorer)));
    return this.threads.reserve(scope, signal, async (runTask) => {
      const read = await this.reader.read(
        scope,
        { candidate: pair.candidate, baseline },
        { scorers, withoutBaseline, allowMismatch },
        signal,
      );
      const measures = await runTask('measureForGate', {
        candidateId: pair.candidate.experiment_id,
        candidate: read.candidate.columns,
        baseline: read.baseline && {
          experimentId: baseline!.experiment_id,
          scores: read.baseline.columns,
        },
        needed,
      });
      return toMeasured({ candidate: pair.candidate, baseline }, read, measures, minComparable);
    });
  }
}

function toMeasured(
  { candidate, baseline }: ExperimentPair,
  read: ScorePair,
  measures: readonly GateMeasures[],
  minComparable: number,
): Measured {
  const expected = (
    experiment: { expected_case_count: number | null },
    { caseCount }: ExperimentScores,
  ): number => experiment.expected_case_count ?? caseCount;
  const scorers = read.scorers.map(
    ({ versions, current, models, reason, candidateReason }, i): MeasuredScorer => {
      const measured = measures[i]!;
      const { sharedCases, judgeChanged } = measured;
      const isSameJudge = isSameJudgeOf(sharedCases, judgeChanged, minComparable);
      return {
        ...measured,
        versions: {
          candidate: toVersion(versions.candidate),
          baseline: toVersion(versions.baseline),
          current: toVersion(current.candidate),
        },
        candidateReason,
        reason: reason ?? (isSameJudge ? null : differentJudgesReason(models, judgeChanged)),
        expectedCases: expected(candidate, read.candidate),
        isTruncated: read.candidate.isTruncated,
        baselineExpectedCases: baseline && read.baseline && expected(baseline, read.baseline),
      };
    },
  );
  return {
    scorers: new Map(read.scorers.map(({ scorer }, i) => [scorer, scorers[i]!])),
    coverage: toCoverage(
      candidate.expected_case_count,
      read.candidate,
      read.scorers,
      (i) => measures[i]!.candidate,
    ),
    baselineCoverage:
      baseline &&
      read.baseline &&
      toCoverage(baseline.expected_case_count, read.baseline, read.scorers, (i) => measures[i]!.baseline),
    isTruncated: read.candidate.isTruncated || read.baseline?.isTruncated === true,
  };
}

const toCoverage = (
  expectedCaseCount: number | null,
  { resultIds, errorCount }: ExperimentScores,
  scorers: readonly SelectedScorer[],
  totalsOf: (place: number) => ScoreTotals | null,
): CoverageDto => ({
  expected_case_count: expectedCaseCount,
  result_count: resultIds.length,
  error_count: errorCount,
  scorers: Object.fromEntries(
    scorers.flatMap(({ scorer }, i) => {
      const totals = totalsOf(i);
      return totals ? [[scorer, { scored_count: totals.scoredCount, null_count: totals.nullCount }]] : [];
    }),
  ),
});

const refuse = (faults: FieldError[]): void => {
  if (faults.length > 0) throw problem.invalidFields(faults);
};

const faultsOfRule = (rule: GateRuleDto, place: number): FieldError[] =>
  CHECK_KINDS.some((bound) => isSet(rule[bound]))
    ? []
    : [{ pointer: `/rules/${place}`, detail: `must have at least one of ${CHECK_KINDS.join(', ')}` }];
