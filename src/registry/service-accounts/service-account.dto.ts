import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayUnique, IsArray, IsOptional, Length } from 'class-validator';
import { type AccountStatus, type Role, ROLES } from '#platform/auth';
import {
  AnyJsonObject,
  IsOneOf,
  NotNull,
  ValuesCheckedLater,
  ReadOnlyMembersOf,
  viewOf,
  IsImmutable,
} from '#platform/http';
import { NamedListQueryDto, PageOf } from '#platform/paging';
import {
  DescribedBodyDto,
  DescribedPatchDto,
  IsFilter,
  IsName,
  IsRoles,
  OrgResourceDto,
  STATUSES,
} from '../../resources';

const MAX_WORKSPACES = 1000;

@ReadOnlyMembersOf(() => ServiceAccountDto)
export class CreateServiceAccountDto extends DescribedBodyDto {
  /** Unique among the organization's service accounts that are not archived. */
  @IsName()
  name!: string;

  /** Roles in its workspaces. You can only grant roles that you hold there. */
  @NotNull()
  @IsRoles()
  roles?: Role[];

  /**
   * The workspaces in which it holds its roles, or `["*"]` for every workspace; you can only grant workspaces that you can
   * access. Memberships can add workspaces and roles, and an account without workspaces and memberships cannot authenticate
   * (401).
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
}

/** A merge patch (RFC 7396). */
@ValuesCheckedLater()
@ReadOnlyMembersOf(() => ServiceAccountDto)
export class PatchServiceAccountDto extends DescribedPatchDto {
  @IsImmutable()
  service_account_id?: string;

  @NotNull()
  @IsName()
  name?: string;

  /** Replaces the current roles. You can only grant or revoke roles that you hold. */
  @IsOptional()
  @IsRoles()
  roles?: Role[] | null;

  /** Replaces the current list; `["*"]` means every workspace. You can only grant workspaces that you can access. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_WORKSPACES)
  @ArrayUnique()
  @Length(1, 255, { each: true })
  workspace_ids?: string[] | null;

  /** While `suspended`, its keys and tokens are rejected. */
  @NotNull()
  @IsOneOf(STATUSES)
  status?: AccountStatus;
}

export class ServiceAccountListQueryDto extends NamedListQueryDto {
  /** Words or word prefixes in the name or description. */
  @IsFilter(1000)
  q?: string;

  /** Only the service account with this name. */
  @IsFilter()
  name?: string;

  @IsOptional()
  @IsOneOf(STATUSES)
  status?: AccountStatus;

  /** Only service accounts whose `workspace_ids` contain this workspace or `*`. */
  @IsFilter()
  workspace_id?: string;
}

/** A program that acts in the organization with API keys or tokens. */
export class ServiceAccountDto extends OrgResourceDto {
  service_account_id!: string;
  name!: string;
  description!: string | null;
  @ApiProperty({ enum: STATUSES })
  status!: AccountStatus;
  @ApiProperty({ enum: ROLES, isArray: true })
  roles!: Role[];
  /** The workspaces in which it holds its roles; `["*"]` means every workspace. Memberships can add others. */
  workspace_ids!: string[];
  @AnyJsonObject()
  metadata!: object;
}

export class ServiceAccountPageDto extends PageOf(ServiceAccountDto) {}

export const toServiceAccountDto = viewOf(ServiceAccountDto);
