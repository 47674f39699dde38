import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ArchivableEntity, JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';

export const REPO_VISIBILITIES = ['public', 'internal', 'private'] as const;
export type RepoVisibility = (typeof REPO_VISIBILITIES)[number];

/** A repository that a team's agents, skills and servers come from. */
@Entity('repos')
export class RepoEntity extends ArchivableEntity {
  @PrimaryColumn('text')
  repo_id!: string;

  @Column('text')
  org_id!: string;

  @Column('text')
  workspace_id!: string;

  /** Normalized by `normalizeRepoUrl`. Unique among the live repositories of the workspace. */
  @Column('text')
  url!: string;

  @Column('text')
  name!: string;

  @Column('text', { nullable: true })
  description!: string | null;

  @Column('text', { nullable: true })
  default_branch!: string | null;

  @Column('text', { nullable: true })
  visibility!: RepoVisibility | null;

  @JsonColumn()
  metadata!: RawJson;

  /** Raised by every change. */
  @Column('integer')
  generation!: number;
}
