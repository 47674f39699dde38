import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ArchivableEntity, JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';
import type { Grain, ScorerKind } from './definitions/scorer-kind';

/** A scorer of a workspace. `scorer_versions` keeps each of its versions. */
@Entity('scorers')
export class ScorerEntity extends ArchivableEntity {
  @PrimaryColumn('text')
  scorer_id!: string;

  @Column('text')
  workspace_id!: string;

  /** The number of the current version, and the ETag. */
  @Column('integer')
  scorer_version!: number;

  @Column('text')
  version_id!: string;

  @Column('text')
  name!: string;

  @Column('text', { nullable: true })
  description!: string | null;

  @Column('text')
  scorer_kind!: ScorerKind;

  @Column('text')
  grain!: Grain;

  @JsonColumn()
  definition!: RawJson;

  @Column('text', { array: true })
  tags!: string[];

  @JsonColumn()
  metadata!: RawJson;
}

/** A row of `scorer_versions`. */
export type ScorerVersionRow = Omit<ScorerEntity, 'updated_at' | 'archived_at'>;
