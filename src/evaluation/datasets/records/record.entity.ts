import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ArchivableEntity, JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';

export const SOURCE_KINDS = ['manual', 'session', 'trace', 'external'] as const;
export type SourceKind = (typeof SOURCE_KINDS)[number];

/** A record of a dataset, in its newest version. */
@Entity('records')
export class RecordEntity extends ArchivableEntity {
  @PrimaryColumn('text')
  dataset_record_id!: string;

  @Column('text')
  dataset_id!: string;

  @Column('text')
  workspace_id!: string;

  @Column('integer')
  version!: number;

  @Column('text')
  version_id!: string;

  @JsonColumn({ nullable: true })
  input!: RawJson | null;

  @JsonColumn({ nullable: true })
  expected!: RawJson | null;

  @JsonColumn()
  metadata!: RawJson;

  @Column('text', { array: true })
  tags!: string[];

  @Column('text', { nullable: true })
  label!: string | null;

  @Column('text', { nullable: true })
  category!: string | null;

  @Column('text')
  source_kind!: SourceKind;

  /** What the record was made from, such as a trace id. */
  @Column('text', { nullable: true })
  source_ref!: string | null;

  /** The client's own key, unique among the dataset's live records. */
  @Column('text', { nullable: true })
  external_id!: string | null;

  /** The dataset's revision that made the record. */
  @Column('bigint')
  created_revision!: number;
}

/** One version of a record. */
export type RecordVersionRow = Omit<RecordEntity, 'created_revision' | 'updated_at' | 'archived_at'>;
