import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { canonicalJson, sha256OfJson, toJsonText } from '#platform/json';
import { problem } from '#platform/problem';
import type { ExperimentEntity } from './experiment.entity';
import { ExperimentRepository, type FinalState } from './experiment.repository';
import { SUMMARY_SCORERS_MAX, SummaryRepository } from './summary.repository';

/**
 * Freezes an experiment. The caller's transaction holds the exclusive lock on it, so what is computed here counts
 * every result that was ever acknowledged.
 */
@Injectable()
export class ExperimentFinalizer {
  constructor(
    private readonly experiments: ExperimentRepository,
    private readonly summaries: SummaryRepository,
  ) {}

  async finalize(
    tx: Tx,
    scope: Scope,
    experiment: ExperimentEntity,
    status: FinalState['status'],
    at: Date,
  ): Promise<void> {
    const final: FinalState = {
      status,
      summary: toJsonText(await this.summarize(tx, scope, experiment.experiment_id)),
      snapshot: await this.snapshot(tx, scope, experiment),
      at,
    };
    if (!(await this.experiments.finalize(tx, scope, experiment.experiment_id, final))) {
      throw problem.conflict('The experiment was finalized already.');
    }
  }

  private async summarize(tx: Tx, scope: Scope, experimentId: string): Promise<object> {
    const means = await this.summaries.means(tx, scope, experimentId);
    const references = await this.summaries.references(tx, scope, experimentId);
    const scores = means.slice(0, SUMMARY_SCORERS_MAX);
    const scorers = references.slice(0, SUMMARY_SCORERS_MAX);
    return {
      scores: Object.fromEntries(scores.map(({ scorer, mean, count }) => [scorer, { mean, count }])),
      scorers: Object.fromEntries(
        scorers.map(({ scorer, scorer_id, scorer_version }) => [scorer, { scorer_id, scorer_version }]),
      ),
      is_truncated: await this.summaries.isTruncated(tx, scope, experimentId),
      is_scorers_truncated: means.length > scores.length || references.length > scorers.length,
    };
  }

  private async snapshot(
    tx: Tx,
    scope: Scope,
    experiment: ExperimentEntity,
  ): Promise<FinalState['snapshot']> {
    const { dataset_id, dataset_version, dataset_revision } = experiment;
    if (dataset_id === null || dataset_revision === null) return null;
    if (dataset_version !== null) return this.csvSnapshot(tx, scope, dataset_id, dataset_version);
    const records = await this.summaries.recordsAsOf(tx, scope, dataset_id, dataset_revision);
    const head = {
      dataset_id,
      source: 'records',
      dataset_version,
      record_count: records.length,
      sha256: sha256OfJson(records),
    };
    return { head: toJsonText(head), records: canonicalJson(records) };
  }

  /** A CSV version never changes: its digest says all of it. */
  private async csvSnapshot(
    tx: Tx,
    scope: Scope,
    dataset_id: string,
    dataset_version: number,
  ): Promise<FinalState['snapshot']> {
    const { row_count, sha256 } = await this.summaries.csvVersion(tx, scope, dataset_id, dataset_version);
    const head = { dataset_id, source: 'csv', dataset_version, record_count: row_count, sha256 };
    return { head: toJsonText(head), records: '[]' };
  }
}
