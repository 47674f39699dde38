import { IsOptional } from 'class-validator';
import { AnyJsonObject, Nested, NotNull, ReadOnlyMembersOf, viewOf, IsImmutable } from '#platform/http';
import { NamedListQueryDto, PageOf } from '#platform/paging';
import { DescribedBodyDto, DescribedPatchDto, IsFilter, IsName, PlacedDto } from '../../resources';
import { RetentionDto, toRetentionDto } from './retention.dto';
import type { WorkspaceEntity } from './workspace.entity';

@ReadOnlyMembersOf(() => WorkspaceDto)
export class CreateWorkspaceDto extends DescribedBodyDto {
  /** Unique among the organization's workspaces that are not archived. */
  @IsName()
  name!: string;

  /** For how many days the workspace keeps its data: at most as long as the installation. */
  @IsOptional()
  @Nested(() => RetentionDto)
  retention?: RetentionDto | null;
}

/** A merge patch (RFC 7396). */
@ReadOnlyMembersOf(() => WorkspaceDto)
export class PatchWorkspaceDto extends DescribedPatchDto {
  @IsImmutable()
  workspace_id?: string;

  @NotNull()
  @IsName()
  name?: string;

  /** Merged into the current value: at most as long as the installation keeps the data. */
  @IsOptional()
  @Nested(() => RetentionDto)
  retention?: RetentionDto | null;
}

export class WorkspaceListQueryDto extends NamedListQueryDto {
  /** Words or word prefixes in the name or description. */
  @IsFilter(1000)
  q?: string;

  /** Only the workspace with this name. */
  @IsFilter()
  name?: string;
}

/** A part of an organization that holds resources. */
export class WorkspaceDto extends PlacedDto {
  name!: string;
  description!: string | null;
  @AnyJsonObject()
  metadata!: object;
  retention!: RetentionDto;
}

export class WorkspacePageDto extends PageOf(WorkspaceDto) {}

export const toWorkspaceDto = viewOf(WorkspaceDto, ({ retention }: Pick<WorkspaceEntity, 'retention'>) => ({
  retention: toRetentionDto(retention),
}));
