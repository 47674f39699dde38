import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, IsArray, IsOptional, IsString, Matches } from 'class-validator';
import {
  AnyJson,
  AnyJsonObject,
  IsJsonObject,
  IsOneOf,
  KeepsJson,
  NotNull,
  ValuesCheckedLater,
  ReadOnlyMembersOf,
  viewOf,
  IsImmutable,
} from '#platform/http';
import { ListQueryDto, PageOf, SortedBy, BY_CHANGE } from '#platform/paging';
import { FieldErrorDto } from '#platform/problem';
import {
  DECLARED_KINDS,
  type DeclaredKind,
  DescribedBodyDto,
  DescribedPatchDto,
  IsFilter,
  IsName,
  PlacedDto,
} from '../../resources';
import { APP_SYNC_STATES, type AppSyncState, type SyncError } from './app.entity';
import { RESOURCES_MAX } from './app-declarations';

/** Sort orders of the list of apps. Apps have a slug instead of a name. */
export const APP_SORTS = {
  ...BY_CHANGE,
  app: { expression: 'app', type: 'text' },
} as const;

const SLUG = '^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$';

/** A resource that an app declares. `AppDeclarations` validates it. */
export class DeclarationDto {
  /** Only admins can add, change and remove declarations of the kind `api` (403). */
  @IsString()
  @ApiProperty({ enum: DECLARED_KINDS })
  kind!: DeclaredKind;

  /** Unique among the app's resources of the kind. */
  @IsString()
  @ApiProperty({ minLength: 1, maxLength: 255, pattern: '^[^\\p{Cc}]*$' })
  name!: string;

  /** The members of the request body that creates such a resource, without `workspace_id`, `name` and secrets. */
  @IsJsonObject()
  spec!: object;
}

const IsResources = (required: boolean): PropertyDecorator => {
  const decorators = [
    IsArray(),
    ArrayMaxSize(RESOURCES_MAX),
    KeepsJson(),
    ApiProperty({ type: () => [DeclarationDto], maxItems: RESOURCES_MAX, required }),
  ];
  return (target, property) => decorators.forEach((decorate) => decorate(target, property));
};

@ReadOnlyMembersOf(() => AppDto)
export class CreateAppDto extends DescribedBodyDto {
  @IsString()
  workspace_id!: string;

  /** The slug, which can never change. Unique among the organization's apps that are not archived (409). */
  @IsString()
  @Matches(new RegExp(SLUG), {
    message:
      '$property must have 1 to 64 lower-case letters, digits and hyphens, with no hyphen at either end',
  })
  @ApiProperty({ pattern: SLUG })
  app!: string;

  @IsOptional()
  @IsName()
  display_name?: string | null;

  @IsResources(true)
  resources!: unknown[];
}

/** A merge patch (RFC 7396). It replaces `resources` as a whole. */
@ValuesCheckedLater()
@ReadOnlyMembersOf(() => AppDto)
export class PatchAppDto extends DescribedPatchDto {
  @IsImmutable('Must be the current workspace, because an app cannot be moved (422).')
  workspace_id?: string;

  @IsImmutable()
  app_id?: string;

  @IsImmutable()
  app?: string;

  @IsOptional()
  @IsName()
  display_name?: string | null;

  @NotNull()
  @IsResources(false)
  resources?: unknown[];
}

@SortedBy(...Object.keys(APP_SORTS))
export class AppListQueryDto extends ListQueryDto {
  /** Only apps of this workspace. */
  @IsFilter()
  workspace_id?: string;

  /** Words or word prefixes in the slug, display name or description. */
  @IsFilter(1000)
  q?: string;

  /** Only apps with this slug. */
  @IsFilter()
  app?: string;

  /** The same as `app`, because the slug is the name of an app. */
  @IsFilter()
  name?: string;

  @NotNull()
  @IsOneOf(APP_SYNC_STATES, { required: false })
  sync_state?: AppSyncState;
}

/** The reason why reconciles of an app fail. */
export class AppSyncErrorDto {
  code!: string;
  detail!: string;
  /** The faults, with JSON Pointers into the app, such as `/resources/3/name`. */
  @ApiProperty({ type: () => [FieldErrorDto] })
  errors!: SyncError['errors'];
  /** The time when a reconcile first failed for this reason. */
  @ApiProperty({ type: String, format: 'date-time' })
  at!: string;
}

/** An app declares agents, skills, MCP servers, APIs and files that belong together. */
export class AppDto extends PlacedDto {
  app_id!: string;
  app!: string;
  display_name!: string | null;
  description!: string | null;
  /** The declarations, with specs as sent. */
  @ApiProperty({ type: () => [DeclarationDto] })
  resources!: object;
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 0 })
  resource_count!: number;
  @AnyJsonObject()
  metadata!: object;
  /** The outcome of its last reconcile, or `pending` if its declarations have changed since. */
  @ApiProperty({ enum: APP_SYNC_STATES })
  sync_state!: AppSyncState;
  /** Null unless the last reconcile failed. */
  @ApiProperty({ type: () => AppSyncErrorDto, nullable: true })
  sync_error!: AppSyncErrorDto | null;
  /** The time when its last reconcile ended, successful or not. It changes without a new ETag. */
  last_reconciled_at!: Date | null;
  /** Incremented by every change and by every reconcile that ends differently from the previous one. It is the ETag. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  declare generation: number;
}

export class AppPageDto extends PageOf(AppDto) {}

/** The result of a reconcile. */
export class ReconcileResultDto {
  /** The slug. */
  app!: string;
  /** Number of the app's resources that are not archived. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 0 })
  live_count!: number;
}

/** A member that a reconcile would set. */
export class PlannedChangeDto {
  member!: string;
  /** Absent for a new resource, and if the value is free-form, long or secret. */
  @AnyJson({ required: false })
  before?: unknown;
  /** Absent if the value is free-form, long or secret. */
  @AnyJson({ required: false })
  after?: unknown;
}

/** A resource that a reconcile would change. */
export class PlannedResourceDto {
  @ApiProperty({ enum: DECLARED_KINDS })
  kind!: DeclaredKind;
  /** The name in the declaration. */
  name!: string;
  /**
   * For a new resource, the members of its declaration; for an existing one, the members that differ. Empty in `archive`.
   */
  @ApiProperty({ type: () => [PlannedChangeDto] })
  changes!: PlannedChangeDto[];
}

/** What a reconcile would do. */
export class AppPlanDto {
  /** The slug. */
  app!: string;
  @ApiProperty({ type: () => [PlannedResourceDto] })
  create!: PlannedResourceDto[];
  /** Resources that differ from their declaration. A resource that would be restored has a change of `archived_at`. */
  @ApiProperty({ type: () => [PlannedResourceDto] })
  update!: PlannedResourceDto[];
  @ApiProperty({ type: () => [PlannedResourceDto] })
  archive!: PlannedResourceDto[];
  /** Number of the app's resources that are not archived, after the reconcile. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 0 })
  live_count!: number;
}

export const toAppDto = viewOf(AppDto);
