import { ApiProperty } from '@nestjs/swagger';
import { IsFilter } from '../../resources';

/** The schema of the discovery index, which identifies its version. */
export const INDEX_SCHEMA = 'https://schemas.agentskills.io/discovery/0.2.0/schema.json';

export class SkillIndexQueryDto {
  /** Only skills of this workspace. Names are unique in a workspace, but not across workspaces. */
  @IsFilter()
  workspace_id?: string;
}

/** The newest version of a skill. */
export class SkillIndexEntryDto {
  name!: string;
  /** `skill-md` for a skill that has only `SKILL.md`; `archive` for a zip archive with `SKILL.md` at its root. */
  @ApiProperty({ enum: ['skill-md', 'archive'] })
  type!: 'skill-md' | 'archive';
  description!: string;
  /** Relative to the URL of the index. */
  @ApiProperty({ format: 'uri-reference' })
  url!: string;
  /** The SHA-256 of the bytes at `url`. */
  @ApiProperty({ pattern: '^sha256:[0-9a-f]{64}$' })
  digest!: string;
}

/** A discovery index of Agent Skills, version 0.2.0. */
export class SkillIndexDto {
  @ApiProperty({ const: INDEX_SCHEMA } as object)
  $schema!: string;
  /** Sorted by name. */
  skills!: SkillIndexEntryDto[];
}
