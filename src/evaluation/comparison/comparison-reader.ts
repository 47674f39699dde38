import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { problem } from '#platform/problem';
import type { ScorerMean } from '../experiments/summary.repository';
import { type ComparedExperiment, ComparisonRepository } from './comparison.repository';
import { ScoredResults } from './scored-results';

/** Scorers of one experiment whose scores are kept, those with the most scores. */
const SCORERS_KEPT_MAX = 200;

/** What was read of one side. */
export interface SideReading {
  experimentId: string;
  means: ScorerMean[];
  scored: ScoredResults;
}

export interface FoundPair {
  candidate: ComparedExperiment;
  baseline: ComparedExperiment | null;
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

  /** The scores of an experiment, and their means, as of one moment. @param scorers narrows to these names. */
  read(
    scope: Scope,
    experiment: ComparedExperiment,
    scorers: readonly string[] | null = null,
  ): Promise<SideReading> {
    const experimentId = experiment.experiment_id;
    return this.comparisons.onOneState(async (tx) => {
      const means = await this.comparisons.means(tx, scope, experiment, scorers);
      const kept = means.slice(0, SCORERS_KEPT_MAX).map((mean) => mean.scorer);
      const scored = new ScoredResults(kept);
      scored.isTruncated = await this.comparisons.eachScored(tx, scope, experimentId, (rows) =>
        scored.add(rows),
      );
      return { experimentId, means, scored };
    });
  }
}
