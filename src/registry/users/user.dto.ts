import { ApiProperty } from '@nestjs/swagger';
import { IsEmail, IsOptional, IsString, Matches } from 'class-validator';
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
import { ChangingListQueryDto, PageOf } from '#platform/paging';
import {
  IsFilter,
  IsName,
  IsRoles,
  MetadataBodyDto,
  MetadataPatchDto,
  OrgResourceDto,
  STATUSES,
} from '../../resources';

/** User ids are visible ASCII, because paths contain them. Excludes ids of service accounts and apps, and `.` and `..`. */
export const USER_ID = /^(?!sva_|app_[0-9a-z]{26}$|\.{1,2}$)[\x21-\x7e]{1,255}$/;

@ReadOnlyMembersOf(() => UserDto)
export class CreateUserDto extends MetadataBodyDto {
  /** The id that the issuer of the person's tokens uses. Unique in the organization. */
  @IsString()
  @Matches(USER_ID, {
    message:
      'user_id must have 1 to 255 visible ASCII characters, and must not begin with sva_ or be the id of an app',
  })
  user_id!: string;

  @IsOptional()
  @IsName()
  display_name?: string | null;

  @IsOptional()
  @IsEmail()
  email?: string | null;

  @NotNull()
  @IsOneOf(STATUSES, { default: 'active' })
  status?: AccountStatus;

  /** Roles in the organization, in addition to the roles in tokens. You can only grant roles that you hold. */
  @NotNull()
  @IsRoles()
  roles?: Role[];
}

/** A merge patch (RFC 7396). */
@ValuesCheckedLater()
@ReadOnlyMembersOf(() => UserDto)
export class PatchUserDto extends MetadataPatchDto {
  @IsOptional()
  @IsName()
  display_name?: string | null;

  @IsOptional()
  @IsEmail()
  email?: string | null;

  /** While `suspended`, all requests from the person are rejected. */
  @NotNull()
  @IsOneOf(STATUSES)
  status?: AccountStatus;

  /** Replaces the current roles. You can only grant or revoke roles that you hold. */
  @IsOptional()
  @IsRoles()
  roles?: Role[] | null;

  @IsImmutable()
  user_id?: string;
}

export class UserListQueryDto extends ChangingListQueryDto {
  /** Words or word prefixes in the id, name or email. */
  @IsFilter(1000)
  q?: string;

  @IsOptional()
  @IsOneOf(STATUSES)
  status?: AccountStatus;
}

/** A person of the organization. */
export class UserDto extends OrgResourceDto {
  user_id!: string;
  display_name!: string | null;
  email!: string | null;
  @ApiProperty({ enum: STATUSES })
  status!: AccountStatus;
  @ApiProperty({ enum: ROLES, isArray: true })
  roles!: Role[];
  @AnyJsonObject()
  metadata!: object;
}

export class UserPageDto extends PageOf(UserDto) {}

export const toUserDto = viewOf(UserDto);
