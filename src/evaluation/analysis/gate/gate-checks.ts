import type { ScoreTotals } from '../computation/paired-cases';
import type { GateMeasures } from '../computation/paired-statistics';
import type { Interval } from '../statistics/bootstrap';
import { formatNumber } from './gate-report';
import type { CheckKind, CheckStatus, GateCheckDto, GateRuleDto } from './gate.dto';

/** Values with a relative difference below this are equal up to rounding. For example, 0.7 - 0.8 is not below -0.1. */
const ROUNDING = 1e-12;

/** The measures of one scorer that its rules are checked against. */
export interface MeasuredScorer extends GateMeasures {
  /** The scorer versions, as responses show them. */
  versions: { candidate: number | null; baseline: number | null };
  /** Why the candidate's scores have no single scale; null if they have. */
  candidateReason: string | null;
  /** Why the scores of both sides cannot be compared; null if they can. */
  reason: string | null;
  /** Number of cases that should have a score. */
  expectedCases: number;
  /** Whether the candidate has more results than are read. */
  isTruncated: boolean;
  /** Null without a baseline. */
  baselineExpectedCases: number | null;
}

/** Facts about the request that apply to all checks. */
export interface GateContext {
  hasBaseline: boolean;
  requiresBaseline: boolean;
  /** Whether the number of expected cases is known. */
  hasDataset: boolean;
}

export const isSet = (bound: number | null | undefined): bound is number =>
  bound !== null && bound !== undefined;

/** Tells whether a rule compares with a baseline. */
export const needsBaseline = (rule: GateRuleDto): boolean =>
  [rule.max_regression, rule.max_regressed_cases, rule.max_case_regression].some(isSet);

/** Returns the checks of a rule, one for each of its bounds. */
export function checksOf(
  rule: GateRuleDto,
  ruleIndex: number,
  measured: MeasuredScorer,
  context: GateContext,
): GateCheckDto[] {
  return new RuleChecks(rule, ruleIndex, measured, context).all();
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
    this.minCoverage = rule.min_coverage ?? (context.hasDataset ? 1 : 0);
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
    if (this.minCoverage > 0) {
      add('min_coverage', this.minCoverage, {
        estimate: shareOf(measured.candidate, measured.expectedCases),
      });
    }
    return checks;
  }

  private check(kind: CheckKind, bound: number, { estimate, interval, confident }: Value): GateCheckDto {
    const { versions } = this.measured;
    const usesBaseline = BASELINE_KINDS.has(kind);
    // the interval may have been computed for another rule of the scorer
    const used = confident ? interval : null;
    const actual = !confident || estimate === null ? estimate : (used?.lower ?? null);
    const value = { kind, bound, confident, actual, estimate };
    return {
      scorer: this.rule.scorer,
      rule: this.ruleIndex,
      kind,
      ...(this.obstacle(usesBaseline) ?? this.outcome(value)),
      confident,
      actual,
      bound,
      estimate,
      confidence_interval: used,
      scorer_version: versions.candidate,
      baseline_scorer_version: usesBaseline ? versions.baseline : null,
    };
  }

  /** Returns the outcome of a check whose value would mislead or cannot be known; null for all others. */
  private obstacle(usesBaseline: boolean): Outcome | null {
    const { measured, context } = this;
    if (!usesBaseline) {
      const reason = measured.candidateReason;
      return reason === null ? null : { status: 'failed', reason };
    }
    if (!context.hasBaseline) {
      return context.requiresBaseline
        ? {
            status: 'failed',
            reason:
              'There is no baseline. Set `baseline_experiment_id`, or promote a run in `baselines` of the dataset.',
          }
        : { status: 'skipped', reason: 'Skipped, because there is no baseline.' };
    }
    if (measured.reason !== null) return { status: 'failed', reason: measured.reason };
    const { baseline, baselineExpectedCases } = measured;
    if (!baseline || baselineExpectedCases === null) return null;
    const covered = shareOf(baseline, baselineExpectedCases);
    if (covered >= this.minCoverage - ROUNDING) return null;
    const required = `at least ${percent(this.minCoverage)} is required`;
    return {
      status: 'failed',
      reason: `The baseline has scores for ${coveredCases(baseline, baselineExpectedCases)}; ${required}.`,
    };
  }

  private outcome(value: CheckedValue): Outcome {
    const { kind, bound, actual } = value;
    const slack = ROUNDING * Math.max(Math.abs(actual ?? 0), Math.abs(bound));
    const passed =
      actual !== null && (kind === 'max_regressed_cases' ? actual <= bound : actual >= bound - slack);
    const status: CheckStatus = passed ? 'passed' : 'failed';
    return { status, reason: this.reasonOf(value, passed) };
  }

  private reasonOf({ kind, bound, confident, actual, estimate }: CheckedValue, passed: boolean): string {
    const { candidate, expectedCases, sharedCases, isTruncated } = this.measured;
    const format = (number: number | null): string => formatNumber(number, passed ? null : bound);
    const required = `at least ${formatNumber(bound, passed ? null : actual)} is required`;
    if (kind === 'min_count') return `${pluralize(candidate.count, 'score')}; ${required}.`;
    if (kind === 'min_coverage') {
      const limit = isTruncated ? ' Only the first 10,000 results count.' : '';
      return `Scores for ${coveredCases(candidate, expectedCases)}; at least ${percent(bound)} is required.${limit}`;
    }
    if (kind === 'min_mean' && candidate.count === 0) {
      return `This scorer has no scores; a mean of ${required}.`;
    }
    if (kind !== 'min_mean' && sharedCases === 0) {
      return 'No case has a score by this scorer in both experiments.';
    }
    if (kind === 'max_regressed_cases') {
      return `${format(estimate)} of ${pluralize(sharedCases, 'case')} got worse; at most ${bound} may.`;
    }
    if (kind === 'max_case_regression') {
      return `The worst of ${pluralize(sharedCases, 'case')} differs by ${format(estimate)}; ${required}.`;
    }
    const what =
      kind === 'min_mean'
        ? `Mean ${format(estimate)} of ${pluralize(candidate.count, 'score')}`
        : `Difference ${format(estimate)} from the baseline over ${pluralize(sharedCases, 'case')}`;
    if (!confident) return `${what}; ${required}.`;
    if (actual === null) return `${what}; too few cases for a confidence interval, and ${required}.`;
    return `${what}, at least ${format(actual)} with 95 % confidence; ${required}.`;
  }
}

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

const coveredCases = ({ scoredCount, nullCount }: ScoreTotals, expected: number): string => {
  const nulls = nullCount > 0 ? ` (including ${pluralize(nullCount, 'deliberate null')})` : '';
  return `${scoredCount + nullCount} of ${pluralize(expected, 'case')}${nulls}`;
};

const percent = (share: number): string => `${formatNumber(100 * share, null)} %`;

const pluralize = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
