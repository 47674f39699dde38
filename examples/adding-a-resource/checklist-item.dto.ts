import { ApiProperty } from '@nestjs/swagger';
import { IsBoolean, IsOptional, IsString } from 'class-validator';
import { AnyJsonObject, IsJsonObject, METADATA_MAX_BYTES, NotNull, ReadOnlyMembersOf } from '#platform/http';
import { NamedListQueryDto, PageMetaDto } from '#platform/paging';
import { IsName } from '../../src/resources';
import type { ChecklistItemEntity } from './checklist-item.entity';

@ReadOnlyMembersOf(() => ChecklistItemDto)
export class CreateChecklistItemDto {
  /** The workspace that X-Service-Workspace-Id names. */
  @IsString()
  workspace_id!: string;

  /** Unique among the live items of the workspace. */
  @IsName()
  name!: string;

  @IsOptional()
  @IsBoolean()
  is_required?: boolean;

  @IsOptional()
  @IsJsonObject({ maxBytes: METADATA_MAX_BYTES, description: 'Free-form, at most 16 KiB as JSON.' })
  metadata?: object | null;
}

/** A merge patch (RFC 7396). */
@ReadOnlyMembersOf(() => ChecklistItemDto)
export class PatchChecklistItemDto {
  /** May repeat the present workspace (422 otherwise). */
  @NotNull()
  @IsString()
  workspace_id?: string;

  @NotNull()
  @IsName()
  name?: string;

  @NotNull()
  @IsBoolean()
  is_required?: boolean;

  @IsOptional()
  @IsJsonObject({ nullable: true, description: 'Merged into the present metadata. Null empties it.' })
  metadata?: object | null;
}

export class ChecklistItemListQueryDto extends NamedListQueryDto {
  /** Items with exactly this name. */
  @NotNull()
  @IsString()
  name?: string;
}

/** Something a team checks before it ships an agent. */
export class ChecklistItemDto {
  item_id!: string;
  workspace_id!: string;
  name!: string;
  is_required!: boolean;
  @AnyJsonObject()
  metadata!: object;
  /** Raised by every change. The ETag gives it. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  generation!: number;
  created_at!: Date;
  updated_at!: Date;
  created_by!: string;
  archived_at!: Date | null;
}

export class ChecklistItemPageDto {
  items!: ChecklistItemDto[];
  page!: PageMetaDto;
}

export const toChecklistItemDto = (row: ChecklistItemEntity): ChecklistItemDto => ({
  item_id: row.item_id,
  workspace_id: row.workspace_id,
  name: row.name,
  is_required: row.is_required,
  metadata: row.metadata,
  generation: row.generation,
  created_at: row.created_at,
  updated_at: row.updated_at,
  created_by: row.created_by,
  archived_at: row.archived_at,
});
