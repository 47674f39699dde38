import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { canonicalJson, RawJson, toRawJson } from '#platform/json';
import { DatasetVersionRepository, RecordRepository } from '../../datasets';
import { ScoreTargetRepository } from '../../scores';
import { SNAPSHOT_RECORDS_MAX, toFilter } from './experiment-cases';
import type { DatasetFilterDto } from './experiment.dto';
import type { ExperimentEntity, ExperimentStatus } from './experiment.entity';
import { scoresOf, SUMMARY_SCORERS_MAX, SummaryRepository } from './summary.repository';

type FinalColumns = Pick<
  ExperimentEntity,
  'experiment_status' | 'summary' | 'dataset_snapshot' | 'snapshot_records' | 'finalized_at'
>;

/** Computes the summary and the dataset snapshot that finalizing stores. */
@Injectable()
export class ExperimentFinalizer {
  constructor(
    private readonly summaries: SummaryRepository,
    private readonly targets: ScoreTargetRepository,
    private readonly records: RecordRepository,
    private readonly versions: DatasetVersionRepository,
  ) {}

  /**
   * Returns the columns that finalize an experiment. The caller's transaction holds the exclusive lock on it, so that the
   * summary counts every result that was ever acknowledged.
   */
  async finalize(
    tx: Tx,
    scope: Scope,
    experiment: ExperimentEntity,
    status: ExperimentStatus,
  ): Promise<FinalColumns> {
    const finalized_at = await this.targets.lockPeople(tx, scope.workspaceId, 'exclusive');
    return {
      experiment_status: status,
      finalized_at,
      summary: await this.summarize(tx, scope, experiment),
      ...(await this.snapshot(tx, scope, experiment)),
    };
  }

  private async summarize(
    tx: Tx,
    scope: Scope,
    { experiment_id: experimentId, expected_case_count, trials }: ExperimentEntity,
  ): Promise<RawJson> {
    const { case_count, ...counts } = await this.summaries.countCovered(tx, scope, experimentId);
    const isOneEach = trials === 1 && case_count === counts.result_count;
    const all = await this.summaries.summarize(tx, scope, experimentId, isOneEach ? null : trials);
    const scorers = all.slice(0, SUMMARY_SCORERS_MAX);
    const means = scorers.flatMap(({ scorer, mean, count }) =>
      mean === null ? [] : { scorer, mean, count },
    );
    await this.summaries.insertMeans(tx, scope, experimentId, means);
    return toRawJson({
      scores: scoresOf(scorers),
      scorers: Object.fromEntries(
        scorers.flatMap(({ scorer, scorer_id, scorer_version }) =>
          scorer_id === null ? [] : [[scorer, { scorer_id, scorer_version }]],
        ),
      ),
      coverage: {
        expected_case_count,
        ...counts,
        scorers: Object.fromEntries(
          scorers.map(({ scorer, scored_count, null_count }) => [scorer, { scored_count, null_count }]),
        ),
      },
      is_truncated: await this.summaries.isTruncated(tx, scope, experimentId),
      is_scorers_truncated: all.length > scorers.length,
    });
  }

  private async snapshot(
    tx: Tx,
    scope: Scope,
    experiment: ExperimentEntity,
  ): Promise<Pick<FinalColumns, 'dataset_snapshot' | 'snapshot_records'>> {
    const { dataset_id, dataset_version, dataset_revision, expected_case_count, dataset_erased } = experiment;
    if (dataset_id === null || dataset_revision === null || dataset_erased) {
      return { dataset_snapshot: null, snapshot_records: null };
    }
    if (dataset_version !== null) {
      // A CSV version never changes, so its digest identifies all of it.
      const version = await this.versions.find(scope, dataset_id, dataset_version, tx);
      if (!version) return { dataset_snapshot: null, snapshot_records: null };
      const head = {
        dataset_id,
        source: 'csv',
        dataset_version,
        record_count: expected_case_count,
        sha256: version.sha256,
      };
      return { dataset_snapshot: toRawJson(head), snapshot_records: new RawJson('[]') };
    }
    const filter = toFilter(experiment.dataset_filter?.parse() as DatasetFilterDto | undefined) ?? {};
    const records = await this.records.asOf(
      tx,
      scope,
      dataset_id,
      dataset_revision,
      SNAPSHOT_RECORDS_MAX,
      filter,
    );
    const canonical = canonicalJson(records);
    const sha256 = createHash('sha256').update(canonical).digest('hex');
    const head = { dataset_id, source: 'records', dataset_version, record_count: records.length, sha256 };
    return { dataset_snapshot: toRawJson(head), snapshot_records: new RawJson(canonical) };
  }
}
