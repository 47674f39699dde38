import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, IsString } from 'class-validator';
import { AnyJsonObject, NotNull, ReadOnlyMembersOf } from '#platform/http';
import { PageMetaDto } from '#platform/paging';
import { pick } from '../../resources';
import type { SkillFile } from '../format/skill-files';
import { SkillSpecDto } from '../upload/skill-spec.dto';
import { type SkillVersionRow, VERSIONED_FIELDS } from './skill.entity';

/** A complete version. Members that you leave out are not taken from the version before. */
@ReadOnlyMembersOf(() => SkillVersionDetailDto)
export class CreateSkillVersionDto extends SkillSpecDto {
  /** Must be the present one (422). */
  @NotNull()
  @IsString()
  workspace_id?: string;

  /** Must be the present one (422 `immutable_field`). */
  @IsOptional()
  @IsString()
  name?: string | null;
}

/** A version of a skill. Versions never change. */
export class SkillVersionDto {
  skill_id!: string;
  org_id!: string;
  workspace_id!: string;
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
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
  /** See the member of the skill. */
  source_digest!: string;
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  file_count!: number;
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  size_bytes!: number;
  created_at!: Date;
  updated_at!: Date;
  created_by!: string;
  /** Always null, because versions are only archived with their skill. */
  @ApiProperty({ type: 'null' } as object)
  archived_at!: null;
}

/** A file of a version. */
export class SkillFileDto {
  path!: string;
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 0 })
  size_bytes!: number;
  /** SHA-256 of the content, in hexadecimal. */
  sha256!: string;
}

/** A version with its files. */
export class SkillVersionDetailDto extends SkillVersionDto {
  /** Sorted by path. */
  files!: SkillFileDto[];
}

export class SkillVersionPageDto {
  items!: SkillVersionDto[];
  page!: PageMetaDto;
}

export const toSkillVersionDto = (row: SkillVersionRow): SkillVersionDto => ({
  ...pick(row, [...VERSIONED_FIELDS, 'created_at', 'created_by']),
  updated_at: row.created_at,
  archived_at: null,
});

export const toSkillVersionDetailDto = (
  row: SkillVersionRow,
  files: readonly SkillFile[],
): SkillVersionDetailDto => ({
  ...toSkillVersionDto(row),
  files: files.map(({ path, size_bytes, sha256 }) => ({ path, size_bytes, sha256 })),
});
