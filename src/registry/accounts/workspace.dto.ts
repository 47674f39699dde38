import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, IsString, MaxLength } from 'class-validator';
import { AnyJsonObject, IsJsonObject, METADATA_MAX_BYTES, NotNull, ReadOnlyMembersOf } from '#platform/http';
import { NamedListQueryDto, PageMetaDto } from '#platform/paging';
import { IsDescription, IsName } from '../../resources';
import type { WorkspaceEntity } from './workspace.entity';

@ReadOnlyMembersOf(() => WorkspaceDto)
export class CreateWorkspaceDto {
  /** Unique among the organization's workspaces that are not archived. */
  @IsName()
  name!: string;

  @IsOptional()
  @IsDescription()
  description?: string | null;

  @IsOptional()
  @IsJsonObject({ maxBytes: METADATA_MAX_BYTES, description: 'Free-form, at most 16 KiB as JSON.' })
  metadata?: object | null;
}

/** A merge patch (RFC 7396). */
@ReadOnlyMembersOf(() => WorkspaceDto)
export class PatchWorkspaceDto {
  /** Only the present one (422 `immutable_field`). */
  @NotNull()
  @IsString()
  workspace_id?: string;

  @NotNull()
  @IsName()
  name?: string;

  @IsOptional()
  @IsDescription()
  description?: string | null;

  @IsOptional()
  @IsJsonObject({ nullable: true, description: 'Merged into the present metadata; null empties it.' })
  metadata?: object | null;
}

export class WorkspaceListQueryDto extends NamedListQueryDto {
  /** Words of the name or description. Each matches by its beginning. */
  @IsOptional()
  @IsString()
  @MaxLength(1000)
  q?: string;

  /** The workspace of exactly this name. */
  @IsOptional()
  @IsString()
  @MaxLength(255)
  name?: string;
}

/** A part of an organization, in which resources live. */
export class WorkspaceDto {
  workspace_id!: string;
  org_id!: string;
  name!: string;
  description!: string | null;
  @AnyJsonObject()
  metadata!: object;
  /** Raised by every change. The ETag. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  generation!: number;
  created_at!: Date;
  updated_at!: Date;
  created_by!: string;
  archived_at!: Date | null;
}

export class WorkspacePageDto {
  items!: WorkspaceDto[];
  page!: PageMetaDto;
}

export const toWorkspaceDto = (row: WorkspaceEntity): WorkspaceDto => ({
  workspace_id: row.workspace_id,
  org_id: row.org_id,
  name: row.name,
  description: row.description,
  metadata: row.metadata,
  generation: row.generation,
  created_at: row.created_at,
  updated_at: row.updated_at,
  created_by: row.created_by,
  archived_at: row.archived_at,
});
