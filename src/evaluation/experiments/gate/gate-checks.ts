import type { GateMeasures, Interval, PassRates, PassRule, RunMeasures, ScoreTotals } from '../../statistics';
import { UNIT } from '../compare/comparison.dto';
import { THRESHOLD } from '../trials/experiment-trial.dto';
import { formatNumber } from './gate-report';
import {
  type CheckKind,
  type CheckStatus,
  type GateCheckDto,
  type GateRuleDto,
  isUpperBound,
  PASS_KINDS,
  type PassBoundDto,
  RUN_KINDS,
  type RunKind,
} from './gate.dto';

/** Values with a relative difference below this are equal up to rounding. For example, 0.7 - 0.8 is not below -0.1. */
const ROUNDING = 1e-12;

/** The measures of one scorer that its rules are checked against. */
export interface MeasuredScorer extends GateMeasures {
  /** The scorer versions, as responses show them. */
  versions: { candidate: number | null; baseline: number | null; current: number | null };
  /** Why the candidate's scores have no single scale; null if they have. */
  candidateReason: string | null;
  /** Why the scores of both sides cannot be compared; null if they can. */
  reason: string | null;
  /** Number of cases of both experiments that have changed. */
  changedCases: number;
  /** Number of cases of both experiments with an erased result. */
  erasedCases: number;
  /** Number of scores of each side that came after it was finalized. */
  lateCounts: { candidate: number; baseline: number };
  /** Number of cases that should have a score. */
  expectedCases: number;
  /** Whether several results have the same case. */
  hasTrials: boolean;
  /** Whether the candidate has more results than are read. */
  isTruncated: boolean;
  /** Null without a baseline. */
  baselineExpectedCases: number | null;
}

/** Facts about the request that apply to all checks. */
export interface GateContext {
  hasBaseline: boolean;
  /** See `FoundPair`. */
  deletedBaselineId: string | null;
  /** Whether the experiment is itself the promoted baseline of its dataset. */
  isPromoted: boolean;
  requiresBaseline: boolean;
}

export const isSet = <Bound>(bound: Bound | null | undefined): bound is Bound =>
  bound !== null && bound !== undefined;

/** Tells whether a rule compares with a baseline. */
export const needsBaseline = (rule: GateRuleDto): boolean =>
  [rule.max_regression, rule.max_regressed_cases, rule.max_case_regression].some(isSet);

const toPassRule = ({ k, threshold }: PassBoundDto): PassRule => ({ k, threshold: threshold ?? THRESHOLD });

/** Returns the pass rates that a rule needs. */
export const passesOf = (rule: GateRuleDto): PassRule[] =>
  PASS_KINDS.flatMap((kind) => (isSet(rule[kind]) ? toPassRule(rule[kind]) : []));

/** What the checks of a rule are about. */
export interface Measured {
  /** Null for a rule without a scorer. */
  scorer: MeasuredScorer | null;
  /** Null if no rule needs it. */
  run: RunMeasures | null;
}

/** Returns the checks of a rule, one for each of its bounds. */
export function checksOf(
  rule: GateRuleDto,
  ruleIndex: number,
  { scorer, run }: Measured,
  context: GateContext,
): GateCheckDto[] {
  const checks = scorer ? new RuleChecks(rule, ruleIndex, scorer, context).all() : [];
  const runChecks = RUN_KINDS.flatMap((kind) => {
    const bound = rule[kind];
    return isSet(bound) ? runCheck(kind, bound, ruleIndex, run!) : [];
  });
  return [...checks, ...runChecks];
}

/** Checks a bound that is not about scores. */
function runCheck(kind: RunKind, bound: number, rule: number, run: RunMeasures): GateCheckDto {
  const actual = {
    max_error_rate: run.errorRate,
    max_p95_duration_ms: run.p95Duration,
    max_mean_cost_usd: run.meanCost,
  }[kind];
  const passed = meets(kind, actual, bound);
  return {
    ...NO_SCORER,
    rule,
    kind,
    unit: UNIT,
    status: passed ? 'passed' : 'failed',
    reason: runReason(kind, { bound, actual, passed }, run),
    actual,
    bound,
    estimate: actual,
  };
}

const NO_SCORER = {
  scorer: null,
  confident: false,
  confidence_interval: null,
  scorer_version: null,
  current_scorer_version: null,
  baseline_scorer_version: null,
  judge_changed_count: 0,
  changed_case_count: 0,
  erased_count: 0,
  late_count: 0,
  baseline_late_count: 0,
} satisfies Partial<GateCheckDto>;

function runReason(
  kind: RunKind,
  { bound, actual, passed }: { bound: number; actual: number | null; passed: boolean },
  { expectedCases, missingCases, unknownDurations, unknownCosts }: RunMeasures,
): string {
  const cases = pluralize(expectedCases, 'case');
  if (expectedCases === 0) return 'The experiment has no results.';
  const missed = passed ? null : bound;
  const limit = `at most ${formatNumber(bound, passed ? null : actual)}`;
  const without = missingCases > 0 ? ` (${missingCases} without a result)` : '';
  if (kind === 'max_error_rate') {
    return `The error rate of ${cases} is ${formatNumber(actual, missed)}${without}; ${limit} is allowed.`;
  }
  if (kind === 'max_p95_duration_ms') {
    if (actual === null)
      return `The duration of ${unknownDurations} of ${cases} is unknown${without}. Set \`duration_ms\` in each result.`;
    return `The 95th percentile of the duration of ${cases} is ${formatNumber(actual, missed)} ms; ${limit} ms is allowed.`;
  }
  if (actual === null) {
    return `The cost of ${unknownCosts} of ${cases} is unknown${without}. Each result needs a \`trace_id\` of its own whose trace has arrived, and each of its models a price.`;
  }
  return `The mean cost of ${cases} is ${formatNumber(actual, missed)} USD; ${limit} USD is allowed.`;
}

/** Whether a value is within a bound, up to rounding. */
function meets(kind: CheckKind, actual: number | null, bound: number): boolean {
  if (actual === null) return false;
  const slack = ROUNDING * Math.max(Math.abs(actual), Math.abs(bound));
  return isUpperBound(kind) ? actual <= bound + slack : actual >= bound - slack;
}

/** A measured value. */
interface Value {
  estimate: number | null;
  interval: Interval | null;
  /** Whether the lower end of the interval is compared with the bound, instead of the estimate. */
  confident: boolean;
}

type Outcome = Pick<GateCheckDto, 'status' | 'reason'>;

class RuleChecks {
  private readonly minCoverage: number;

  constructor(
    private readonly rule: GateRuleDto,
    private readonly ruleIndex: number,
    private readonly measured: MeasuredScorer,
    private readonly context: GateContext,
  ) {
    this.minCoverage = rule.min_coverage ?? 1;
  }

  all(): GateCheckDto[] {
    const { rule, measured } = this;
    const confident = rule.confident === true;
    const { mean, count } = measured.candidate;
    const checks: GateCheckDto[] = [];
    const add = (kind: CheckKind, bound: number | null | undefined, value: Partial<Value>): void => {
      if (isSet(bound)) {
        checks.push(this.check(kind, bound, { estimate: null, interval: null, confident: false, ...value }));
      }
    };
    add('min_mean', rule.min_mean, { estimate: mean, interval: measured.meanInterval, confident });
    add('max_regression', minus(rule.max_regression), {
      estimate: measured.difference,
      interval: measured.differenceInterval,
      confident,
    });
    add('min_count', rule.min_count, { estimate: count });
    add('max_regressed_cases', rule.max_regressed_cases, { estimate: measured.regressedCases });
    add('max_case_regression', minus(rule.max_case_regression), { estimate: measured.worstDifference });
    for (const kind of PASS_KINDS) {
      const rates = this.ratesOf(kind);
      if (!rates) continue;
      const { value: estimate, interval } = kind === 'min_pass_at_k' ? rates.passAtK : rates.passHatK;
      // errors alone say nothing about a scorer, whose name may be misspelt
      add(kind, rule[kind]!.value, { estimate: count > 0 ? estimate : null, interval, confident });
    }
    if (this.minCoverage > 0) {
      add('min_coverage', this.minCoverage, {
        estimate: shareOf(measured.candidate, measured.expectedCases),
      });
    }
    return checks;
  }

  /** Returns the pass rates of a check. Null for a check that is not about any. */
  private ratesOf(kind: CheckKind): PassRates | null {
    if (kind !== 'min_pass_at_k' && kind !== 'min_pass_hat_k') return null;
    const bound = this.rule[kind];
    if (!isSet(bound)) return null;
    const { k, threshold } = toPassRule(bound);
    return this.measured.passes.find((one) => one.k === k && one.threshold === threshold)!;
  }

  private check(kind: CheckKind, bound: number, value: Value): GateCheckDto {
    const { versions, lateCounts, judgeChanged, changedCases, erasedCases, reason } = this.measured;
    const usesBaseline = BASELINE_KINDS.has(kind);
    // a difference of scores that cannot be compared would mislead
    const { estimate, interval, confident } =
      usesBaseline && reason !== null ? { ...value, estimate: null, interval: null } : value;
    // the interval may have been computed for another rule of the scorer
    const used = confident ? interval : null;
    const actual = !confident || estimate === null ? estimate : (used?.lower ?? null);
    const checked = { kind, bound, confident, actual, estimate };
    return {
      scorer: this.rule.scorer!,
      rule: this.ruleIndex,
      kind,
      unit: UNIT,
      ...(this.outcomeWithoutValue(usesBaseline) ?? this.outcome(checked)),
      confident,
      actual,
      bound,
      estimate,
      confidence_interval: used,
      scorer_version: versions.candidate,
      current_scorer_version: versions.current,
      baseline_scorer_version: usesBaseline ? versions.baseline : null,
      judge_changed_count: usesBaseline ? judgeChanged : 0,
      changed_case_count: usesBaseline ? changedCases : 0,
      erased_count: usesBaseline ? erasedCases : 0,
      late_count: lateCounts.candidate,
      baseline_late_count: usesBaseline ? lateCounts.baseline : 0,
    };
  }

  /**
   * Returns the outcome of a check that cannot be decided by its value, because the value is unknown or would mislead. Null
   * if the value decides.
   */
  private outcomeWithoutValue(usesBaseline: boolean): Outcome | null {
    const { measured, context } = this;
    if (!usesBaseline) {
      const reason = measured.candidateReason;
      return reason === null ? null : { status: 'failed', reason };
    }
    if (context.deletedBaselineId !== null) {
      return {
        status: 'failed',
        reason: `The baseline ${context.deletedBaselineId} was deleted. Name another experiment in \`baseline_experiment_id\`.`,
      };
    }
    if (!context.hasBaseline && context.isPromoted) {
      return { status: 'skipped', reason: 'This experiment is itself the promoted baseline.' };
    }
    if (!context.hasBaseline) {
      const fact = 'There is no baseline to compare with.';
      return context.requiresBaseline
        ? {
            status: 'failed',
            reason: `${fact} Set \`baseline_experiment_id\`, or promote an experiment in \`baselines\` of the dataset.`,
          }
        : { status: 'skipped', reason: fact };
    }
    if (measured.reason !== null) return { status: 'failed', reason: measured.reason };
    const { baseline, baselineExpectedCases } = measured;
    if (!baseline || baselineExpectedCases === null) return null;
    const covered = shareOf(baseline, baselineExpectedCases);
    if (covered >= this.minCoverage - ROUNDING) return null;
    return {
      status: 'failed',
      reason: `In the baseline, ${coveredCases(baseline, baselineExpectedCases, measured.hasTrials)}; at least ${percent(this.minCoverage)} is required.`,
    };
  }

  private outcome(value: CheckedValue): Outcome {
    const { kind, bound, actual } = value;
    const passed = meets(kind, actual, bound);
    const status: CheckStatus = passed ? 'passed' : 'failed';
    return { status, reason: this.reasonOf(value, passed) };
  }

  private reasonOf(value: CheckedValue, passed: boolean): string {
    const { kind, bound, confident, actual, estimate } = value;
    const { candidate, expectedCases, hasTrials, isTruncated } = this.measured;
    if (BASELINE_KINDS.has(kind)) return this.changeReason(value, passed);
    if (kind === 'min_coverage') {
      const truncation = isTruncated ? ' Only the first 10,000 results count.' : '';
      return `${coveredCases(candidate, expectedCases, hasTrials)}; at least ${percent(bound)} is required.${truncation}`;
    }
    const required = `at least ${formatNumber(bound, passed ? null : actual)}`;
    const cases = pluralize(candidate.count, 'case');
    if (kind === 'min_count') {
      return `${cases} ${candidate.count === 1 ? 'has' : 'have'} a score by this scorer; ${required} ${bound === 1 ? 'is' : 'are'} required.`;
    }
    const missed = passed ? null : bound;
    const rates = this.ratesOf(kind);
    if (candidate.count === 0) {
      return `The experiment has no scores by this scorer; a ${rates ? 'value' : 'mean'} of ${required} is required. Check the scorer's name.`;
    }
    if (rates) return passReason(value, rates, required, missed);
    const mean = `The mean of ${cases} is ${formatNumber(estimate, missed)}`;
    return `${mean}${confidenceOf({ confident, actual }, missed)}; ${required} is required.`;
  }

  /** Returns the reason of a check that compares with the baseline. */
  private changeReason({ kind, bound, confident, actual, estimate }: CheckedValue, passed: boolean): string {
    const { sharedCases } = this.measured;
    if (sharedCases === 0) return 'No case has a score by this scorer in both experiments.';
    if (estimate === null) return 'The scores are too large to compute their difference from the baseline.';
    const cases = pluralize(sharedCases, 'case');
    if (kind === 'max_regressed_cases') {
      const allowed = bound === 0 ? 'no case may' : `at most ${bound} may`;
      return `${estimate} of ${cases} got worse; ${allowed} get worse.`;
    }
    const missed = passed ? null : bound;
    const change = estimate === 0 ? 'the same as' : `${formatChange(estimate, missed)} than`;
    const allowed =
      bound === 0
        ? 'no decrease is allowed'
        : `a decrease of at most ${formatSize(bound, passed ? null : actual)} is allowed`;
    if (kind === 'max_case_regression') {
      if (estimate >= 0) return `No case scores lower than in the baseline (${cases}); ${allowed}.`;
      return `The largest decrease from the baseline is ${formatSize(estimate, missed)} (${cases}); ${allowed}.`;
    }
    const mean = `The mean is ${change} in the baseline`;
    if (!confident) return `${mean} (${cases}); ${allowed}.`;
    if (actual === null) return `${mean} (${cases}), but ${NO_INTERVAL}; ${allowed}.`;
    return `${mean} (${cases}; ${formatLowest(actual, missed)} with 95% confidence); ${allowed}.`;
  }
}

/** Returns the reason of a check of a pass rate. */
function passReason(
  value: CheckedValue,
  { k, threshold, caseCount, leftOutCount }: PassRates,
  required: string,
  missed: number | null,
): string {
  const name = value.kind === 'min_pass_at_k' ? `pass@${k}` : `pass^${k}`;
  const trials = k === 1 ? '1 trial' : `${k} trials`;
  if (caseCount === 0) {
    return `No case has ${trials} with a score by this scorer or an error, so ${name} is unknown; ${required} is required.`;
  }
  const passing = threshold === THRESHOLD ? '' : ` by scores of at least ${threshold}`;
  const others =
    leftOutCount === 0 ? '' : `, without ${pluralize(leftOutCount, 'case')} with fewer than ${trials}`;
  const estimate = `${name} of ${pluralize(caseCount, 'case')}${passing} is ${formatNumber(value.estimate, missed)}`;
  return `${estimate}${confidenceOf(value, missed)}${others}; ${required} is required.`;
}

/** Returns what follows a value of which the lower end of the interval counts. */
function confidenceOf(
  { confident, actual }: Pick<CheckedValue, 'confident' | 'actual'>,
  missed: number | null,
): string {
  if (!confident) return '';
  if (actual === null) return `, but ${NO_INTERVAL}`;
  return ` (at least ${formatNumber(actual, missed)} with 95% confidence)`;
}

const NO_INTERVAL = 'there are too few cases for a confidence interval';

type CheckedValue = Pick<GateCheckDto, 'kind' | 'bound' | 'confident' | 'actual' | 'estimate'>;

const BASELINE_KINDS: ReadonlySet<CheckKind> = new Set([
  'max_regression',
  'max_regressed_cases',
  'max_case_regression',
]);

/** Returns the lowest difference that a bound on regressions allows. Never -0. */
const minus = (bound: number | null | undefined): number | null =>
  isSet(bound) ? (bound === 0 ? 0 : -bound) : null;

/** Returns the share of the expected cases with a score or a deliberate null. */
const shareOf = ({ scoredCount, nullCount }: ScoreTotals, expected: number): number =>
  expected === 0 ? 0 : (scoredCount + nullCount) / expected;

/** Says how many of the expected cases have a score or a deliberate null. */
const coveredCases = (
  { scoredCount, nullCount }: ScoreTotals,
  expected: number,
  hasTrials: boolean,
): string => {
  const covered = scoredCount + nullCount;
  const have = covered === 1 || expected === 1 ? 'has' : 'have';
  const nulls = nullCount > 0 ? ` (including ${pluralize(nullCount, 'deliberate null')})` : '';
  const trials = hasTrials ? ' in each trial' : '';
  return `${covered} of ${pluralize(expected, 'case')} ${have} a score${trials}${nulls}`;
};

const formatSize = (difference: number, missed: number | null): string =>
  formatNumber(difference, missed).replace(/^-/, '');

/** Formats a difference from the baseline, such as `0.1 lower`. */
const formatChange = (difference: number, missed: number | null): string =>
  `${formatSize(difference, missed)} ${difference < 0 ? 'lower' : 'higher'}`;

/** Formats the lowest difference of an interval, such as `at most 0.1 lower`. */
const formatLowest = (lowest: number, missed: number | null): string =>
  lowest === 0 ? 'not lower' : `${lowest < 0 ? 'at most' : 'at least'} ${formatChange(lowest, missed)}`;

const percent = (share: number): string => `${formatNumber(100 * share, null)}%`;

const pluralize = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
