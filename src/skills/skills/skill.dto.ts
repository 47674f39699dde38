import { ApiHideProperty, ApiProperty, PartialType, PickType } from '@nestjs/swagger';
import { IsOptional, IsString } from 'class-validator';
import { AnyJsonObject, IsJsonObject, ReadOnlyMembersOf, viewOf, IsImmutable } from '#platform/http';
import { PageOf } from '#platform/paging';
import {
  CreationQueryDto,
  IsFilter,
  LabelledDto,
  type Labels,
  OwnedListQueryDto,
  sortedLabels,
} from '../../resources';
import { IsNotPatched, IsSkillName, SkillSpecDto } from '../upload/skill-spec.dto';

@ReadOnlyMembersOf(() => SkillDto)
export class CreateSkillDto extends SkillSpecDto {
  @IsString()
  workspace_id!: string;

  /** Unique among the workspace's skills that are not archived. Immutable. */
  @IsSkillName()
  name!: string;
}

/** The query of an upload as `application/zip`. */
export class SkillUploadQueryDto {
  /** The workspace. Required with `application/zip`. In other uploads, send it in the body. */
  @IsFilter()
  workspace_id?: string;
}

/** The query of an upload that creates a skill. */
export class CreateSkillQueryDto extends CreationQueryDto {
  /** The workspace. Required with `application/zip`. In other uploads, send it in the body. */
  @IsFilter()
  workspace_id?: string;
}

const PATCHED_FIELDS = ['description', 'instructions', 'license', 'compatibility', 'allowed_tools'] as const;

/** A merge patch (RFC 7396). A change creates a version with a new SKILL.md and the same other files. */
@ReadOnlyMembersOf(() => SkillDto)
export class PatchSkillDto extends PartialType(PickType(SkillSpecDto, PATCHED_FIELDS), {
  skipNullProperties: false,
}) {
  @IsImmutable('Must be the current workspace, because a skill cannot be moved (422).')
  workspace_id?: string;

  @IsImmutable()
  skill_id?: string;

  @IsImmutable()
  name?: string;

  @IsOptional()
  @IsJsonObject({
    isRead: true,
    nullable: true,
    description: 'Merged into the current metadata, and written to the YAML of SKILL.md. Null clears it.',
  })
  metadata?: object | null;

  /** Rejected with a hint, because clients may try to change files with it. */
  @ApiHideProperty()
  @IsNotPatched('create a version with POST …/versions')
  files?: unknown;
}

export class SkillListQueryDto extends OwnedListQueryDto {
  /** Words or word prefixes in the name or the description. */
  @IsFilter(1000)
  q?: string;
}

/** A directory with a SKILL.md, with the content of its newest version. */
export class SkillDto extends LabelledDto {
  skill_id!: string;
  description!: string;
  /** The Markdown after the frontmatter of SKILL.md. */
  instructions!: string;
  license!: string | null;
  compatibility!: string | null;
  /** Null if SKILL.md has no `allowed-tools`. */
  @ApiProperty({ type: [String], nullable: true } as object)
  allowed_tools!: object | null;
  /** `metadata` of SKILL.md. */
  @AnyJsonObject()
  metadata!: object;
  /**
   * SHA-256 over paths and contents, in hexadecimal. Each file, in the order of the bytes of the paths, adds the length of
   * its path in UTF-8 (four bytes, big-endian), the path, and the SHA-256 of its content (32 bytes).
   */
  source_digest!: string;
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  file_count!: number;
  /** The size of all files together. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  size_bytes!: number;
}

export class SkillPageDto extends PageOf(SkillDto) {}

export const toSkillDto = viewOf(SkillDto, ({ labels }: { labels: Labels }) => ({
  labels: sortedLabels(labels),
}));
