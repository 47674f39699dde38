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
} from '#platform/http';
import { NamedListQueryDto, PageMetaDto } from '#platform/paging';
import { IsDescription, IsName, IsRoles, STATUSES } from '../shared/fields';
import type { ServiceAccountEntity } from './service-account.entity';

const MAX_WORKSPACES = 1000;

export class CreateServiceAccountDto {
  /** Unique among the organization's service accounts that are not archived. */
  @IsName()
  name!: string;

  @IsOptional()
  @IsDescription()
  description?: string | null;

  /** Held within its workspaces. Only roles that the caller holds there. */
  @NotNull()
  @IsRoles()
  roles?: Role[];

  /**
   * The workspaces in which its roles are held, or `["*"]` for every one; without any, it is refused. Only those that the
   * caller reaches. As a member of a workspace it may hold others there.
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
export class PatchServiceAccountDto {
  @NotNull()
  @IsName()
  name?: string;

  @IsOptional()
  @IsDescription()
  description?: string | null;

  /** Replaced whole. Only roles that the caller holds can be given or taken. */
  @IsOptional()
  @IsRoles()
  roles?: Role[] | null;

  /** Replaced whole; `["*"]` for every one. Only workspaces that the caller reaches can be given. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_WORKSPACES)
  @ArrayUnique()
  @Length(1, 255, { each: true })
  workspace_ids?: string[] | null;

  /** A suspended service account, its keys and its tokens are refused. */
  @NotNull()
  @IsOneOf(STATUSES)
  status?: AccountStatus;

  @IsOptional()
  @IsJsonObject({ nullable: true, description: 'Merged into the present metadata; null empties it.' })
  metadata?: object | null;
}

export class ServiceAccountListQueryDto extends NamedListQueryDto {
  /** Words of the name or description; the last letters of each may be missing. */
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

  /** Those that reach this workspace by their `workspace_ids`, be it by `*`. */
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
  /** Those in which its roles are held; `["*"]` for every one. As a member it may reach others, too. */
  workspace_ids!: string[];
  @AnyJsonObject()
  metadata!: object;
  /** Raised by every change; the ETag. */
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
