import type { ExperimentDto } from './experiment.dto';
import type { ExperimentEntity } from './experiment.entity';

/** Snapshot and summary are stored apart from what is joined to them here, so each is written once. */
export const toExperimentDto = (row: ExperimentEntity): ExperimentDto => ({
  experiment_id: row.experiment_id,
  workspace_id: row.workspace_id,
  name: row.name,
  experiment_name: row.experiment_name,
  description: row.description,
  config: row.config,
  dataset_id: row.dataset_id,
  dataset_version: row.dataset_version,
  baseline_experiment_id: row.baseline_experiment_id,
  subject_kind: row.subject_kind,
  subject_id: row.subject_id,
  context_manifest: row.context_manifest,
  experiment_status: row.experiment_status,
  summary: summaryOf(row),
  dataset_snapshot: snapshotOf(row),
  error: row.error,
  tags: row.tags,
  metadata: row.metadata,
  finalized_at: row.finalized_at,
  created_at: row.created_at,
  updated_at: row.updated_at,
  created_by: row.created_by,
  archived_at: row.archived_at,
});

function summaryOf({ summary, metrics }: ExperimentEntity): ExperimentDto['summary'] {
  if (!summary && !metrics) return null;
  return { ...(summary?.parse() as object | undefined), metrics };
}

function snapshotOf({
  dataset_snapshot,
  snapshot_records,
}: ExperimentEntity): ExperimentDto['dataset_snapshot'] {
  if (!dataset_snapshot) return null;
  const snapshot = dataset_snapshot.parse() as NonNullable<ExperimentDto['dataset_snapshot']>;
  return snapshot_records ? { ...snapshot, records: snapshot_records } : snapshot;
}
