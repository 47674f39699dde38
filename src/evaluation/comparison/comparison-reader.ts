import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { problem } from '#platform/problem';
import type { ScorerMean } from '../experiments/summary.repository';
import { type ComparedExperiment, ComparisonRepository } from './comparison.repository';
import { ScoredResults } from './scored-results';

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

/** Reads two experiments on one state of the database. */
@Injectable()
export class ComparisonReader {
  constructor(private readonly comparisons: ComparisonRepository) {}

  /** Runs `read` on one state of the database. */
  onOneState<Result>(read: (tx: Tx) => Promise<Result>): Promise<Result> {
    return this.comparisons.onOneState(read);
  }

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

  /** @param scorers narrows to these names. */
  means(
    tx: Tx,
    scope: Scope,
    experiment: ComparedExperiment,
    scorers: readonly string[] | null = null,
  ): Promise<ScorerMean[]> {
    return this.comparisons.means(tx, scope, experiment, scorers);
  }

  async scored(
    tx: Tx,
    scope: Scope,
    { experiment_id }: ComparedExperiment,
    scorers: readonly string[],
  ): Promise<ScoredResults> {
    const scored = new ScoredResults(scorers);
    scored.isTruncated = await this.comparisons.eachScored(tx, scope, experiment_id, (rows) =>
      scored.add(rows),
    );
    return scored;
  }
}
