import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, IsArray, IsOptional, IsString, Matches } from 'class-validator';
import {
  AnyJson,
  AnyJsonObject,
  IsJsonObject,
  IsOneOf,
  ItemsOf,
  NotNull,
  ValuesCheckedLater,
  ReadOnlyMembersOf,
} from '#platform/http';
import { BY_CHANGE, ListQueryDto, PageMetaDto, SortedBy } from '#platform/paging';
import { FieldErrorDto } from '#platform/problem';
import {
  DECLARED_KINDS,
  type DeclaredKind,
  DescribedBodyDto,
  DescribedPatchDto,
  IsFilter,
  IsName,
  pick,
  PLACED_FIELDS,
  PlacedDto,
} from '../../resources';
import { APP_SYNC_STATES, type AppEntity, type AppSyncState, type SyncError } from './app.entity';
import { RESOURCES_MAX } from './app-declarations';

/** The sorts of the list of apps, which have a slug instead of a name. */
export const APP_SORTS = {
  ...BY_CHANGE,
  app: { expression: 'app', type: 'text' },
} as const;

const SLUG = '^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$';

/** A resource that an app declares. `AppDeclarations` validates it. */
export class DeclarationDto {
  /** Declarations of the kind `api` are added, changed and removed by admins only (403). */
  @IsString()
  @ApiProperty({ enum: DECLARED_KINDS })
  kind!: DeclaredKind;

  /** Unique among the app's resources of the kind. */
  @IsString()
  @ApiProperty({ minLength: 1, maxLength: 255, pattern: '^[^\\p{Cc}]*$' })
  name!: string;

  /** The members that create a resource of the kind, without `workspace_id`, `name` and secrets. */
  @IsJsonObject()
  spec!: object;
}

const IsResources = (required: boolean): PropertyDecorator => {
  const decorators = [
    IsArray(),
    ArrayMaxSize(RESOURCES_MAX),
    ItemsOf(() => DeclarationDto),
    ApiProperty({ type: () => [DeclarationDto], maxItems: RESOURCES_MAX, required }),
  ];
  return (target, property) => decorators.forEach((decorate) => decorate(target, property));
};

@ReadOnlyMembersOf(() => AppDto)
export class CreateAppDto extends DescribedBodyDto {
  @IsString()
  workspace_id!: string;

  /** The slug. Unique among the live apps of the organization (409). It can never change. */
  @IsString()
  @Matches(new RegExp(SLUG), {
    message: '$property must be 1 to 64 lower-case letters, digits and hyphens, with no hyphen at either end',
  })
  @ApiProperty({ pattern: SLUG })
  app!: string;

  @IsOptional()
  @IsName()
  display_name?: string | null;

  @IsResources(true)
  resources!: unknown[];
}

/** A merge patch (RFC 7396). `resources` is replaced whole. */
@ValuesCheckedLater()
@ReadOnlyMembersOf(() => AppDto)
export class PatchAppDto extends DescribedPatchDto {
  /** Must be the current one, because an app cannot be moved (422). */
  @NotNull()
  @IsString()
  workspace_id?: string;

  /** Must be the current one (422 `immutable_field`). */
  @NotNull()
  @IsString()
  app_id?: string;

  /** Must be the current one (422 `immutable_field`). */
  @NotNull()
  @IsString()
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

  /** Words, or beginnings of words, in the slug, display name or description. */
  @IsFilter(1000)
  q?: string;

  /** Only apps with this slug. */
  @IsFilter()
  app?: string;

  /** As `app`, because the slug is the name of an app. */
  @IsFilter()
  name?: string;

  @NotNull()
  @IsOneOf(APP_SYNC_STATES, { required: false })
  sync_state?: AppSyncState;
}

/** Why reconciles of an app fail. */
export class AppSyncErrorDto {
  code!: string;
  detail!: string;
  /** Pointers into the app, such as `/resources/3/name`. */
  @ApiProperty({ type: () => [FieldErrorDto] })
  errors!: SyncError['errors'];
  /** When a reconcile first failed for this reason. */
  @ApiProperty({ type: String, format: 'date-time' })
  at!: string;
}

/** An app declares agents, skills, MCP servers, APIs and files that belong together. */
export class AppDto extends PlacedDto {
  app_id!: string;
  app!: string;
  display_name!: string | null;
  description!: string | null;
  /** The declarations, with specs as they were sent. */
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
  /** When its last reconcile ended, successful or not. It changes without a new ETag. */
  last_swept_at!: Date | null;
  /** Rises with every change and with every reconcile that ends differently from the previous one. It is the ETag. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  declare generation: number;
}

export class AppPageDto {
  items!: AppDto[];
  page!: PageMetaDto;
}

/** The result of a reconcile. */
export class ReconciledDto {
  /** The slug. */
  app!: string;
  /** Number of the app's live resources. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 0 })
  live_count!: number;
}

/** A member that a reconcile would set. */
export class PlannedChangeDto {
  member!: string;
  /** Absent for a new resource, and where a value is free-form, long or secret. */
  @AnyJson({ required: false })
  before?: unknown;
  /** Absent where a value is free-form, long or secret. */
  @AnyJson({ required: false })
  after?: unknown;
}

/** A resource that a reconcile would change. */
export class PlannedResourceDto {
  @ApiProperty({ enum: DECLARED_KINDS })
  kind!: DeclaredKind;
  /** The name in the declaration. */
  name!: string;
  /** The members of the declaration for a new resource, those that differ for an existing one, and none for one to archive. */
  @ApiProperty({ type: () => [PlannedChangeDto] })
  changes!: PlannedChangeDto[];
}

/** What a reconcile would do. */
export class AppPlanDto {
  /** The slug. */
  app!: string;
  @ApiProperty({ type: () => [PlannedResourceDto] })
  create!: PlannedResourceDto[];
  /** Resources that differ from their declaration. One to restore has a change of `archived_at`. */
  @ApiProperty({ type: () => [PlannedResourceDto] })
  update!: PlannedResourceDto[];
  @ApiProperty({ type: () => [PlannedResourceDto] })
  archive!: PlannedResourceDto[];
  /** Number of the app's live resources after the reconcile. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 0 })
  live_count!: number;
}

export const toAppDto = (row: AppEntity): AppDto =>
  pick(row, [
    'app_id',
    'app',
    'display_name',
    'description',
    'resources',
    'resource_count',
    'metadata',
    'sync_state',
    'sync_error',
    'last_swept_at',
    ...PLACED_FIELDS,
  ]);
