import { Column, Entity, PrimaryColumn } from 'typeorm';
import { JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';
import { LabelledEntity } from '../../resources';

/** A directory with a SKILL.md, with the content of its newest version. */
@Entity('skills')
export class SkillEntity extends LabelledEntity {
  @PrimaryColumn('text')
  skill_id!: string;

  @Column('text')
  description!: string;

  @Column('text', { nullable: true })
  license!: string | null;

  @Column('text', { nullable: true })
  compatibility!: string | null;

  /** A list of strings. Null if SKILL.md does not mention tools. */
  @JsonColumn({ nullable: true })
  allowed_tools!: RawJson | null;

  @JsonColumn()
  metadata!: RawJson;

  @Column('text')
  instructions!: string;

  /** See `sourceDigest`. */
  @Column('text')
  source_digest!: string;

  @Column('integer')
  file_count!: number;

  @Column('integer')
  size_bytes!: number;
}

/** The members whose changes create a version, other than the name. */
export const CONTENT_FIELDS = [
  'description',
  'license',
  'compatibility',
  'allowed_tools',
  'metadata',
  'instructions',
  'source_digest',
  'file_count',
  'size_bytes',
] as const;

/** The columns that a version copies from its skill. */
export const VERSIONED_FIELDS = [
  'skill_id',
  'org_id',
  'workspace_id',
  'name',
  'version_ordinal',
  'version_id',
  ...CONTENT_FIELDS,
] as const;

/** A stored version of a skill. */
export interface SkillVersionRow extends Pick<
  SkillEntity,
  (typeof VERSIONED_FIELDS)[number] | 'created_at' | 'created_by'
> {
  /** The SHA-256 of the version's zip archive. */
  archive_sha256: string;
  archive_bytes: number;
  /** The same for the archive with `SKILL.md` at its root. Null until the archive or an index is first read. */
  root_archive_sha256: string | null;
  root_archive_bytes: number | null;
}
