import { ApiHideProperty, ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, IsArray, IsOptional, IsString, MaxLength } from 'class-validator';
import { AnyJsonObject, IsJsonObject, IsOneOf, NotNull } from '#platform/http';
import { NamedListQueryDto, PageMetaDto } from '#platform/paging';
import { SYNC_STATES, type SyncState } from '../registry';
import { TOOLS_MAX } from './format/skill-members';
import { AreTools, IsNotPatched, IsSkillName, IsTextOf, SkillSpecDto } from './skill-members.dto';
import { COMPATIBILITY_MAX, DESCRIPTION_MAX, LICENSE_MAX } from './format/skill-members';
import { SKILL_MD_MAX } from './format/skill-md';

export class CreateSkillDto extends SkillSpecDto {
  @IsString()
  workspace_id!: string;

  /** Unique in the workspace; it never changes. */
  @IsSkillName()
  name!: string;
}

/** Of an upload as `application/zip`. */
export class SkillUploadQueryDto {
  /** With `application/zip`, required: the workspace. In other bodies it is a member. */
  @NotNull()
  @IsString()
  @MaxLength(255)
  workspace_id?: string;
}

/** A merge patch (RFC 7396). What changes SKILL.md makes a version, with the other files as they are. */
export class PatchSkillDto {
  /** Only the present one: a skill cannot be moved (422). */
  @NotNull()
  @IsString()
  workspace_id?: string;

  /** Only the present one (422 `immutable_field`). */
  @NotNull()
  @IsString()
  skill_id?: string;

  /** Only the present one (422 `immutable_field`). */
  @NotNull()
  @IsString()
  name?: string;

  @NotNull()
  @IsTextOf(DESCRIPTION_MAX)
  description?: string;

  @NotNull()
  @IsString()
  @MaxLength(SKILL_MD_MAX)
  instructions?: string;

  @IsOptional()
  @IsTextOf(LICENSE_MAX)
  license?: string | null;

  @IsOptional()
  @IsTextOf(COMPATIBILITY_MAX)
  compatibility?: string | null;

  @IsOptional()
  @IsArray()
  @ArrayMaxSize(TOOLS_MAX)
  @AreTools()
  allowed_tools?: string[] | null;

  @IsOptional()
  @IsJsonObject({ nullable: true, description: 'Merged into the present metadata; null empties it.' })
  metadata?: object | null;

  /** Refused, where other members that are unknown are ignored: it would be taken for the skill's new files. */
  @ApiHideProperty()
  @IsNotPatched('make a version of them by POST …/versions')
  files?: unknown;
}

export class SkillListQueryDto extends NamedListQueryDto {
  /** Those of this workspace. */
  @NotNull()
  @IsString()
  @MaxLength(255)
  workspace_id?: string;

  /** Words of the name or the description; the last letters of each may be missing. */
  @NotNull()
  @IsString()
  @MaxLength(1000)
  q?: string;

  /** Those of this name: one in each workspace. */
  @NotNull()
  @IsString()
  @MaxLength(255)
  name?: string;

  @NotNull()
  @IsOneOf(SYNC_STATES, { required: false })
  sync_state?: SyncState;

  /** Those that this app declares, by its slug or its id. */
  @NotNull()
  @IsString()
  @MaxLength(255)
  app?: string;
}

/** A directory with a SKILL.md, as its newest version has it. */
export class SkillDto {
  skill_id!: string;
  org_id!: string;
  workspace_id!: string;
  name!: string;
  description!: string;
  /** What follows the frontmatter of SKILL.md. */
  instructions!: string;
  license!: string | null;
  compatibility!: string | null;
  /** Null where SKILL.md says nothing of tools. */
  @ApiProperty({ type: [String], nullable: true } as object)
  allowed_tools!: object | null;
  /** `metadata` of SKILL.md. */
  @AnyJsonObject()
  metadata!: object;
  /** Of the newest version. */
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 1 })
  version_ordinal!: number;
  version_id!: string;
  /**
   * SHA-256 over paths and contents, in hexadecimal: of each file, in the order of the paths' bytes, the length of its
   * path in UTF-8 (four bytes, the highest first), the path, and the SHA-256 of its content (32 bytes).
   */
  source_digest!: string;
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  file_count!: number;
  /** Of all files together. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  size_bytes!: number;
  /** How it stands to the app that declares it. */
  @ApiProperty({ enum: SYNC_STATES })
  sync_state!: SyncState;
  /** The app that declares it; null where none does. */
  app!: string | null;
  /** Raised by every change; the ETag. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  generation!: number;
  created_at!: Date;
  updated_at!: Date;
  created_by!: string;
  archived_at!: Date | null;
}

export class SkillPageDto {
  items!: SkillDto[];
  page!: PageMetaDto;
}
