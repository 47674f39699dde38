import type { SideReading } from '../comparison/comparison-reader';
import type { PairedCases } from '../comparison/paired-cases';
import {
  differenceInterval,
  meanInterval,
  seedOfMean,
  sharedDifferences,
} from '../comparison/scorer-statistics';
import type { Interval } from '../statistics/bootstrap';
import type { Pace } from '#platform/turns';
import type { GateRuleDto } from './gate.dto';
import { isGiven, type Measured } from './gate-checks';

type Difference = ReturnType<typeof sharedDifferences>;

/** What the rules of a gate ask for: worked out when a rule asks for it first, and once for each scorer. */
export class GateMeasures {
  private readonly meanIntervals = new Map<string, Promise<Interval | null>>();
  private readonly differences = new Map<string, Difference>();
  private readonly differenceIntervals = new Map<string, Promise<Interval | null>>();

  constructor(
    private readonly cases: PairedCases,
    private readonly candidate: SideReading,
    private readonly baseline: SideReading | null,
    private readonly pace: Pace,
  ) {}

  async of({ scorer, confident, min_mean, max_regression }: GateRuleDto): Promise<Measured> {
    const own = this.candidate.means.find((mean) => mean.scorer === scorer);
    const measured: Measured = {
      mean: own?.mean ?? null,
      count: own?.count ?? 0,
      sharedCases: 0,
      difference: null,
      meanInterval: null,
      differenceInterval: null,
    };
    if (confident === true && isGiven(min_mean)) {
      measured.meanInterval = await this.meanInterval(scorer);
    }
    if (this.baseline && isGiven(max_regression)) {
      const { shared, difference } = this.difference(scorer);
      measured.sharedCases = shared.length;
      measured.difference = difference;
      if (confident === true && difference !== null) {
        measured.differenceInterval = await this.differenceInterval(scorer, this.baseline.experimentId);
      }
    }
    return measured;
  }

  private meanInterval(scorer: string): Promise<Interval | null> {
    return once(this.meanIntervals, scorer, () => {
      const { scored, experimentId } = this.candidate;
      return meanInterval(this.cases, scored.of(scorer), seedOfMean(experimentId, scorer), this.pace);
    });
  }

  private difference(scorer: string): Difference {
    return once(this.differences, scorer, () => sharedDifferences(this.cases, scorer));
  }

  private differenceInterval(scorer: string, baselineId: string): Promise<Interval | null> {
    return once(this.differenceIntervals, scorer, () => {
      const pair = [this.candidate.experimentId, baselineId] as const;
      return differenceInterval(this.difference(scorer).mean, scorer, pair, this.pace);
    });
  }
}

function once<Value>(known: Map<string, Value>, key: string, make: () => Value): Value {
  const found = known.get(key) ?? make();
  known.set(key, found);
  return found;
}
