import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ArchivableEntity, JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';

export const SCORER_KINDS = ['code', 'llm_judge', 'human'] as const;
export type ScorerKind = (typeof SCORER_KINDS)[number];

export const GRAINS = ['trace', 'session'] as const;
/** What one score is about: a trace, or a session as a whole. */
export type Grain = (typeof GRAINS)[number];

/** How something is scored, in one workspace; each version of it is kept. */
@Entity('scorers')
export class ScorerEntity extends ArchivableEntity {
  @PrimaryColumn('text')
  scorer_id!: string;

  @Column('text')
  workspace_id!: string;

  /** The number of the present version; the ETag. */
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
