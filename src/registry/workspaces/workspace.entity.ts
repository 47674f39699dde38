import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ArchivableEntity, JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';

/** A part of an organization that holds resources. Never deleted. */
@Entity('workspaces')
export class WorkspaceEntity extends ArchivableEntity {
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

  /** The members of `RetentionDto` that are set. */
  @JsonColumn()
  retention!: RawJson;

  /** Raised by every change. */
  @Column('integer')
  generation!: number;
}
