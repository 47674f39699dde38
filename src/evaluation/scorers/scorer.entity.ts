import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ArchivableEntity, JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';
import type { AcquiredFrom } from '../../resources';
import type { ScorerKind } from './definitions/definition.forms';

export const GRAINS = ['trace', 'session'] as const;
/** The subject of one score: a trace or a whole session. */
export type Grain = (typeof GRAINS)[number];

/** One version of a scorer. */
export interface PinnedScorer {
  scorer_id: string;
  scorer_version: number;
}

/** A scorer of a workspace. `scorer_versions` contains all versions of its definition and grain. */
@Entity('scorers')
export class ScorerEntity extends ArchivableEntity {
  @PrimaryColumn('text')
  scorer_id!: string;

  @Column('text')
  workspace_id!: string;

  /** The number of the current version. Incremented only by a change of how the scorer scores. */
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

  /** The published scorer that this is a copy of. */
  @Column('jsonb', { nullable: true })
  acquired_from!: AcquiredFrom | null;

  /** Incremented by every change. The ETag contains it. */
  @Column('integer')
  generation!: number;
}

/** A version of a scorer, and the scorer's current name, description and state. */
export interface PinnedScorerRow
  extends
    PinnedScorer,
    Pick<
      ScorerEntity,
      'workspace_id' | 'scorer_kind' | 'name' | 'description' | 'archived_at' | 'definition'
    > {}

/** The members of a version, without its stamps. */
export const VERSION_FIELDS = [
  'scorer_id',
  'workspace_id',
  'scorer_version',
  'version_id',
  'scorer_kind',
  'grain',
  'definition',
] as const satisfies (keyof ScorerEntity)[];

/** The members that describe a scorer. They have no versions, because they do not change its scores. */
export const DESCRIPTIVE_FIELDS = [
  'name',
  'description',
  'tags',
  'metadata',
] as const satisfies (keyof ScorerEntity)[];

/** A row of `scorer_versions`. */
export type ScorerVersionRow = Pick<
  ScorerEntity,
  (typeof VERSION_FIELDS)[number] | 'created_at' | 'created_by'
>;
