import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ArchivableEntity, JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';
import type { SyncState } from '../registry';

/** A directory with a SKILL.md, as its newest version has it. */
@Entity('skills')
export class SkillEntity extends ArchivableEntity {
  @PrimaryColumn('text')
  skill_id!: string;

  @Column('text')
  org_id!: string;

  @Column('text')
  workspace_id!: string;

  /** Unique among the workspace's skills that are not archived. Never changes. */
  @Column('text')
  name!: string;

  @Column('text')
  description!: string;

  @Column('text', { nullable: true })
  license!: string | null;

  @Column('text', { nullable: true })
  compatibility!: string | null;

  /** A list of texts; null where it says nothing of tools. */
  @JsonColumn({ nullable: true })
  allowed_tools!: RawJson | null;

  @JsonColumn()
  metadata!: RawJson;

  @Column('text')
  instructions!: string;

  @Column('integer')
  version_ordinal!: number;

  @Column('text')
  version_id!: string;

  /** See `sourceDigest`. */
  @Column('text')
  source_digest!: string;

  @Column('integer')
  file_count!: number;

  @Column('integer')
  size_bytes!: number;

  /** The app that declares it; null where none does. */
  @Column('text', { nullable: true })
  app_id!: string | null;

  /** Its slug. */
  @Column('text', { nullable: true })
  app!: string | null;

  @Column('text')
  sync_state!: SyncState;

  /** Raised by every change. */
  @Column('integer')
  generation!: number;
}

/** A version, which never changes. */
export interface SkillVersionRow {
  skill_id: string;
  version_ordinal: number;
  version_id: string;
  org_id: string;
  workspace_id: string;
  name: string;
  description: string;
  license: string | null;
  compatibility: string | null;
  allowed_tools: RawJson | null;
  metadata: RawJson;
  instructions: string;
  source_digest: string;
  file_count: number;
  size_bytes: number;
  /** Of the zip archive of its files. */
  archive_sha256: string;
  archive_bytes: number;
  created_at: Date;
  created_by: string;
}
