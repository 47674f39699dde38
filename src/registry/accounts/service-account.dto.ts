import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayUnique, IsArray, IsOptional, IsString, Length, MaxLength } from 'class-validator';
import { type AccountStatus, type Role, ROLES } from '#platform/auth';
import {
  AnyJsonObject,
  IsJsonObject,
  IsOneOf,
  METADATA_MAX_BYTES,
  NotNull,
  ValuesCheckedLater,
  ReadOnlyMembersOf,
} from '#platform/http';
import { NamedListQueryDto, PageMetaDto } from '#platform/paging';
import { IsDescription, IsName, IsRoles, STATUSES } from '../../resources';
import type { ServiceAccountEntity } from './service-account.entity';

const MAX_WORKSPACES = 1000;

@ReadOnlyMembersOf(() => ServiceAccountDto)
export class CreateServiceAccountDto {
  /** Unique among the organization's service accounts that are not archived. */
  @IsName()
  name!: string;

  @IsOptional()
  @IsDescription()
  description?: string | null;

  /** Roles in its workspaces. You can only give roles that you hold there. */
  @NotNull()
  @IsRoles()
  roles?: Role[];

  /**
   * The workspaces in which it holds its roles, or `["*"]` for every workspace. Without any it is refused. You can only
   * give workspaces that you reach. A membership can give it further roles in a workspace.
   */
  @NotNull()
  @IsArray()
  @ArrayMaxSize(MAX_WORKSPACES)
  @ArrayUnique()
  @Length(1, 255, { each: true })
  workspace_ids?: string[];

  @NotNull()
  @IsOneOf(STATUSES, { default: 'active' })
  status?: AccountStatus;

  @IsOptional()
  @IsJsonObject({ maxBytes: METADATA_MAX_BYTES, description: 'Free-form, at most 16 KiB as JSON.' })
  metadata?: object | null;
}

/** A merge patch (RFC 7396). */
@ValuesCheckedLater()
@ReadOnlyMembersOf(() => ServiceAccountDto)
export class PatchServiceAccountDto {
  /** Only the present one (422 `immutable_field`). */
  @NotNull()
  @IsString()
  service_account_id?: string;

  @NotNull()
  @IsName()
  name?: string;

  @IsOptional()
  @IsDescription()
  description?: string | null;

  /** Replaced as a whole. You can only give or take roles that you hold. */
  @IsOptional()
  @IsRoles()
  roles?: Role[] | null;

  /** Replaced as a whole; `["*"]` for every workspace. You can only give workspaces that you reach. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_WORKSPACES)
  @ArrayUnique()
  @Length(1, 255, { each: true })
  workspace_ids?: string[] | null;

  /** While it is `suspended`, its keys and tokens are refused. */
  @NotNull()
  @IsOneOf(STATUSES)
  status?: AccountStatus;

  @IsOptional()
  @IsJsonObject({ nullable: true, description: 'Merged into the present metadata; null empties it.' })
  metadata?: object | null;
}

export class ServiceAccountListQueryDto extends NamedListQueryDto {
  /** Words of the name or description. Each matches by its beginning. */
  @IsOptional()
  @IsString()
  @MaxLength(1000)
  q?: string;

  /** The service account of exactly this name. */
  @IsOptional()
  @IsString()
  @MaxLength(255)
  name?: string;

  @IsOptional()
  @IsOneOf(STATUSES)
  status?: AccountStatus;

  /** Service accounts whose `workspace_ids` hold this workspace or `*`. */
  @IsOptional()
  @IsString()
  @MaxLength(255)
  workspace_id?: string;
}

/** A program that acts in the organization, by API keys or tokens. */
export class ServiceAccountDto {
  service_account_id!: string;
  org_id!: string;
  name!: string;
  description!: string | null;
  @ApiProperty({ enum: STATUSES })
  status!: AccountStatus;
  @ApiProperty({ enum: ROLES, isArray: true })
  roles!: Role[];
  /** The workspaces in which it holds its roles; `["*"]` for every workspace. Memberships can add others. */
  workspace_ids!: string[];
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

export class ServiceAccountPageDto {
  items!: ServiceAccountDto[];
  page!: PageMetaDto;
}

export const toServiceAccountDto = (row: ServiceAccountEntity): ServiceAccountDto => ({
  service_account_id: row.service_account_id,
  org_id: row.org_id,
  name: row.name,
  description: row.description,
  status: row.status,
  roles: row.roles,
  workspace_ids: row.workspace_ids,
  metadata: row.metadata,
  generation: row.generation,
  created_at: row.created_at,
  updated_at: row.updated_at,
  created_by: row.created_by,
  archived_at: row.archived_at,
});
