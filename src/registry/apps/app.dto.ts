import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, IsArray, IsOptional, IsString, Matches, MaxLength } from 'class-validator';
import {
  AnyJsonObject,
  IsJsonObject,
  IsOneOf,
  METADATA_MAX_BYTES,
  NotNull,
  ValuesCheckedLater,
  ReadOnlyMembersOf,
} from '#platform/http';
import { BY_CHANGE, ListQueryDto, PageMetaDto, SortedBy } from '#platform/paging';
import { FieldErrorDto } from '#platform/problem';
import { DECLARED_KINDS, type DeclaredKind, IsDescription, IsName } from '../../resources';
import { APP_SYNC_STATES, type AppEntity, type AppSyncState, type SyncError } from './app.entity';
import { RESOURCES_MAX } from './app-declarations';
/** Sorts of the list of apps, which have a slug in place of a name. */
export const APP_SORTS = {
  ...BY_CHANGE,
  app: { expression: 'app', type: 'text' },
} as const;

const SLUG = '^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$';

/** A resource that an app declares. `AppDeclarations` validates it. */
export class DeclarationDto {
  @ApiProperty({ enum: DECLARED_KINDS })
  kind!: DeclaredKind;

  /** Unique among the app's resources of the kind. */
  @ApiProperty({ minLength: 1, maxLength: 255, pattern: '^[^\\p{Cc}]*$' })
  name!: string;

  /** The members that create a resource of the kind, without `workspace_id`, `name` and secrets. */
  @AnyJsonObject()
  spec!: object;
}

const IsResources = (required: boolean): PropertyDecorator => {
  const decorators = [
    IsArray(),
    ArrayMaxSize(RESOURCES_MAX),
    ApiProperty({ type: () => [DeclarationDto], maxItems: RESOURCES_MAX, required }),
  ];
  return (target, property) => decorators.forEach((decorate) => decorate(target, property));
};

@ReadOnlyMembersOf(() => AppDto)
export class CreateAppDto {
  @IsString()
  workspace_id!: string;

  /** The slug that addresses it. Unique among the live apps of the organization (409). It can never change. */
  @IsString()
  @Matches(new RegExp(SLUG), {
    message: '$property must be 1 to 64 lower-case letters, digits and hyphens, with no hyphen at either end',
  })
  @ApiProperty({ pattern: SLUG })
  app!: string;

  @IsOptional()
  @IsName()
  display_name?: string | null;

  @IsOptional()
  @IsDescription()
  description?: string | null;

  @IsOptional()
  @IsJsonObject({ maxBytes: METADATA_MAX_BYTES, description: 'Free-form, at most 16 KiB as JSON.' })
  metadata?: object | null;

  @IsResources(true)
  resources!: unknown[];
}

/** A merge patch (RFC 7396). `resources` is replaced as a whole. */
@ValuesCheckedLater()
@ReadOnlyMembersOf(() => AppDto)
export class PatchAppDto {
  /** Only the present one: an app cannot be moved (422). */
  @NotNull()
  @IsString()
  workspace_id?: string;

  /** Only the present one (422 `immutable_field`). */
  @NotNull()
  @IsString()
  app_id?: string;

  /** Only the present one (422 `immutable_field`). */
  @NotNull()
  @IsString()
  app?: string;

  @IsOptional()
  @IsName()
  display_name?: string | null;

  @IsOptional()
  @IsDescription()
  description?: string | null;

  @IsOptional()
  @IsJsonObject({ nullable: true, description: 'Merged into the present metadata; null empties it.' })
  metadata?: object | null;

  @NotNull()
  @IsResources(false)
  resources?: unknown[];
}

@SortedBy(...Object.keys(APP_SORTS))
export class AppListQueryDto extends ListQueryDto {
  /** Apps of this workspace. */
  @NotNull()
  @IsString()
  @MaxLength(255)
  workspace_id?: string;

  /** Words of the slug, display name or description. Each matches by its beginning. */
  @NotNull()
  @IsString()
  @MaxLength(1000)
  q?: string;

  /** Apps with this slug. */
  @NotNull()
  @IsString()
  @MaxLength(255)
  app?: string;

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

/** An app: agents, skills and MCP servers that belong together, as declared. */
export class AppDto {
  app_id!: string;
  org_id!: string;
  workspace_id!: string;
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
  /** Outcome of its last reconcile. `pending` if there was none since its resources changed. */
  @ApiProperty({ enum: APP_SYNC_STATES })
  sync_state!: AppSyncState;
  /** Null unless the last reconcile failed. */
  @ApiProperty({ type: () => AppSyncErrorDto, nullable: true })
  sync_error!: AppSyncErrorDto | null;
  /** When its last reconcile ended, successful or not. This member alone changes without a new ETag. */
  last_swept_at!: Date | null;
  /** Raised by every change, and by each reconcile that ends differently from the one before. The ETag. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  generation!: number;
  created_at!: Date;
  updated_at!: Date;
  created_by!: string;
  archived_at!: Date | null;
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

export const toAppDto = (row: AppEntity): AppDto => ({
  app_id: row.app_id,
  org_id: row.org_id,
  workspace_id: row.workspace_id,
  app: row.app,
  display_name: row.display_name,
  description: row.description,
  resources: row.resources,
  resource_count: row.resource_count,
  metadata: row.metadata,
  sync_state: row.sync_state,
  sync_error: row.sync_error,
  last_swept_at: row.last_swept_at,
  generation: row.generation,
  created_at: row.created_at,
  updated_at: row.updated_at,
  created_by: row.created_by,
  archived_at: row.archived_at,
});
