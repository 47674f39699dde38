import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, IsString, Matches } from 'class-validator';
import type { AccountStatus } from '#platform/auth';
import {
  AnyJsonObject,
  IsJsonObject,
  IsOneOf,
  METADATA_MAX_BYTES,
  NotNull,
  ValuesCheckedLater,
  ReadOnlyMembersOf,
} from '#platform/http';
import { ChangingListQueryDto, PageMetaDto } from '#platform/paging';
import { IsName, STATUSES } from '../../resources';
import type { OrgEntity } from './org.entity';
import { USER_ID } from './user.dto';

@ReadOnlyMembersOf(() => OrgDto)
export class CreateOrgDto {
  @IsName()
  name!: string;

  /**
   * The `user_id` of the first owner, as their issuer names them. Without one, only tokens that carry roles give access.
   */
  @NotNull()
  @Matches(USER_ID, {
    message:
      'owner_user_id must be 1 to 255 visible ASCII characters, and not begin with sva_, or be the id of an app',
  })
  owner_user_id?: string;

  @IsOptional()
  @IsJsonObject({ maxBytes: METADATA_MAX_BYTES, description: 'Free-form, at most 16 KiB as JSON.' })
  metadata?: object | null;
}

/** A merge patch (RFC 7396). */
@ReadOnlyMembersOf(() => OrgDto)
export class PatchOrgDto {
  /** Only the present one (422 `immutable_field`). */
  @NotNull()
  @IsString()
  org_id?: string;

  @NotNull()
  @IsName()
  name?: string;

  @IsOptional()
  @IsJsonObject({ nullable: true, description: 'Merged into the present metadata; null empties it.' })
  metadata?: object | null;
}

/** A merge patch (RFC 7396). */
@ValuesCheckedLater()
@ReadOnlyMembersOf(() => OrgDto)
export class PatchAnyOrgDto extends PatchOrgDto {
  /** While it is `suspended`, members, keys and tokens are refused. */
  @NotNull()
  @IsOneOf(STATUSES)
  status?: AccountStatus;
}

export class OrgListQueryDto extends ChangingListQueryDto {
  @IsOptional()
  @IsOneOf(STATUSES)
  status?: AccountStatus;
}

/** An organization. */
export class OrgDto {
  org_id!: string;
  name!: string;
  @ApiProperty({ enum: STATUSES })
  status!: AccountStatus;
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

export class OrgPageDto {
  items!: OrgDto[];
  page!: PageMetaDto;
}

export const toOrgDto = (row: OrgEntity): OrgDto => ({
  org_id: row.org_id,
  name: row.name,
  status: row.status,
  metadata: row.metadata,
  generation: row.generation,
  created_at: row.created_at,
  updated_at: row.updated_at,
  created_by: row.created_by,
  archived_at: row.archived_at,
});
