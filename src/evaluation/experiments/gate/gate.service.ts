import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { type Page, toPage } from '#platform/paging';
import { type FieldError, orNotFound, problem } from '#platform/problem';
import type { CoverageDto } from '../experiments/experiment.dto';
import { MIN_COMPARABLE, toVersion } from '../compare/comparison.dto';
import { changedCasesReason, differentJudgesReason } from '../compare/scorer-versions';
import { type ExperimentPair, isPromoted, type ScorePair, ScoreReader } from '../compare/score-reader';
import type { ExperimentScores, SelectedScorer } from '../compare/side-reader';
import { UsageReader } from '../compare/usage-reader';
import {
  AnalysisThreads,
  type GateOutput,
  isEnough,
  type RunMeasures,
  type ScoreTotals,
} from '../../statistics';
import { ExperimentRepository } from '../experiments/experiment.repository';
import { checksOf, isSet, type MeasuredScorer, needsBaseline, passesOf } from './gate-checks';
import {
  CHECK_KINDS,
  type GateDto,
  type GateResultDto,
  type GateRuleDto,
  type KeptGateDto,
  type KeptGateListQueryDto,
  RUN_KINDS,
  toKeptGateDto,
} from './gate.dto';
import { GateRepository } from './gate.repository';

/** The measures and the coverage that the rules are checked against. */
interface MeasuredExperiment {
  scorers: Map<string, MeasuredScorer>;
  run: RunMeasures | null;
  coverage: CoverageDto;
  baselineCoverage: CoverageDto | null;
  isTruncated: boolean;
}

@Injectable()
export class GateService {
  constructor(
    private readonly reader: ScoreReader,
    private readonly usage: UsageReader,
    private readonly kept: GateRepository,
    private readonly experiments: ExperimentRepository,
    private readonly threads: AnalysisThreads,
  ) {}

  /**
   * Checks a running or completed experiment against rules, and keeps the check. A rule fails if its scorer has no scores, or
   * too few of the expected cases have one. Errors: 400 for a rule without a bound, for a bound on scores without a scorer,
   * and for the experiment as its own baseline; 404 for
   * an unknown experiment; 409 for a failed experiment, and for a baseline that is not completed; 503 if too many
   * comparisons and gates wait.
   *
   * @param signal aborts the computation
   */
  async check(scope: Scope, experimentId: string, dto: GateDto, signal: AbortSignal): Promise<GateResultDto> {
    const { rules, baseline_experiment_id, require_baseline, allow_version_mismatch, min_comparable } = dto;
    refuse(rules.flatMap(faultsOfRule));
    const pair = await this.reader.find(scope, experimentId, baseline_experiment_id, (id) =>
      problem.unknownReference('/baseline_experiment_id', 'experiment', id),
    );
    const { candidate, baseline, deletedBaselineId } = pair;
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
    const context = {
      hasBaseline: baseline !== null,
      deletedBaselineId,
      isPromoted: isPromoted(candidate),
      requiresBaseline: require_baseline === true,
    };
    const { run } = measured;
    const checks = rules.flatMap((rule, place) =>
      checksOf(rule, place, { scorer: measured.scorers.get(rule.scorer ?? '') ?? null, run }, context),
    );
    const result = {
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
    await this.kept.keep(scope, experimentId, dto, result);
    return result;
  }

  /** Lists the kept checks of an experiment. Errors: 404 for an unknown experiment. */
  async list(scope: Scope, experimentId: string, query: KeptGateListQueryDto): Promise<Page<KeptGateDto>> {
    orNotFound(await this.experiments.exists(scope, experimentId), 'experiment', experimentId);
    return toPage(await this.kept.list(scope, experimentId, query), toKeptGateDto);
  }

  /**
   * Measures each scorer once, however many rules it has. Reads the baseline only for rules that compare with it, and traces
   * only for rules about costs.
   */
  private measure(
    scope: Scope,
    pair: ExperimentPair,
    rules: readonly GateRuleDto[],
    { allowMismatch, minComparable }: { allowMismatch: boolean; minComparable: number },
    signal: AbortSignal,
  ): Promise<MeasuredExperiment> {
    const scorers = [...new Set(rules.flatMap((rule) => rule.scorer ?? []))];
    const needed = scorers.map((scorer) => {
      const own = rules.filter((rule) => rule.scorer === scorer);
      const confident = own.filter((rule) => rule.confident === true);
      return {
        scorer,
        meanInterval: confident.some((rule) => isSet(rule.min_mean)),
        difference: own.some(needsBaseline),
        differenceInterval: confident.some((rule) => isSet(rule.max_regression)),
        passes: own.flatMap((rule) => passesOf(rule)),
      };
    });
    const baseline = needed.some((one) => one.difference) ? pair.baseline : null;
    const withoutBaseline = new Set(needed.flatMap((one) => (one.difference ? [] : one.scorer)));
    const needsRun = rules.some((rule) => RUN_KINDS.some((kind) => isSet(rule[kind])));
    const needsCost = rules.some((rule) => isSet(rule.max_mean_cost_usd));
    return this.threads.reserve(scope, signal, async (runTask) => {
      const read = await this.reader.read(
        scope,
        { candidate: pair.candidate, baseline },
        { scorers, withoutBaseline, allowMismatch },
        signal,
      );
      const { durations, hasErrors, caseCount } = read.candidate;
      const costs = needsCost
        ? (await this.usage.measure(scope, read.candidate, signal)).cost_usd
        : new Float64Array(durations.length).fill(NaN);
      const expectedCases = pair.candidate.expected_case_count ?? caseCount;
      const output = await runTask('measureForGate', {
        candidateId: pair.candidate.experiment_id,
        candidate: read.candidate.columns,
        baseline: read.baseline && {
          experimentId: baseline!.experiment_id,
          scores: read.baseline.columns,
        },
        changed: read.changed,
        needed,
        hasErrors,
        expectedCases: pair.candidate.expected_case_count,
        run: needsRun ? { expectedCases, durations, costs } : null,
      });
      return toMeasured({ candidate: pair.candidate, baseline }, read, output, minComparable);
    });
  }
}

function toMeasured(
  { candidate, baseline }: ExperimentPair,
  read: ScorePair,
  { scorers: measures, paired, changed, run }: GateOutput,
  minComparable: number,
): MeasuredExperiment {
  const changedReason = changedCasesReason({ paired, changed }, minComparable);
  const expected = (
    experiment: { expected_case_count: number | null },
    { caseCount }: ExperimentScores,
  ): number => experiment.expected_case_count ?? caseCount;
  const scorers = read.scorers.map(
    ({ versions, current, models, reason, candidateReason }, i): MeasuredScorer => {
      const measured = measures[i]!;
      const { sharedCases, judgeChanged } = measured;
      const isSameJudge = isEnough(sharedCases, judgeChanged, minComparable);
      return {
        ...measured,
        versions: {
          candidate: toVersion(versions.candidate),
          baseline: toVersion(versions.baseline),
          current: toVersion(current.candidate),
        },
        candidateReason,
        reason: reason ?? changedReason ?? (isSameJudge ? null : differentJudgesReason(models, judgeChanged)),
        changedCases: changed,
        erasedCases: read.erasedCount,
        lateCounts: {
          candidate: read.candidate.lateCounts[i]!,
          baseline: read.baseline?.lateCounts[i] ?? 0,
        },
        expectedCases: expected(candidate, read.candidate),
        hasTrials: candidate.trials > 1 || read.candidate.caseCount < read.candidate.resultIds.length,
        isTruncated: read.candidate.isTruncated,
        baselineExpectedCases: baseline && read.baseline && expected(baseline, read.baseline),
      };
    },
  );
  return {
    scorers: new Map(read.scorers.map(({ scorer }, i) => [scorer, scorers[i]!])),
    run,
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

function faultsOfRule(rule: GateRuleDto, place: number): FieldError[] {
  const bounds = CHECK_KINDS.filter((bound) => isSet(rule[bound]));
  if (bounds.length === 0) {
    return [{ pointer: `/rules/${place}`, detail: `must have at least one of ${CHECK_KINDS.join(', ')}` }];
  }
  const ofScores = bounds.find((bound) => !(RUN_KINDS as readonly string[]).includes(bound));
  if (ofScores === undefined || (rule.scorer ?? null) !== null) return [];
  return [{ pointer: `/rules/${place}/scorer`, detail: `is required for ${ofScores}` }];
}
