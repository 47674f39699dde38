import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { problem } from '#platform/problem';
import type { ScorerMean } from '../experiments/summary.repository';
import type { Pace } from '#platform/turns';
import { type ComparedExperiment, ComparisonRepository, SCORERS_READ_MAX } from './comparison.repository';
import { type Lane, SMALL_RESULTS_MAX } from './computing-turns';
import { scorersToCompare } from './compared-scorers';
import { ScoredResults } from './scored-results';

/** What was read of one side. */
export interface SideReading {
  experimentId: string;
  /** Of the scorers asked for, or of those with the most scores. */
  means: ScorerMean[];
  /** With the scores of the scorers that both sides were read for. */
  scored: ScoredResults;
}

export interface FoundPair {
  candidate: ComparedExperiment;
  baseline: ComparedExperiment | null;
}

/** Two experiments as of one moment. */
export interface ReadPair {
  candidate: SideReading;
  /** Null where there is none, or it is not asked for. */
  baseline: SideReading | null;
  /** Whose scores were read. */
  scorers: string[];
}

@Injectable()
export class ComparisonReader {
  constructor(private readonly comparisons: ComparisonRepository) {}

  /**
   * The experiment, and its baseline: the one given, else its own. Errors: 404 for an experiment that is unknown;
   * `unknownBaseline` says how an unknown given one is answered.
   */
  async find(
    scope: Scope,
    experimentId: string,
    baselineId: string | null | undefined,
    unknownBaseline: (id: string) => Error,
  ): Promise<FoundPair> {
    const candidate = await this.comparisons.find(scope, experimentId);
    if (!candidate) throw problem.notFound('experiment', experimentId);
    const id = baselineId ?? candidate.baseline_experiment_id;
    if (id === null) return { candidate, baseline: null };
    const baseline = await this.comparisons.find(scope, id);
    if (!baseline) throw unknownBaseline(id);
    return { candidate, baseline };
  }

  /** Where these wait for their turn. */
  async laneOf(scope: Scope, { candidate, baseline }: FoundPair): Promise<Lane> {
    const ids = [candidate, baseline].flatMap((one) => (one ? [one.experiment_id] : []));
    return (await this.comparisons.haveMore(scope, ids, SMALL_RESULTS_MAX)) ? 'large' : 'small';
  }

  /**
   * The scores of both experiments, and their means, of the same scorers: those given, else those that are compared.
   *
   * @throws the signal's reason of `pace`
   */
  read(
    scope: Scope,
    { candidate, baseline }: FoundPair,
    given: readonly string[] | null,
    pace: Pace,
  ): Promise<ReadPair> {
    return this.comparisons.onOneState(async (tx) => {
      const means = (
        of: ComparedExperiment | null,
        scorers: readonly string[] | null,
      ): Promise<ScorerMean[]> => {
        pace.signal?.throwIfAborted();
        return of ? this.comparisons.means(tx, scope, of, scorers) : Promise.resolve([]);
      };
      let own = await means(candidate, given);
      let other = await means(baseline, given);
      const scorers = given ? [...given] : scorersToCompare(own, other);
      if (!given) {
        own = await withThose(own, scorers, (names) => means(candidate, names));
        other = await withThose(other, scorers, (names) => means(baseline, names));
      }
      return {
        candidate: await this.side(tx, scope, candidate, own, scorers, pace),
        baseline: baseline && (await this.side(tx, scope, baseline, other, scorers, pace)),
        scorers,
      };
    });
  }

  private async side(
    tx: Tx,
    scope: Scope,
    { experiment_id: experimentId }: ComparedExperiment,
    means: ScorerMean[],
    scorers: readonly string[],
    pace: Pace,
  ): Promise<SideReading> {
    const scored = new ScoredResults(scorers);
    pace.signal?.throwIfAborted();
    scored.isTruncated = await this.comparisons.eachScored(tx, scope, experimentId, async (batch) => {
      pace.signal?.throwIfAborted();
      await scored.add(batch, pace);
    });
    return { experimentId, means, scored };
  }
}

/** With the means of these scorers too, where there may be more scorers than were looked at. */
async function withThose(
  means: ScorerMean[],
  scorers: readonly string[],
  read: (scorers: readonly string[]) => Promise<ScorerMean[]>,
): Promise<ScorerMean[]> {
  if (means.length < SCORERS_READ_MAX) return means;
  const known = new Set(means.map((mean) => mean.scorer));
  const others = scorers.filter((scorer) => !known.has(scorer));
  return others.length === 0 ? means : [...means, ...(await read(others))];
}
