import { ApiProperty } from '@nestjs/swagger';
import { type AccountStatus, type PrincipalType, type Role, ROLES } from '#platform/auth';
import { STATUSES } from '../shared/fields';

/** Who calls. */
export class MePrincipalDto {
  /** `user_id`, `service_account_id`, or the subject of a platform principal. */
  principal_id!: string;
  @ApiProperty({ enum: ['user', 'service_account', 'platform'] })
  principal_type!: PrincipalType;
  /** The display name of a person, the name of a service account. */
  name!: string | null;
}

/** The caller's organization. */
export class MeOrgDto {
  org_id!: string;
  name!: string;
  @ApiProperty({ enum: STATUSES })
  status!: AccountStatus;
}

/** A workspace the caller reaches, and what the caller holds there. */
export class MeWorkspaceDto {
  workspace_id!: string;
  name!: string;
  @ApiProperty({ enum: ROLES, isArray: true })
  roles!: Role[];
}

/** What the caller showed: an API key, or a token and its issuer. */
export class MeCredentialDto {
  @ApiProperty({ enum: ['token', 'api_key'] })
  kind!: 'token' | 'api_key';
  issuer!: string | null;
  /** The token's id, by which it can be revoked. */
  jti!: string | null;
  key_id!: string | null;
  expires_at!: Date | null;
}

/** The caller, as the service sees it. */
export class MeDto {
  principal!: MePrincipalDto;
  /** Null for platform principals. */
  @ApiProperty({ type: MeOrgDto, nullable: true })
  organization!: MeOrgDto | null;
  /** Held in the organization; a role that another one here contains is left out. */
  @ApiProperty({ enum: ROLES, isArray: true })
  roles!: Role[];
  /** By name, at most 500; the others are in the list of workspaces. Archived ones are left out. */
  workspaces!: MeWorkspaceDto[];
  credential!: MeCredentialDto;
}
