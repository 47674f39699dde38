import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, Matches } from 'class-validator';
import type { AccountStatus } from '#platform/auth';
import {
  AnyJsonObject,
  IsJsonObject,
  IsOneOf,
  METADATA_MAX_BYTES,
  NotNull,
  ValuesCheckedLater,
} from '#platform/http';
import { ChangingListQueryDto, PageMetaDto } from '#platform/paging';
import { IsName, STATUSES } from '../shared/fields';
import type { OrgEntity } from './org.entity';
import { USER_ID } from './user.dto';

export class CreateOrgDto {
  @IsName()
  name!: string;

  /**
   * A person, as their issuer names them, who becomes the first owner. Without one, the organization is open only to
   * issuers whose tokens may carry roles.
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
export class PatchOrgDto {
  @NotNull()
  @IsName()
  name?: string;

  @IsOptional()
  @IsJsonObject({ nullable: true, description: 'Merged into the present metadata; null empties it.' })
  metadata?: object | null;
}

/** A merge patch (RFC 7396). */
@ValuesCheckedLater()
export class PatchAnyOrgDto extends PatchOrgDto {
  /** A suspended organization's members, keys and tokens are refused. */
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
  /** Raised by every change; the ETag. */
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
