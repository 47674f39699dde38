import { ApiProperty, PickType } from '@nestjs/swagger';
import { ReadOnlyMembersOf, viewOf, IsImmutable, IsNullableText } from '#platform/http';
import { PageOf } from '#platform/paging';
import type { SkillFile } from '../format/skill-files';
import { SkillSpecDto } from '../upload/skill-spec.dto';
import { SkillDto } from './skill.dto';
import { type SkillVersionRow, VERSIONED_FIELDS } from './skill.entity';

/** A complete version. Omitted members are not copied from the previous version. */
@ReadOnlyMembersOf(() => SkillVersionDetailDto)
export class CreateSkillVersionDto extends SkillSpecDto {
  @IsImmutable('Immutable (422 for another value).')
  workspace_id?: string;

  /** Immutable (422 for another value). */
  @IsNullableText()
  name?: string | null;
}

/** A version of a skill. Versions never change. */
export class SkillVersionDto extends PickType(SkillDto, [
  ...VERSIONED_FIELDS,
  'created_at',
  'updated_at',
  'created_by',
]) {
  /** Numbered from 1. Deleted versions leave gaps. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  override version_ordinal!: number;
  /** Always null, because a version cannot be archived on its own. */
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

export class SkillVersionPageDto extends PageOf(SkillVersionDto) {}

export const toSkillVersionDto = viewOf(SkillVersionDto, (row: SkillVersionRow) => ({
  updated_at: row.created_at,
  archived_at: null,
}));

export const toSkillVersionDetailDto = (
  row: SkillVersionRow,
  files: readonly SkillFile[],
): SkillVersionDetailDto => ({
  ...toSkillVersionDto(row),
  files: files.map(({ path, size_bytes, sha256 }) => ({ path, size_bytes, sha256 })),
});
