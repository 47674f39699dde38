import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { type FieldError, problem } from '#platform/problem';
import { AnalysisPool } from '../computation/analysis.pool';
import type { GateMeasures } from '../computation/paired-statistics';
import { type ExperimentPair, ScoreReader, scoresOf } from '../comparison/score-reader';
import type { Interval } from '../statistics/bootstrap';
import { formatBeside } from './gate-report';
import type { CheckKind, GateCheckDto, GateDto, GateResultDto, GateRuleDto } from './gate.dto';

/** Values with a relative difference below this are equal up to rounding. For example, 0.7 - 0.8 is not below -0.1. */
const ROUNDING = 1e-12;

/** The measures of one scorer that its rules are checked against. */
interface Measured extends GateMeasures {
  mean: number | null;
  count: number;
}

@Injectable()
export class GateService {
  constructor(
    private readonly reader: ScoreReader,
    private readonly pool: AnalysisPool,
  ) {}

  /**
   * Checks a running or frozen experiment against rules. A rule fails if its scorer has no scores. Errors: 400 for a
   * rule without a bound, and for `max_regression` without a baseline; 404 for an unknown experiment; 503 if too many
   * comparisons and gates wait.
   *
   * @param signal ends the computation
   */
  async check(
    scope: Scope,
    experimentId: string,
    { rules, baseline_experiment_id }: GateDto,
    signal: AbortSignal,
  ): Promise<GateResultDto> {
    refuse(rules.flatMap(faultsOfRule));
    const pair = await this.reader.find(scope, experimentId, baseline_experiment_id, (id) =>
      problem.unknownReference('/baseline_experiment_id', 'experiment', id),
    );
    refuse(faultsOfBaseline(pair, rules));
    const { measured, isTruncated } = await this.measure(scope, pair, rules, signal);
    const checks = rules.flatMap((rule, place) => checksOf(rule, place, measured.get(rule.scorer)!));
    return {
      passed: checks.every((check) => check.passed),
      experiment_id: pair.candidate.experiment_id,
      name: pair.candidate.name,
      experiment_name: pair.candidate.experiment_name,
      experiment_status: pair.candidate.experiment_status,
      baseline_experiment_id: pair.baseline?.experiment_id ?? null,
      is_truncated: isTruncated,
      checks,
    };
  }

  /** Measures each scorer once, however many rules it has. Reads the baseline only for rules about regressions. */
  private measure(
    scope: Scope,
    pair: ExperimentPair,
    rules: readonly GateRuleDto[],
    signal: AbortSignal,
  ): Promise<{ measured: Map<string, Measured>; isTruncated: boolean }> {
    const scorers = [...new Set(rules.map((rule) => rule.scorer))];
    const needed = scorers.map((scorer) => {
      const own = rules.filter((rule) => rule.scorer === scorer);
      const regressions = own.filter((rule) => isGiven(rule.max_regression));
      return {
        scorer,
        meanInterval: own.some((rule) => rule.confident === true && isGiven(rule.min_mean)),
        difference: regressions.length > 0,
        differenceInterval: regressions.some((rule) => rule.confident === true),
      };
    });
    const baseline = needed.some((one) => one.difference) ? pair.baseline : null;
    return this.pool.reserve(scope, signal, async (runTask) => {
      const read = await this.reader.read(scope, { candidate: pair.candidate, baseline }, scorers, signal);
      const input = {
        candidateId: pair.candidate.experiment_id,
        candidate: scoresOf(read.candidate),
        baseline: read.baseline && {
          experimentId: baseline!.experiment_id,
          scores: scoresOf(read.baseline),
        },
        needed,
      };
      const measures = await runTask('measureForGate', input);
      const means = new Map(read.candidate.means.map((mean) => [mean.scorer, mean]));
      const measured = scorers.map((scorer, i): [string, Measured] => {
        const { mean = null, count = 0 } = means.get(scorer) ?? {};
        return [scorer, { mean, count, ...measures[i]! }];
      });
      const isTruncated = read.candidate.isTruncated || read.baseline?.isTruncated === true;
      return { measured: new Map(measured), isTruncated };
    });
  }
}

const isGiven = (bound: number | null | undefined): bound is number => bound !== null && bound !== undefined;

const refuse = (faults: FieldError[]): void => {
  if (faults.length > 0) throw problem.invalidFields(faults);
};

const faultsOfRule = ({ min_mean, max_regression, min_count }: GateRuleDto, place: number): FieldError[] =>
  [min_mean, max_regression, min_count].some(isGiven)
    ? []
    : [{ pointer: `/rules/${place}`, detail: 'must have min_mean, max_regression or min_count' }];

function faultsOfBaseline({ candidate, baseline }: ExperimentPair, rules: GateRuleDto[]): FieldError[] {
  if (baseline && baseline.experiment_id === candidate.experiment_id) {
    return [{ pointer: '/baseline_experiment_id', detail: 'must be another experiment than this one' }];
  }
  if (baseline) return [];
  return rules.flatMap((rule, place) =>
    isGiven(rule.max_regression)
      ? [
          {
            pointer: `/rules/${place}/max_regression`,
            detail: 'needs baseline_experiment_id, because the experiment has no baseline of its own',
          },
        ]
      : [],
  );
}

/** Returns the checks of a rule, one for each of its bounds. */
function checksOf(rule: GateRuleDto, place: number, measured: Measured): GateCheckDto[] {
  const confident = rule.confident === true;
  const check = (kind: CheckKind, bound: number, value: Value): GateCheckDto =>
    checkOf({ scorer: rule.scorer, rule: place, kind, bound, confident }, value, measured);
  const checks: GateCheckDto[] = [];
  const { min_mean, max_regression, min_count } = rule;
  if (isGiven(min_mean)) {
    checks.push(check('min_mean', min_mean, { estimate: measured.mean, interval: measured.meanInterval }));
  }
  if (isGiven(max_regression)) {
    const value = { estimate: measured.difference, interval: measured.differenceInterval };
    checks.push(check('max_regression', max_regression === 0 ? 0 : -max_regression, value));
  }
  if (isGiven(min_count)) {
    const value = { estimate: measured.count, interval: null };
    checks.push({ ...check('min_count', min_count, value), confident: false });
  }
  return checks;
}

interface Value {
  estimate: number | null;
  interval: Interval | null;
}

type Rule = Pick<GateCheckDto, 'scorer' | 'rule' | 'kind' | 'bound' | 'confident'>;

function checkOf(rule: Rule, measuredValue: Value, measured: Measured): GateCheckDto {
  const { kind, bound, confident } = rule;
  const { estimate } = measuredValue;
  const usesInterval = confident && kind !== 'min_count';
  // the interval may have been computed for another rule of the scorer
  const interval = usesInterval ? measuredValue.interval : null;
  const actual = !usesInterval ? estimate : estimate === null ? null : (interval?.lower ?? null);
  const passed = actual !== null && actual >= bound - ROUNDING * Math.max(Math.abs(actual), Math.abs(bound));
  const detail = detailOf(rule, passed, { actual, estimate }, measured);
  return { ...rule, passed, actual, estimate, confidence_interval: interval, detail };
}

function detailOf(
  { kind, bound, confident }: Rule,
  passed: boolean,
  { actual, estimate }: { actual: number | null; estimate: number | null },
  { count, sharedCases }: Measured,
): string {
  const shown = (number: number | null): string => formatBeside(number, passed ? null : bound);
  const required = `at least ${formatBeside(bound, passed ? null : actual)} is required`;
  if (kind === 'min_count') return `${counted(count, 'score')}; ${required}.`;
  if (kind === 'min_mean' && count === 0) return `This scorer has no scores; a mean of ${required}.`;
  if (kind === 'max_regression' && estimate === null) {
    return `No case has a score by this scorer in both experiments; a difference of ${required}.`;
  }
  const what =
    kind === 'min_mean'
      ? `Mean ${shown(estimate)} of ${counted(count, 'score')}`
      : `Difference ${shown(estimate)} to the baseline over ${counted(sharedCases, 'case')}`;
  if (!confident) return `${what}; ${required}.`;
  if (actual === null) return `${what}; too few cases for a confidence interval, and ${required}.`;
  return `${what}, at least ${shown(actual)} with 95 % confidence; ${required}.`;
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
