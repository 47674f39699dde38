import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { type FieldError, problem } from '#platform/problem';
import { ComparisonReader, type FoundPair, type SideReading } from '../comparison/comparison-reader';
import { ComputingTurns } from '../comparison/computing-turns';
import { PairedCases } from '../comparison/paired-cases';
import { ScoredResults } from '../comparison/scored-results';
import { differenceInterval, meanInterval, sharedDifferences } from '../comparison/scorer-statistics';
import type { GateDto, GateResultDto, GateRuleDto } from './gate.dto';
import { checksOf, isGiven, type Measured } from './gate-checks';

interface Reading {
  cases: PairedCases;
  candidate: SideReading;
  baseline: SideReading | null;
}

@Injectable()
export class GateService {
  constructor(
    private readonly reader: ComparisonReader,
    private readonly turns: ComputingTurns,
  ) {}

  /**
   * Holds an experiment, running or frozen, to rules. A rule whose scorer has no scores fails. Errors: 400 for a rule
   * without a bound, and for `max_regression` where there is no baseline; 404 for either experiment where it is unknown.
   */
  async check(scope: Scope, experimentId: string, dto: GateDto): Promise<GateResultDto> {
    refuse(dto.rules.flatMap(faultsOfRule));
    const pair = await this.reader.find(scope, experimentId, dto.baseline_experiment_id, (id) =>
      problem.unknownReference('/baseline_experiment_id', 'experiment', id),
    );
    refuse(faultsOfBaseline(pair, dto.rules));
    return this.turns.take(scope.workspaceId, async () => {
      const reading = await this.read(scope, pair, dto.rules);
      const checks = [];
      for (const [place, rule] of dto.rules.entries()) {
        checks.push(...checksOf(rule, place, await measure(reading, rule)));
      }
      return {
        passed: checks.every((check) => check.passed),
        experiment_id: pair.candidate.experiment_id,
        name: pair.candidate.name,
        experiment_name: pair.candidate.experiment_name,
        experiment_status: pair.candidate.experiment_status,
        baseline_experiment_id: pair.baseline?.experiment_id ?? null,
        is_truncated: reading.candidate.scored.isTruncated || reading.baseline?.scored.isTruncated === true,
        checks,
      };
    });
  }

  /** Reads the scores that the rules are about; of the baseline only where a rule is about regressions. */
  private async read(
    scope: Scope,
    { candidate, baseline }: FoundPair,
    rules: GateRuleDto[],
  ): Promise<Reading> {
    const scorers = [...new Set(rules.map((rule) => rule.scorer))];
    const isAboutRegressions = rules.some((rule) => isGiven(rule.max_regression));
    const [own, other] = await Promise.all([
      this.reader.read(scope, candidate, scorers),
      baseline && isAboutRegressions ? this.reader.read(scope, baseline, scorers) : null,
    ]);
    return {
      candidate: own,
      baseline: other,
      cases: await PairedCases.of(own.scored, other?.scored ?? new ScoredResults([])),
    };
  }
}

const refuse = (faults: FieldError[]): void => {
  if (faults.length > 0) throw problem.invalidFields(faults);
};

const faultsOfRule = ({ min_mean, max_regression, min_count }: GateRuleDto, place: number): FieldError[] =>
  [min_mean, max_regression, min_count].some(isGiven)
    ? []
    : [{ pointer: `/rules/${place}`, detail: 'must have min_mean, max_regression or min_count' }];

function faultsOfBaseline({ candidate, baseline }: FoundPair, rules: GateRuleDto[]): FieldError[] {
  if (baseline && baseline.experiment_id === candidate.experiment_id) {
    return [{ pointer: '/baseline_experiment_id', detail: 'must be another experiment than this one' }];
  }
  if (baseline) return [];
  return rules.flatMap((rule, place) =>
    isGiven(rule.max_regression)
      ? [
          {
            pointer: `/rules/${place}/max_regression`,
            detail: 'needs a baseline_experiment_id, because the experiment has no baseline of its own',
          },
        ]
      : [],
  );
}

/** Works out what a rule asks for, and no more. */
async function measure({ cases, candidate, baseline }: Reading, rule: GateRuleDto): Promise<Measured> {
  const { scorer, confident, min_mean, max_regression } = rule;
  const own = candidate.means.find((mean) => mean.scorer === scorer);
  const measured: Measured = {
    mean: own?.mean ?? null,
    count: own?.count ?? 0,
    sharedCases: 0,
    difference: null,
    meanInterval: null,
    differenceInterval: null,
  };
  if (confident === true && isGiven(min_mean)) {
    measured.meanInterval = await meanInterval(cases, scorer, candidate.experimentId);
  }
  if (baseline && isGiven(max_regression)) {
    const pair = [candidate.experimentId, baseline.experimentId] as const;
    const { shared, mean, difference } = sharedDifferences(cases, scorer);
    measured.sharedCases = shared.length;
    measured.difference = difference;
    if (confident === true && difference !== null) {
      measured.differenceInterval = await differenceInterval(mean, scorer, pair);
    }
  }
  return measured;
}
