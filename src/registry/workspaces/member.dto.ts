import { ApiProperty } from '@nestjs/swagger';
import { ArrayNotEmpty } from 'class-validator';
import { type Role, ROLES } from '#platform/auth';
import { ValuesCheckedLater, ReadOnlyMembersOf, viewOf } from '#platform/http';
import { ListQueryDto, PageOf, SortedBy } from '#platform/paging';
import { IsRoles, StampsDto } from '../../resources';

@ValuesCheckedLater()
@ReadOnlyMembersOf(() => MemberDto)
export class PutMemberDto {
  /** At least one role; replaces the current roles. You can only grant or revoke roles that you hold in the workspace. */
  @ArrayNotEmpty()
  @IsRoles()
  roles!: Role[];
}

@SortedBy('principal_id')
export class MemberListQueryDto extends ListQueryDto {}

/** The roles of a principal in one workspace, in addition to those in the organization. */
export class MemberDto extends StampsDto {
  workspace_id!: string;
  /** `user_id` or `service_account_id`. */
  principal_id!: string;
  @ApiProperty({ enum: ['user', 'service_account'] })
  principal_type!: 'user' | 'service_account';
  @ApiProperty({ enum: ROLES, isArray: true })
  roles!: Role[];
  /** Always null, because members are removed, not archived. */
  declare archived_at: Date | null;
}

export class MemberPageDto extends PageOf(MemberDto) {}

export const toMemberDto = viewOf(MemberDto, () => ({ archived_at: null }));
