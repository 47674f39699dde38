import { Column, Entity, PrimaryColumn } from 'typeorm';
import { JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';

/** A part of an organization, within which resources live. Never deleted. */
@Entity('workspaces')
export class WorkspaceEntity {
  @PrimaryColumn('text')
  workspace_id!: string;

  @Column('text')
  org_id!: string;

  /** Unique among those that are not archived. */
  @Column('text')
  name!: string;

  @Column('text', { nullable: true })
  description!: string | null;

  @JsonColumn()
  metadata!: RawJson;

  /** Raised by every change. */
  @Column('integer')
  generation!: number;

  @Column('timestamptz')
  created_at!: Date;

  @Column('timestamptz')
  updated_at!: Date;

  @Column('text')
  created_by!: string;

  @Column('timestamptz', { nullable: true })
  archived_at!: Date | null;
}
