import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ArchivableEntity, JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';
import type { AcquiredFrom } from '../../../resources';

/** A named set of cases to evaluate on, in one workspace. */
@Entity('datasets')
export class DatasetEntity extends ArchivableEntity {
  @PrimaryColumn('text')
  dataset_id!: string;

  @Column('text')
  workspace_id!: string;

  @Column('text')
  name!: string;

  @Column('text', { nullable: true })
  description!: string | null;

  @JsonColumn()
  metadata!: RawJson;

  @Column('text', { array: true })
  tags!: string[];

  /** JSON Schema (2020-12) that every record's `input` must meet. */
  @JsonColumn({ nullable: true })
  input_schema!: RawJson | null;

  @JsonColumn({ nullable: true })
  expected_schema!: RawJson | null;

  /** Number of live records. */
  @Column('integer')
  record_count!: number;

  /** Number of rows of the newest CSV version. Null if there is none. */
  @Column('integer', { nullable: true })
  row_count!: number | null;

  /** Number of the newest CSV version. Null if there is none. */
  @Column('integer', { nullable: true })
  latest_version!: number | null;

  /** Raised by every change of the dataset or of one of its records. */
  @Column('bigint')
  revision!: number;

  /** Promoted experiments: maps the name of an evaluation to an experiment id. */
  @Column('jsonb')
  baselines!: Record<string, string>;

  /** The published dataset that this is a copy of. */
  @Column('jsonb', { nullable: true })
  acquired_from!: AcquiredFrom | null;
}
