import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, Matches } from 'class-validator';
import type { AccountStatus } from '#platform/auth';
import {
  AnyJsonObject,
  IsOneOf,
  NotNull,
  ValuesCheckedLater,
  ReadOnlyMembersOf,
  viewOf,
  IsImmutable,
} from '#platform/http';
import { ChangingListQueryDto, PageOf } from '#platform/paging';
import {
  IsFilter,
  IsLabels,
  IsName,
  MetadataBodyDto,
  MetadataPatchDto,
  OrgResourceDto,
  STATUSES,
} from '../../resources';
import { USER_ID } from '../users/user.dto';

@ReadOnlyMembersOf(() => OrgDto)
export class CreateOrgDto extends MetadataBodyDto {
  @IsName()
  name!: string;

  /**
   * The `user_id` of the first owner, as their token issuer uses it. Without an owner, only tokens that carry roles have access.
   */
  @NotNull()
  @Matches(USER_ID, {
    message:
      'owner_user_id must have 1 to 255 visible ASCII characters, and must not begin with sva_ or be the id of an app',
  })
  owner_user_id?: string;

  /** Labels of versions that only admins may set and delete. */
  @IsOptional()
  @IsLabels()
  protected_labels?: string[] | null;
}

/** A merge patch (RFC 7396). */
@ReadOnlyMembersOf(() => OrgDto)
export class PatchOrgDto extends MetadataPatchDto {
  @IsImmutable()
  org_id?: string;

  @NotNull()
  @IsName()
  name?: string;

  /** Labels of versions that only admins may set and delete. Replaced whole, and null empties the list. */
  @IsOptional()
  @IsLabels()
  protected_labels?: string[] | null;
}

/** A merge patch (RFC 7396). */
@ValuesCheckedLater()
@ReadOnlyMembersOf(() => OrgDto)
export class PatchAnyOrgDto extends PatchOrgDto {
  /** While `suspended`, the organization's users, keys and tokens are rejected. */
  @NotNull()
  @IsOneOf(STATUSES)
  status?: AccountStatus;
}

export class OrgListQueryDto extends ChangingListQueryDto {
  @IsOptional()
  @IsOneOf(STATUSES)
  status?: AccountStatus;

  /** Only organizations with this name. */
  @IsFilter()
  name?: string;
}

/** An organization. */
export class OrgDto extends OrgResourceDto {
  name!: string;
  @ApiProperty({ enum: STATUSES })
  status!: AccountStatus;
  /** Labels of versions that only admins may set and delete. */
  protected_labels!: string[];
  @AnyJsonObject()
  metadata!: object;
}

export class OrgPageDto extends PageOf(OrgDto) {}

export const toOrgDto = viewOf(OrgDto);
