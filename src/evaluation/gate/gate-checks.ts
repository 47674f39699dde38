import type { Interval } from '../statistics/bootstrap';
import type { CheckKind, GateCheckDto, GateRuleDto } from './gate.dto';

/** What is nearer to a bound than this, for their size, differs from it by rounding alone: 0.7 - 0.8 is not below -0.1. */
const ROUNDING = 1e-12;

/** What is known of one scorer as far as its rule asks for it. */
export interface Measured {
  mean: number | null;
  count: number;
  /** Cases that both experiments have scores of. */
  sharedCases: number;
  difference: number | null;
  meanInterval: Interval | null;
  differenceInterval: Interval | null;
}

/** The checks that a rule makes, one for each of its bounds. */
export function checksOf(rule: GateRuleDto, place: number, measured: Measured): GateCheckDto[] {
  const isConfident = rule.confident === true;
  const of = (kind: CheckKind, bound: number, value: Value): GateCheckDto =>
    checkOf({ scorer: rule.scorer, rule: place, kind, bound, confident: isConfident }, value, measured);
  const checks: GateCheckDto[] = [];
  const { min_mean, max_regression, min_count } = rule;
  if (isGiven(min_mean)) {
    checks.push(of('min_mean', min_mean, { estimate: measured.mean, interval: measured.meanInterval }));
  }
  if (isGiven(max_regression)) {
    const value = { estimate: measured.difference, interval: measured.differenceInterval };
    checks.push(of('max_regression', max_regression === 0 ? 0 : -max_regression, value));
  }
  if (isGiven(min_count)) {
    const check = of('min_count', min_count, { estimate: measured.count, interval: null });
    checks.push({ ...check, confident: false });
  }
  return checks;
}

export const isGiven = (bound: number | null | undefined): bound is number =>
  bound !== null && bound !== undefined;

interface Value {
  estimate: number | null;
  interval: Interval | null;
}

type Asked = Pick<GateCheckDto, 'scorer' | 'rule' | 'kind' | 'bound' | 'confident'>;

function checkOf(asked: Asked, { estimate, interval }: Value, measured: Measured): GateCheckDto {
  const { kind, bound, confident } = asked;
  const isCount = kind === 'min_count';
  const actual = isCount || !confident ? estimate : estimate === null ? null : (interval?.lower ?? null);
  const passed = actual !== null && actual >= bound - ROUNDING * Math.max(Math.abs(actual), Math.abs(bound));
  return {
    ...asked,
    passed,
    actual,
    estimate,
    confidence_interval: interval,
    detail: detailOf(asked, passed, { actual, estimate }, measured),
  };
}

function detailOf(
  { kind, bound, confident }: Asked,
  passed: boolean,
  { actual, estimate }: { actual: number | null; estimate: number | null },
  { count, sharedCases }: Measured,
): string {
  const shown = (number: number | null): string => shownBeside(number, passed ? null : bound);
  const least = `at least ${shownBeside(bound, passed ? null : actual)} is asked for`;
  if (kind === 'min_count') return `${counted(count, 'score')}; ${least}.`;
  if (kind === 'min_mean' && count === 0) return `There are no scores by this scorer; a mean of ${least}.`;
  if (kind === 'max_regression' && estimate === null) {
    return `No case has a score by this scorer in both experiments; a difference of ${least}.`;
  }
  const what =
    kind === 'min_mean'
      ? `Mean ${shown(estimate)} of ${counted(count, 'score')}`
      : `Difference ${shown(estimate)} to the baseline over ${counted(sharedCases, 'case')}`;
  if (!confident) return `${what}; ${least}.`;
  if (actual === null) return `${what}; there are too few cases to be sure, and ${least}.`;
  return `${what}, at least ${shown(actual)} with 95 % confidence; ${least}.`;
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/**
 * A number for people: six digits, which is more than scores are good for and fewer than rounding reaches; all of them
 * where it would read as a bound that it misses.
 */
export function shownBeside(number: number | null, missed: number | null): string {
  if (number === null) return 'none';
  const few = rounded(number);
  return String(missed !== null && few === rounded(missed) && number !== missed ? number : few);
}

const rounded = (number: number): number => Number(number.toPrecision(6));
