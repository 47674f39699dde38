import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, IsString } from 'class-validator';
import { AnyJsonObject, NotNull } from '#platform/http';
import { PageMetaDto } from '#platform/paging';
import { SkillSpecDto } from './skill-members.dto';

/** All of a version, of which SKILL.md is written anew: what is left out is not taken from the one before. */
export class CreateSkillVersionDto extends SkillSpecDto {
  /** Only the present one (422). */
  @NotNull()
  @IsString()
  workspace_id?: string;

  /** Only the present one (422 `immutable_field`). */
  @IsOptional()
  @IsString()
  name?: string | null;
}

/** What a skill was at a time. It never changes. */
export class SkillVersionDto {
  skill_id!: string;
  org_id!: string;
  workspace_id!: string;
  @ApiProperty({ type: 'integer', format: 'int64', minimum: 1 })
  version_ordinal!: number;
  version_id!: string;
  name!: string;
  description!: string;
  instructions!: string;
  license!: string | null;
  compatibility!: string | null;
  @ApiProperty({ type: [String], nullable: true } as object)
  allowed_tools!: object | null;
  @AnyJsonObject()
  metadata!: object;
  /** As of the skill. */
  source_digest!: string;
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  file_count!: number;
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  size_bytes!: number;
  created_at!: Date;
  updated_at!: Date;
  created_by!: string;
  /** Always null: versions are not archived by themselves. */
  @ApiProperty({ type: 'null' } as object)
  archived_at!: null;
}

/** A file of a version. */
export class SkillFileDto {
  path!: string;
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 0 })
  size_bytes!: number;
  /** Of the content, in hexadecimal. */
  sha256!: string;
}

/** A version with what its files are. */
export class SkillVersionDetailDto extends SkillVersionDto {
  /** In the order of their paths. */
  files!: SkillFileDto[];
}

export class SkillVersionPageDto {
  items!: SkillVersionDto[];
  page!: PageMetaDto;
}
