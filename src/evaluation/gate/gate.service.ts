import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { type FieldError, problem } from '#platform/problem';
import { ComparisonReader, type FoundPair, type ReadPair } from '../comparison/comparison-reader';
import { ComputingTurns } from '../comparison/computing-turns';
import { PairedCases } from '../comparison/paired-cases';
import { ScoredResults } from '../comparison/scored-results';
import { Pace } from '#platform/turns';
import type { GateDto, GateResultDto, GateRuleDto } from './gate.dto';
import { checksOf, isGiven } from './gate-checks';
import { GateMeasures } from './gate-measures';

@Injectable()
export class GateService {
  constructor(
    private readonly reader: ComparisonReader,
    private readonly turns: ComputingTurns,
  ) {}

  /**
   * Holds an experiment, running or frozen, to rules. A rule whose scorer has no scores fails. Errors: 400 for a rule
   * without a bound, and for `max_regression` where there is no baseline; 404 for either experiment where it is unknown;
   * 503 where too many wait for theirs to be worked out.
   *
   * @param signal ends what is worked out for the answer
   */
  async check(scope: Scope, experimentId: string, dto: GateDto, signal: AbortSignal): Promise<GateResultDto> {
    refuse(dto.rules.flatMap(faultsOfRule));
    const pair = await this.reader.find(scope, experimentId, dto.baseline_experiment_id, (id) =>
      problem.unknownReference('/baseline_experiment_id', 'experiment', id),
    );
    refuse(faultsOfBaseline(pair, dto.rules));
    const lane = await this.reader.laneOf(scope, pair);
    return this.turns.take(scope, lane, signal, async () => {
      const pace = new Pace(signal);
      const reading = await this.read(scope, pair, dto.rules, pace);
      const measures = await measuresOf(reading, pace);
      const checks = [];
      for (const [place, rule] of dto.rules.entries()) {
        checks.push(...checksOf(rule, place, await measures.of(rule)));
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
  private read(
    scope: Scope,
    { candidate, baseline }: FoundPair,
    rules: readonly GateRuleDto[],
    pace: Pace,
  ): Promise<ReadPair> {
    const scorers = [...new Set(rules.map((rule) => rule.scorer))];
    const isAboutRegressions = rules.some((rule) => isGiven(rule.max_regression));
    const pair = { candidate, baseline: isAboutRegressions ? baseline : null };
    return this.reader.read(scope, pair, scorers, pace);
  }
}

async function measuresOf({ candidate, baseline, scorers }: ReadPair, pace: Pace): Promise<GateMeasures> {
  const other = baseline?.scored ?? new ScoredResults(scorers);
  const cases = await PairedCases.of(candidate.scored, other, scorers, pace);
  return new GateMeasures(cases, candidate, baseline, pace);
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
