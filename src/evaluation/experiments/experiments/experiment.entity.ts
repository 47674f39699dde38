import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ArchivableEntity, JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';

export const SUBJECT_KINDS = ['agent', 'harness', 'skill'] as const;
export type SubjectKind = (typeof SUBJECT_KINDS)[number];

export const EXPERIMENT_STATUSES = ['running', 'completed', 'failed'] as const;
export type ExperimentStatus = (typeof EXPERIMENT_STATUSES)[number];

/** One run of a subject over cases, whose results are collected until it is finalized. */
@Entity('experiments')
export class ExperimentEntity extends ArchivableEntity {
  @PrimaryColumn('text')
  experiment_id!: string;

  @Column('text')
  workspace_id!: string;

  /** The stable name of the evaluation; many experiments share it. */
  @Column('text')
  name!: string;

  @Column('text')
  experiment_name!: string;

  @Column('text', { nullable: true })
  description!: string | null;

  @JsonColumn()
  config!: RawJson;

  /** The pairs that the filter `config=key:value` searches. */
  @Column('text', { array: true })
  config_pairs!: string[];

  @Column('text', { nullable: true })
  dataset_id!: string | null;

  /** A pinned CSV version; null means the dataset's live records. */
  @Column('integer', { nullable: true })
  dataset_version!: number | null;

  /** The dataset's revision when the experiment was created. The snapshot has the records of this revision. */
  @Column('bigint', { nullable: true })
  dataset_revision!: number | null;

  /** The part of the dataset that backs the experiment, as sent; null for all of it. */
  @JsonColumn({ nullable: true })
  dataset_filter!: RawJson | null;

  /** Number of cases that the dataset has for the experiment; null without a dataset. */
  @Column('integer', { nullable: true })
  expected_case_count!: number | null;

  /** How often each case is run. */
  @Column('integer')
  trials!: number;

  /** The client's key of the run, such as a commit id. */
  @Column('text', { nullable: true })
  run_key!: string | null;

  /** Whether the dataset, or the pinned CSV version, was deleted. */
  @Column('boolean')
  dataset_erased!: boolean;

  /** Whether records of the snapshot were deleted. */
  @Column('boolean')
  records_erased!: boolean;

  @Column('text', { nullable: true })
  baseline_experiment_id!: string | null;

  @Column('boolean')
  baseline_erased!: boolean;

  @Column('text', { nullable: true })
  subject_kind!: SubjectKind | null;

  @Column('text', { nullable: true })
  subject_id!: string | null;

  @JsonColumn({ nullable: true })
  context_manifest!: RawJson | null;

  @Column('text')
  experiment_status!: ExperimentStatus;

  /** Stored as sent. */
  @JsonColumn({ nullable: true })
  metrics!: RawJson | null;

  @JsonColumn({ nullable: true })
  error!: RawJson | null;

  /** Scores and scorers, computed when the experiment was finalized. */
  @JsonColumn({ nullable: true })
  summary!: RawJson | null;

  @JsonColumn({ nullable: true })
  dataset_snapshot!: RawJson | null;

  /** The records of the snapshot. Stored separately, because there may be 10,000 and lists omit them. */
  @JsonColumn({ nullable: true })
  snapshot_records!: RawJson | null;

  @Column('text', { array: true })
  tags!: string[];

  @JsonColumn()
  metadata!: RawJson;

  @Column('timestamptz', { nullable: true })
  finalized_at!: Date | null;

  /** Raised by every change. Serves as the ETag. */
  @Column('integer')
  generation!: number;
}

/** The columns of an experiment that decide what may be written to its results. */
export type ExperimentState = Pick<
  ExperimentEntity,
  | 'experiment_id'
  | 'experiment_status'
  | 'archived_at'
  | 'dataset_id'
  | 'dataset_version'
  | 'dataset_erased'
  | 'dataset_revision'
  | 'dataset_filter'
  | 'trials'
>;
