import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { problem } from '#platform/problem';
import type { DatasetEntity } from '../datasets/dataset.entity';
import { DatasetRepository } from '../datasets/dataset.repository';
import { ExperimentRepository, type ExperimentState } from './experiment.repository';
import { SNAPSHOT_RECORDS_MAX } from './summary.repository';

/** 400 unless both halves of the subject are set, or neither. */
export function checkSubject(kind: string | null, id: string | null): void {
  if ((kind === null) === (id === null)) return;
  const missing = kind === null ? 'subject_kind' : 'subject_id';
  throw problem.invalidFields([
    { pointer: `/${missing}`, detail: 'subject_kind and subject_id are set together, or neither' },
  ]);
}

/** 400 for a dataset with more live records than a snapshot holds, unless a CSV version is pinned. */
export function checkSize({ record_count }: DatasetEntity, version: number | null): void {
  if (version !== null || record_count <= SNAPSHOT_RECORDS_MAX) return;
  throw problem.invalidFields([
    {
      pointer: '/dataset_id',
      detail: `has ${record_count} records, and a snapshot holds ${SNAPSHOT_RECORDS_MAX}; pin a CSV version`,
    },
  ]);
}

/** 409 when an experiment takes no more writes. */
export function checkWritable(experiment: Pick<ExperimentState, 'experiment_status' | 'archived_at'>): void {
  if (experiment.experiment_status !== 'running') {
    throw problem.conflict(`The experiment is ${experiment.experiment_status} and takes no more changes.`);
  }
  if (experiment.archived_at) throw problem.conflict('The experiment is archived and takes no more changes.');
}

/** The rules between an experiment and what it refers to. */
@Injectable()
export class ExperimentRules {
  constructor(
    private readonly datasets: DatasetRepository,
    private readonly experiments: ExperimentRepository,
  ) {}

  /**
   * The dataset that is to back an experiment, locked so that its revision stands still. Errors: 404 naming what is
   * unknown, 409 for an archived dataset.
   */
  async lockDataset(tx: Tx, scope: Scope, datasetId: string, version: number | null): Promise<DatasetEntity> {
    const dataset = await this.datasets.lock(tx, scope, datasetId, 'share');
    if (!dataset) throw problem.unknownReference('/dataset_id', 'dataset', datasetId);
    if (version !== null && version > (dataset.latest_version ?? 0)) {
      throw problem.unknownReference('/dataset_version', 'dataset version', String(version));
    }
    if (dataset.archived_at) throw problem.conflict('The dataset is archived.');
    return dataset;
  }

  /** 404 unless the baseline is an experiment of the workspace. */
  async checkBaseline(
    tx: Tx,
    scope: Scope,
    baselineId: string | null,
    ofExperimentId?: string,
  ): Promise<void> {
    if (baselineId === null) return;
    if (baselineId === ofExperimentId) {
      const detail = 'must be another experiment than this one';
      throw problem.invalidFields([{ pointer: '/baseline_experiment_id', detail }]);
    }
    if (!(await this.experiments.exists(scope, baselineId, tx))) {
      throw problem.unknownReference('/baseline_experiment_id', 'experiment', baselineId);
    }
  }
}
