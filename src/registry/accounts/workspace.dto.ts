import { IsOptional, IsString, MaxLength } from 'class-validator';
import { AnyJsonObject, NotNull, ReadOnlyMembersOf } from '#platform/http';
import { NamedListQueryDto, PageMetaDto } from '#platform/paging';
import { DescribedBodyDto, DescribedPatchDto, IsName, pick, PLACED_FIELDS, PlacedDto } from '../../resources';
import type { WorkspaceEntity } from './workspace.entity';

@ReadOnlyMembersOf(() => WorkspaceDto)
export class CreateWorkspaceDto extends DescribedBodyDto {
  /** Unique among the organization's workspaces that are not archived. */
  @IsName()
  name!: string;
}

/** A merge patch (RFC 7396). */
@ReadOnlyMembersOf(() => WorkspaceDto)
export class PatchWorkspaceDto extends DescribedPatchDto {
  /** Only the present one (422 `immutable_field`). */
  @NotNull()
  @IsString()
  workspace_id?: string;

  @NotNull()
  @IsName()
  name?: string;
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
export class WorkspaceDto extends PlacedDto {
  name!: string;
  description!: string | null;
  @AnyJsonObject()
  metadata!: object;
}

export class WorkspacePageDto {
  items!: WorkspaceDto[];
  page!: PageMetaDto;
}

export const toWorkspaceDto = (row: WorkspaceEntity): WorkspaceDto =>
  pick(row, ['name', 'description', 'metadata', ...PLACED_FIELDS]);
