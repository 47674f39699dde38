import { ApiProperty } from '@nestjs/swagger';
import { ArrayNotEmpty } from 'class-validator';
import { type Role, ROLES } from '#platform/auth';
import { ValuesCheckedLater } from '#platform/http';
import { ListQueryDto, PageMetaDto, SortedBy } from '#platform/paging';
import { IsRoles } from '../shared/fields';
import type { MemberEntity } from './member.entity';

@ValuesCheckedLater()
export class PutMemberDto {
  /** At least one, replaced whole. Only roles that the caller holds in the workspace can be given or taken. */
  @ArrayNotEmpty()
  @IsRoles()
  roles!: Role[];
}

@SortedBy('principal_id')
export class MemberListQueryDto extends ListQueryDto {}

/** What a principal holds in one workspace, besides what it holds in the organization. */
export class MemberDto {
  workspace_id!: string;
  /** `user_id` or `service_account_id`. */
  principal_id!: string;
  @ApiProperty({ enum: ['user', 'service_account'] })
  principal_type!: 'user' | 'service_account';
  @ApiProperty({ enum: ROLES, isArray: true })
  roles!: Role[];
  created_at!: Date;
  updated_at!: Date;
  created_by!: string;
  /** Always null: who is no member any more is not listed. */
  archived_at!: Date | null;
}

export class MemberPageDto {
  items!: MemberDto[];
  page!: PageMetaDto;
}

export const toMemberDto = (row: MemberEntity): MemberDto => ({
  workspace_id: row.workspace_id,
  principal_id: row.principal_id,
  principal_type: row.principal_type,
  roles: row.roles,
  created_at: row.created_at,
  updated_at: row.updated_at,
  created_by: row.created_by,
  archived_at: null,
});
