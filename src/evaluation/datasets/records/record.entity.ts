import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ArchivableEntity, JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';

export const SOURCE_KINDS = ['manual', 'session', 'trace', 'external'] as const;
export type SourceKind = (typeof SOURCE_KINDS)[number];

/** The members of a record that a new version replaces. */
export const CONTENT_FIELDS = [
  'input', 'expected', 'metadata', 'tags', 'label', 'category', 'source_kind', 'source_ref', 'external_id',
] as const; // oxfmt-ignore

/** The members of a version. */
export const VERSION_FIELDS = [
  'dataset_record_id', 'dataset_id', 'workspace_id', 'version', 'version_id', ...CONTENT_FIELDS,
  'created_at', 'created_by',
] as const; // oxfmt-ignore

export const RECORD_COLUMNS = [...VERSION_FIELDS, 'created_revision', 'updated_at', 'archived_at'] as const;

/** A record of a dataset, in its newest version. */
@Entity('records')
export class RecordEntity extends ArchivableEntity {
  @Column('text')
  workspace_id!: string;

  @JsonColumn({ nullable: true })
  input!: RawJson | null;

  @JsonColumn({ nullable: true })
  expected!: RawJson | null;

  @JsonColumn()
  metadata!: RawJson;

  @Column('text', { array: true })
  tags!: string[];

  @PrimaryColumn('text')
  dataset_record_id!: string;

  @Column('text')
  dataset_id!: string;

  @Column('integer')
  version!: number;

  @Column('text')
  version_id!: string;

  @Column('text', { nullable: true })
  label!: string | null;

  @Column('text', { nullable: true })
  category!: string | null;

  @Column('text')
  source_kind!: SourceKind;

  /** The source of the record, such as a trace id. */
  @Column('text', { nullable: true })
  source_ref!: string | null;

  /** The client's own key, unique among the dataset's live records. */
  @Column('text', { nullable: true })
  external_id!: string | null;

  /** The dataset's revision that created the record. */
  @Column('bigint')
  created_revision!: number;
}

/** One version of a record. */
export type RecordVersionRow = Pick<RecordEntity, (typeof VERSION_FIELDS)[number]>;
