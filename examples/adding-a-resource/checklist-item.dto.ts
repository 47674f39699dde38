import { ApiProperty } from '@nestjs/swagger';
import { IsBoolean, IsOptional, IsString } from 'class-validator';
import { AnyJsonObject, NotNull, ReadOnlyMembersOf, viewOf } from '#platform/http';
import { NamedListQueryDto, PageMetaDto } from '#platform/paging';
import { IsName, MetadataBodyDto, MetadataPatchDto, StampsDto } from '../../src/resources';

@ReadOnlyMembersOf(() => ChecklistItemDto)
export class CreateChecklistItemDto extends MetadataBodyDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsString()
  workspace_id!: string;

  /** Unique among the workspace's items that are not archived. */
  @IsName()
  name!: string;

  @IsOptional()
  @IsBoolean()
  is_required?: boolean;
}

/** A merge patch (RFC 7396). */
@ReadOnlyMembersOf(() => ChecklistItemDto)
export class PatchChecklistItemDto extends MetadataPatchDto {
  /** Must be the current workspace, because an item cannot be moved (422). */
  @NotNull()
  @IsString()
  workspace_id?: string;

  /** Must be the current id (422 `immutable_field`). */
  @NotNull()
  @IsString()
  item_id?: string;

  @NotNull()
  @IsName()
  name?: string;

  @NotNull()
  @IsBoolean()
  is_required?: boolean;
}

export class ChecklistItemListQueryDto extends NamedListQueryDto {
  /** Items with exactly this name. */
  @NotNull()
  @IsString()
  name?: string;
}

/** Something that a team checks before it ships an agent. */
export class ChecklistItemDto extends StampsDto {
  item_id!: string;
  workspace_id!: string;
  name!: string;
  is_required!: boolean;
  @AnyJsonObject()
  metadata!: object;
  /** Incremented by every change. The ETag contains it. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  generation!: number;
}

export class ChecklistItemPageDto {
  items!: ChecklistItemDto[];
  page!: PageMetaDto;
}

export const toChecklistItemDto = viewOf(ChecklistItemDto);
